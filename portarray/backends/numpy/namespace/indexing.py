"""Indexing of NumPy arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from portarray.backends.common.keys import check_bounds, check_unshared, without_leading_ones
from portarray.backends.composed.indexing import check_within
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def item(x: Array | np.generic) -> Any:
    """Return the single element as a Python scalar; x may be a NumPy scalar."""
    return x.item()


_UINT64 = np.dtype(np.uint64)


def _basic(x: Array, key: Any) -> Any:
    """Return ``x[key]`` as an array, for a key without arrays."""
    if type(key) is tuple:
        return x[key] if Ellipsis in key else x[(*key, ...)]
    return x[key, ...]


def _set_basic(x: Array, key: tuple[Any, ...], value: Any) -> Array:
    """Do ``x[key] = value`` in a writable array, for a key without arrays."""
    x[key] = value
    return x


DIRECT: Rows = {"getitem": {"biufc": _basic}, "setitem": {"biufc": _set_basic}}


def getitem(x: Array, key: tuple[Any, ...]) -> Array:
    """Return ``x[key]`` as an array; a trailing ellipsis keeps NumPy from returning a scalar."""
    for part in key:
        if part is Ellipsis:
            result = np.asarray(x[key])
            break
        if part.__class__ is np.ndarray and part.ndim:
            result = x[key]
            break
    else:
        result = x[(*key, Ellipsis)]
    if not result.size:
        # NumPy checks no index if nothing is selected.
        check_bounds(x.shape, key, np.bool_, check_within)
    return result


def setitem(x: Array, key: tuple[Any, ...], value: Any) -> Array:
    """Do ``x[key] = value`` and return x, or a copy of a read-only x."""
    for part in key:
        if part.__class__ is np.ndarray:
            mask = part.dtype.kind == "b"
            if not part.size or (mask and len(key) > 1 and not part.any()):
                check_bounds(x.shape, key, np.bool_, check_within)
                break
            if mask and isinstance(value, np.ndarray) and np.may_share_memory(x, value):
                value = value.copy()  # with masks NumPy reads elements that it has already written
    try:
        x[key] = value
    except (TypeError, ValueError):
        # Checked only after a failure, so that writable arrays pay nothing.
        if not x.flags.writeable:
            check_unshared(x.shape, x.strides)
            return setitem(x.copy(), key, value)
        if not isinstance(value, np.ndarray) or value.shape[:1] != (1,):
            raise
        # With single elements and masks NumPy refuses leading axes of length 1.
        x[key] = value.reshape(without_leading_ones(value.shape))
    return x


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return elements at indices along an axis, for one or more axes of indices."""
    if not x.size:
        check_within(indices, x.size if axis is None else x.shape[axis], axis or 0)
    return np.asarray(x.take(_signed(indices), axis))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    result = np.take_along_axis(x, _signed(indices), axis)
    if not result.size:
        check_within(indices, x.shape[axis], axis)
    return result


def _signed(indices: Array) -> Array:
    """Return indices that NumPy casts to int64 unchanged; it would take 2**64 - 1 for -1."""
    if indices.dtype is _UINT64 and indices.size and indices.max() >= 2**63:
        raise IndexError(f"index {indices.max()} is out of bounds for any axis")
    return indices


def add_at(x: Array, indices: Array, values: Array, /) -> Array:
    """Return x with ``values[k]`` added to row ``indices[k]``, for all k, repeated or not."""
    out = x.copy()
    if not indices.size:
        return out
    # Sums of sorted rows are several times faster than np.add.at, and not slower for scalars.
    order = np.argsort(indices, kind="stable")
    rows = indices[order]
    starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
    out[rows[starts]] += np.add.reduceat(values[order], starts, axis=0, dtype=x.dtype)
    return out


def _at(ufunc: np.ufunc) -> Callable[[Array, Array, Array], Array]:
    def combined_at(x: Array, indices: Array, values: Array, /) -> Array:
        out = x.copy()
        ufunc.at(out, indices, values)
        return out

    return combined_at


max_at, min_at, multiply_at = map(_at, (np.maximum, np.minimum, np.multiply))
