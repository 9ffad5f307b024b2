"""Arithmetic on NumPy arrays."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

abs = np.abs
# NumPy reaches its ufuncs faster through operators than through calls; small arrays notice.
add = operator.add
copysign = np.copysign
divide = operator.truediv
multiply = operator.mul
negative = np.negative
nextafter = np.nextafter
reciprocal = np.reciprocal
remainder = np.remainder
signbit = np.signbit
subtract = operator.sub


def floor_divide(x1: Any, x2: Any, /) -> Array:
    """Divide and round down; NumPy's own gives NaN or -1 where an operand is infinite."""
    quotient: Array = np.floor_divide(x1, x2)
    if quotient.dtype.kind != "f":
        return quotient
    infinite = np.isinf(x1) | np.isinf(x2)
    if infinite.any():
        quotient = np.where(infinite, np.floor(np.divide(x1, x2)), quotient)
    return quotient


def positive(x: Array, /) -> Array:
    """Return a copy; NumPy's own refuses booleans."""
    return x.copy()


def sign(x: Array, /) -> Array:
    """Return the sign; ``x / abs(x)`` for complex numbers, where NumPy overlooks half a NaN."""
    out = np.sign(x)
    return (
        np.where(np.isnan(x), x.dtype.type(complex("nan+nanj")), out)
        if x.dtype.kind == "c"
        else out
    )
