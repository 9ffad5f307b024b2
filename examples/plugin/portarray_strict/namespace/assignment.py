"""In-place operators: the library's own."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

__all__ = ["inplace"]

_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "subtract": operator.isub,
    "multiply": operator.imul,
    "divide": operator.itruediv,
    "pow": operator.ipow,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
}


def inplace(name: str, dtype: Any) -> Callable[[Any, Any], Any] | None:
    """Return the library's in-place operator where it does right on every dtype."""
    return _INPLACE.get(name)
