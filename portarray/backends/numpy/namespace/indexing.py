"""Indexing of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.backends.common.keys import without_leading_ones
from portarray.backends.composed.indexing import check_within, integer_arrays
from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]

_UINT64 = np.dtype(np.uint64)


def _basic(x: Array, key: Any) -> Any:
    """Return ``x[key]`` as an array, for a key without arrays."""
    if type(key) is tuple:
        return x[key] if Ellipsis in key else x[(*key, ...)]
    return x[key, ...]


PLAIN: Rows = {"getitem": {"biufc": _basic}}


def getitem(x: Array, key: tuple[Any, ...]) -> Array:
    """Return ``x[key]`` as an array; a trailing ellipsis keeps NumPy from returning a scalar."""
    for part in key:
        if part is Ellipsis:
            found = np.asarray(x[key])
            break
    else:
        found = x[(*key, Ellipsis)]
    if not found.size:
        _check_bounds(x.shape, key)
    return found


def item(x: Array) -> Any:
    """Return the one element as a Python scalar."""
    return x.item()


def setitem(x: Array, key: tuple[Any, ...], value: Any) -> Array:
    """Do ``x[key] = value`` and return x; a copy of x in its place where x may not be written."""
    for part in key:
        if part.__class__ is np.ndarray:
            mask = part.dtype.kind == "b"
            if not part.size or (mask and len(key) > 1 and not part.any()):
                _check_bounds(x.shape, key)
                break
            if mask and _overlap(x, value):
                value = value.copy()  # through masks NumPy reads what it has written
    try:
        x[key] = value
    except (TypeError, ValueError):
        # Looked at here, so that arrays which may be written pay nothing.
        if not x.flags.writeable:
            return setitem(x.copy(), key, value)
        if isinstance(value, np.ndarray) and value.shape[:1] == (1,):
            # To single elements and through masks NumPy assigns no axes of length 1.
            value = value.reshape(without_leading_ones(value.shape))
        else:
            raise
        x[key] = value
    return x


def _overlap(x: Array, value: Any) -> bool:
    return isinstance(value, np.ndarray) and np.may_share_memory(x, value)


def take(x: Array, indices: Array, /, *, axis: int | None = None) -> Array:
    """Return elements at indices along an axis, for one or more axes of indices."""
    if not x.size:
        check_within(indices, x.size if axis is None else x.shape[axis], axis or 0)
    return np.asarray(x.take(_signed(indices), axis))


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    found = np.take_along_axis(x, _signed(indices), axis)
    if not found.size:
        check_within(indices, x.shape[axis], axis)
    return found


def _signed(indices: Array) -> Array:
    """Return indices that NumPy casts to int64 without a change: it takes 2**64 - 1 for -1."""
    if indices.dtype is _UINT64 and indices.size and indices.max() >= 2**63:
        raise IndexError(f"index {indices.max()} is out of bounds for any axis")
    return indices


def _check_bounds(shape: tuple[int, ...], key: tuple[Any, ...]) -> None:
    """Raise IndexError for indices out of bounds: NumPy looks at none if nothing is selected."""
    for axis, indices in integer_arrays(key, len(shape), np.bool_):
        check_within(indices, shape[axis], axis)


def add_at(x: Array, indices: Array, values: Array, /) -> Array:
    """Return x with ``values[k]`` added to row ``indices[k]``, for all k, repeated or not."""
    out = x.copy()
    if not indices.size:
        return out
    # Sums of sorted rows: several times as fast as np.add.at for rows, and no slower for numbers.
    order = np.argsort(indices, kind="stable")
    rows = indices[order]
    starts = np.flatnonzero(np.concatenate([[True], rows[1:] != rows[:-1]]))
    out[rows[starts]] += np.add.reduceat(values[order], starts, axis=0, dtype=x.dtype)
    return out
