"""In-place operators of NumPy arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["inplace"]

Array = np.ndarray[Any, Any]


def _on_writable(function: Callable[[Any, Any], Any]) -> Callable[[Array, Any], Array]:
    """Return an operator that computes in a copy of what may not be written."""

    def inplace_operator(x1: Array, x2: Any) -> Array:
        result: Array
        try:
            result = function(x1, x2)
        except ValueError:
            # Looked at here, so that arrays which may be written pay nothing.
            if x1.flags.writeable:
                raise
            result = function(x1.copy(), x2)
        return result

    return inplace_operator


_INPLACE: dict[str, Callable[[Array, Any], Array]] = {
    "add": _on_writable(operator.iadd),
    "subtract": _on_writable(operator.isub),
    "multiply": _on_writable(operator.imul),
    "divide": _on_writable(operator.itruediv),
    "pow": _on_writable(operator.ipow),
    "bitwise_and": _on_writable(operator.iand),
    "bitwise_or": _on_writable(operator.ior),
    "bitwise_xor": _on_writable(operator.ixor),
    "bitwise_left_shift": _on_writable(operator.ilshift),
    "bitwise_right_shift": _on_writable(operator.irshift),
}


def inplace(name: str, dtype: np.dtype[Any]) -> Callable[[Any, Any], Any] | None:
    """Return NumPy's in-place operator where it follows the standard as it is."""
    return _INPLACE.get(name)
