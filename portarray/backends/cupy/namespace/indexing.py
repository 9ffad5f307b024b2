"""Indexing of arrays.

CuPy takes integer arrays modulo the length of the axis. Here an index out of bounds raises
IndexError: indexing with integer arrays checks them first, and waits for that.
"""

from __future__ import annotations

from typing import Any

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.common.keys import check_bounds, check_unshared
from portarray.backends.composed.indexing import take_axis
from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.creation import filled

Key = tuple[Any, ...]

item = ndarray.item


def getitem(x: ndarray, key: Key, /) -> ndarray:
    """Return part of an array: a view where key holds no array."""
    check_bounds(x.shape, key, np.bool_, _check_within)
    return x[key]


def setitem(x: ndarray, key: Key, value: Any, /) -> ndarray:
    """Write into part of an array, and return that array."""
    check_unshared(x.shape, x.strides)
    check_bounds(x.shape, key, np.bool_, _check_within)
    has_arrays = any(isinstance(index, ndarray) for index in key)
    if has_arrays:
        key = tuple(_apart(x, part) for part in key)
        if len(key) == 1 and key[0].dtype.kind == "b" and _is_single(value):
            mask = key[0].reshape(key[0].shape + (1,) * (x.ndim - key[0].ndim))
            kernels.put(mask, _apart(x, value), x)
            return x
    if isinstance(value, ndarray) or has_arrays:
        x[key] = _apart(x, value)
    else:
        filled(x[key], value)
    return x


def _is_single(value: Any) -> bool:
    return not isinstance(value, ndarray) or value.ndim == 0


def _apart(x: ndarray, part: Any) -> Any:
    """Return part, copied if it may share memory with x, which is being written."""
    if isinstance(part, ndarray) and part.size and cupy.may_share_memory(x, part):
        return part.copy()
    return part


def take(x: ndarray, indices: ndarray, /, *, axis: int | None = None) -> ndarray:
    """Return elements at indices along an axis, for one or more axes of indices."""
    axis = take_axis(x, axis)
    _check_within(indices, x.shape[axis], axis)
    return cupy.take(x, indices, axis)


def take_along_axis(x: ndarray, indices: ndarray, /, *, axis: int = -1) -> ndarray:
    """Return elements at indices matched with x along an axis; other axes broadcast."""
    _check_within(indices, x.shape[axis], axis)
    return cupy.take_along_axis(x, indices, axis)


def _check_within(indices: ndarray, size: int, axis: int) -> None:
    if indices.size and kernels.outside(indices, size).item():
        raise IndexError(f"an index is out of bounds for axis {axis} with length {size}")


def add_at(x: ndarray, indices: ndarray, values: ndarray, /) -> ndarray:
    """Return x with ``values[k]`` added to row ``indices[k]`` for all k, repeated or not."""
    out = x.copy()
    cupy.add.at(out, indices, values)
    return out
