"""Statistics of NumPy arrays.

They call the ufuncs' reductions: ``np.sum`` takes three times as long for small arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portarray.backends.composed.statistical import count

Array = np.ndarray[Any, Any]
Axis = int | tuple[int, ...] | None
DType = np.dtype[Any]

# Without NumPy's own signatures, whose overloads do not take a bool for keepdims.
_Reduce = Callable[..., Array]
_maximum: _Reduce = np.maximum.reduce
_minimum: _Reduce = np.minimum.reduce
_multiply: _Reduce = np.multiply.reduce
_add: _Reduce = np.add.reduce


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the largest value; NaN if there is one."""
    return _maximum(x, axis, None, None, keepdims)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the smallest value; NaN if there is one."""
    return _minimum(x, axis, None, None, keepdims)


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the mean."""
    out: Array
    if x.size and x.dtype.kind == "f" and x.dtype.itemsize > 2:  # twice as fast as x.mean
        size = x.size if axis is None else count(x, axis)
        out = _add(x, axis, None, None, keepdims) / size
    else:
        out = x.mean(axis, keepdims=keepdims)
    return out


def prod(
    x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """Return the product; small integers become the default integer."""
    return _multiply(x, axis, dtype, None, keepdims)


def std(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the standard deviation."""
    return np.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def sum(
    x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """Return the sum; small integers become the default integer."""
    return _add(x, axis, dtype, None, keepdims)


def var(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the variance; NaN without a warning if the correction leaves nothing."""
    if count(x, axis) > correction:
        out: Array = np.var(x, axis=axis, correction=correction, keepdims=keepdims)
        return out
    # The sum only shapes the result.
    return np.full_like(sum(x, axis=axis, keepdims=keepdims), np.nan)
