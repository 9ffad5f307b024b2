"""Whether numbers in host memory are finite, in one pass without a temporary."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

__all__ = ["are_surely_finite", "inner", "is_surely_finite"]

_NUMBERS = (int, float)


def is_surely_finite(x: Any) -> bool:
    """Return whether a NumPy array or scalar is finite; False too where its square overflows.

    Takes a third of the time of ``numpy.isfinite`` and ``all``.
    """
    return math.isfinite(abs(inner(x, x)))


def inner(x1: Any, x2: Any) -> Any:
    """Return the sum of products, by a method of vectors that takes half the time of np.vdot."""
    return x1.dot(x2) if x1.ndim == 1 and x1.dtype.kind == "f" else np.vdot(x1, x2)


def are_surely_finite(x1: Any, x2: Any) -> bool:
    """Return whether two real operands are finite, of which one may be a Python number."""
    if type(x2) in _NUMBERS:
        return math.isfinite(x2) and is_surely_finite(x1)
    if type(x1) in _NUMBERS:
        return math.isfinite(x1) and is_surely_finite(x2)
    if x1.shape == x2.shape:  # infinity times any number is infinity or NaN
        return math.isfinite(inner(x1, x2))
    if not x2.shape:
        return math.isfinite(x2) and is_surely_finite(x1)
    return is_surely_finite(x1) and is_surely_finite(x2)
