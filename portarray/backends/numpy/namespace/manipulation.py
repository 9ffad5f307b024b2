"""Shapes of NumPy arrays.

For small arrays an array's methods take a tenth to a half of the time of NumPy's functions, which
call them from Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.lib.array_utils import normalize_axis_index

Array = np.ndarray[Any, Any]
_ALL = slice(None)
_REVERSED = slice(None, None, -1)


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return a view, read-only unless the shape is that of x.

    In a fourth of the time of np.broadcast_to.
    """
    if x.shape == shape:
        return x[...]
    added = len(shape) - x.ndim
    if added < 0 or not x.size or not x.flags.c_contiguous:
        return np.broadcast_to(x, shape)
    strides = [0] * added
    for size, own_size, stride in zip(shape[added:], x.shape, x.strides, strict=True):
        if size != own_size != 1:
            return np.broadcast_to(x, shape)
        strides.append(stride if size == own_size else 0)
    out: Array = np.ndarray(shape, x.dtype, x, 0, strides)
    out.flags.writeable = False
    return out


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays; repeated ones are read-only."""
    shape = arrays[0].shape
    if all([x.shape == shape for x in arrays]):  # noqa: C419  (a generator takes longer)
        return arrays
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    # np.broadcast_arrays returns writable arrays, which warn.
    return tuple([x if x.shape == shape else broadcast_to(x, shape) for x in arrays])


def expand_dims(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Insert axes of length one."""
    if not isinstance(axis, int):
        return np.expand_dims(x, axis)
    view: Array = x[(_ALL,) * normalize_axis_index(axis, x.ndim + 1) + (None,)]
    return view


def flip(x: Array, /, *, axis: int | tuple[int, ...] | None = None) -> Array:
    """Reverse the order of elements along axes."""
    if axis is None:
        return np.asarray(x[(_REVERSED,) * x.ndim])
    key = [_ALL] * x.ndim
    for reversed_axis in (axis,) if isinstance(axis, int) else axis:
        key[normalize_axis_index(reversed_axis, x.ndim)] = _REVERSED
    return np.asarray(x[tuple(key)])


def moveaxis(
    x: Array, source: int | tuple[int, ...], destination: int | tuple[int, ...], /
) -> Array:
    """Move axes."""
    if isinstance(source, int) or isinstance(destination, int):
        return np.moveaxis(x, source, destination)
    if len(source) != 1 or len(destination) != 1:
        return np.moveaxis(x, source, destination)
    first, last = [normalize_axis_index(axis, x.ndim) for axis in (*source, *destination)]
    axes = [*range(x.ndim)]
    axes.insert(last, axes.pop(first))
    return x.transpose(axes)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """Permute the axes."""
    return x.transpose(axes)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element."""
    return x.repeat(repeats, axis)


def reshape(x: Array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> Array:
    """Give an array another shape."""
    return x.reshape(shape) if copy is None else x.reshape(shape, copy=copy)


def squeeze(x: Array, /, axis: int | tuple[int, ...]) -> Array:
    """Remove axes of length one."""
    return x.squeeze(axis)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis."""
    key = (_ALL,) * normalize_axis_index(axis, arrays[0].ndim + 1) + (None,)
    return np.concatenate([x[key] for x in arrays], axis)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an array along an axis, which the parts do not have."""
    return tuple(moveaxis(x, (axis,), (0,)))
