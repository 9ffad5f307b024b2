"""What Dask's entry point ``dask.sizeof`` names: imports portarray only where its arrays are met.

It lies beside the package, so that ``import dask`` imports neither portarray nor ``dask.array``.
"""

from __future__ import annotations

import importlib
from typing import Any


def register(sizeof: Any) -> None:
    """Register the size of portarray arrays with Dask, when it first meets one."""
    sizeof.register_lazy("portarray", _load)


def _load() -> None:
    importlib.import_module("portarray.dask")
