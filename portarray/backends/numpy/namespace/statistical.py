"""Statistics of NumPy arrays.

Sums and the like are the ufuncs' own reductions: ``np.sum`` spends twice their time around them.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat.numpy import cumulative_prod, cumulative_sum

__all__ = [
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var",
]  # fmt: skip

Array = np.ndarray[Any, Any]
Axis = int | tuple[int, ...] | None
DType = np.dtype[Any]

std = np.std
var = np.var


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the largest value; NaN where there is one."""
    return np.maximum.reduce(x, axis, None, None, keepdims)  # type: ignore[no-any-return]


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the smallest value; NaN where there is one."""
    return np.minimum.reduce(x, axis, None, None, keepdims)  # type: ignore[no-any-return]


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the mean."""
    return x.mean(axis, keepdims=keepdims)  # type: ignore[no-any-return]


def prod(
    x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """Return the product; small integers become the default integer."""
    return np.multiply.reduce(x, axis, dtype, None, keepdims)  # type: ignore[no-any-return]


def sum(
    x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """Return the sum; small integers become the default integer."""
    return np.add.reduce(x, axis, dtype, None, keepdims)  # type: ignore[no-any-return]
