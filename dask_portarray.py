"""Target of Dask's entry point ``dask.sizeof``; imports portarray when Dask meets its arrays.

This module is outside the package, so that ``import dask`` imports neither portarray nor
``dask.array``.
"""

from __future__ import annotations

import importlib
from typing import Any


def register(sizeof: Any) -> None:
    """Register the size of portarray arrays with Dask, when it meets the first one."""
    sizeof.register_lazy("portarray", _load)


def _load() -> None:
    importlib.import_module("portarray.dask")
