"""``all``, ``any`` and ``diff`` of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

Array = np.ndarray[Any, Any]

# The ufuncs' own reductions, as in statistical.py.
_BOOL = np.dtype(bool)
_and: Callable[..., Array] = np.logical_and.reduce
_or: Callable[..., Array] = np.logical_or.reduce

Axis = int | tuple[int, ...] | None


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether all elements are true."""
    return _and(x, axis, _BOOL, None, keepdims)


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return whether any element is true."""
    return _or(x, axis, _BOOL, None, keepdims)


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return n-th differences; NumPy would prepend None as an object."""
    if n == 1 and prepend is None is append and x.ndim and x.dtype.kind != "b":
        key = (slice(None),) * normalize_axis_index(axis, x.ndim)
        differences: Array = x[(*key, slice(1, None))] - x[(*key, slice(None, -1))]
        return differences
    ends = {"prepend": prepend, "append": append}
    present = {side: values for side, values in ends.items() if values is not None}
    return np.diff(x, n=n, axis=axis, **present)
