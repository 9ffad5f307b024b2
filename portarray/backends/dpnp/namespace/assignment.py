"""The in-place operators that do right on dpnp's arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["inplace"]

Function = Callable[[Any, Any], Any]

_INPLACE: dict[str, Function] = {
    "add": operator.iadd,
    "bitwise_and": operator.iand,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_or": operator.ior,
    "bitwise_right_shift": operator.irshift,
    "bitwise_xor": operator.ixor,
    "multiply": operator.imul,
    "subtract": operator.isub,
}


def inplace(name: str, dtype: np.dtype[Any]) -> Function | None:
    """Return the in-place operator of a function, where dpnp's own does right on a dtype."""
    if name == "divide" and dtype.kind in "fc":
        return operator.itruediv
    return _INPLACE.get(name)
