"""Target of Dask's entry point ``dask.sizeof``; imports portarray when Dask meets its arrays.

This module is outside the package, so that ``import dask`` imports neither portarray nor
``dask.array``. It is also the library of random numbers that Dask finds by the name of the module
of :class:`portarray.dask.random_methods.BitGenerator`.
"""

from __future__ import annotations

import importlib
from typing import Any


def register(sizeof: Any) -> None:
    """Register the size of portarray arrays with Dask, when it meets the first one."""
    sizeof.register_lazy("portarray", _load)


def _load() -> None:
    importlib.import_module("portarray.dask")


def __getattr__(name: str) -> Any:
    """Return what Dask looks for in the library of a bit generator."""
    if name.startswith("__"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    methods = importlib.import_module("portarray.dask.random_methods")
    return methods if name == "random" else getattr(methods, name)
