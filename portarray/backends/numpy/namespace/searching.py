"""Searching NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal

import numpy as np

Array = np.ndarray[Any, Any]

_BOOL, _INTP = np.dtype(bool), np.dtype(np.intp)
_sum: Callable[..., Array] = np.add.reduce  # NumPy's stubs do not take a bool for keepdims
_BITS = {1: np.int8, 2: np.int16, 4: np.int32, 8: np.int64}
_MANY = 4096
"""Elements from which multiplying bits is faster than branching."""


def argmax(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the largest element."""
    return np.asarray(x.argmax(axis, keepdims=keepdims))


def argmin(x: Any, /, *, axis: int | None = None, keepdims: bool = False) -> Array:
    """Return the index of the smallest element."""
    return np.asarray(x.argmin(axis, keepdims=keepdims))


def count_nonzero(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    """Count the elements that are not zero; a single count is a 0-d array."""
    if axis is None and not keepdims:
        return np.asarray(np.count_nonzero(x))
    truth = x.astype(_BOOL, copy=False)
    return np.asarray(_sum(truth, axis, _INTP, None, keepdims))


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero."""
    return x.nonzero()


def searchsorted(
    x1: Array,
    x2: Any,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Return where elements would be inserted."""
    return np.asarray(x1.searchsorted(x2, side, sorter))


def where(condition: Array, x1: Any, x2: Any, /) -> Array:
    """Choose elements from arrays or Python scalars.

    np.where branches at each element, which takes ten times as long for unpredictable conditions.
    For a choice between elements and 0, bits are multiplied by 1 or 0 instead.
    """
    if condition.size >= _MANY and condition.dtype == bool:
        if _is_zero(x2) and x1.dtype.itemsize in _BITS:
            return _masked(condition, x1)
        if _is_zero(x1) and x2.dtype.itemsize in _BITS:
            return _masked(~condition, x2)
    out: Array = np.where(condition, x1, x2)
    return out


def _is_zero(x: Any) -> bool:
    return type(x) in (int, float) and x == 0 and math.copysign(1, x) > 0


def _masked(mask: Array, x: Array) -> Array:
    bits = x.view(_BITS[x.dtype.itemsize])
    out: Array = np.multiply(mask.view(np.int8), bits, dtype=bits.dtype).view(x.dtype)
    return out
