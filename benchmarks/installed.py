"""What of the libraries that the benchmarks of this folder use is installed."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["optional"]


def optional(module: str) -> Any:
    """Return a module, or None where it is not installed."""
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        return None
