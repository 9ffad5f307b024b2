"""In-place operators of arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["inplace"]

_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "bitwise_and": operator.iand,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_or": operator.ior,
    "bitwise_right_shift": operator.irshift,
    "bitwise_xor": operator.ixor,
    "divide": operator.itruediv,
    "floor_divide": operator.ifloordiv,
    "multiply": operator.imul,
    "pow": operator.ipow,
    "remainder": operator.imod,
    "subtract": operator.isub,
}


def inplace(name: str, dtype: np.dtype[Any]) -> Callable[[Any, Any], Any] | None:
    """Return the in-place operator of a function; quotients of integers do not fit into them."""
    if name == "divide" and dtype.kind in "iu":
        return None
    return _INPLACE.get(name)
