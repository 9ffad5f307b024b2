"""The in-place operators that do right on arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["inplace"]

_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "bitwise_and": operator.iand,
    "bitwise_or": operator.ior,
    "bitwise_xor": operator.ixor,
    "multiply": operator.imul,
    "subtract": operator.isub,
}


def inplace(name: str, dtype: np.dtype[Any]) -> Callable[[Any, Any], Any] | None:
    """Return the in-place operator of a function, where CuPy's own does right on a dtype.

    Shifts, powers, and the division of floating-point numbers differ from the standard's, and
    quotients of integers do not fit into them. CuPy copies an operand that overlaps the array.
    """
    if name == "divide" and dtype.kind in "fc":
        return operator.itruediv
    return _INPLACE.get(name)
