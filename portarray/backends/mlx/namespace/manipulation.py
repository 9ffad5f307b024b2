"""Shapes of arrays: joining, splitting, repeating, reordering."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence

import mlx.core as mx
import numpy as np
from numpy.lib.array_utils import normalize_axis_tuple

from portarray.backends.mlx import devices, limits, transfer
from portarray.backends.mlx.namespace.creation import check_size

Axes = int | Sequence[int]

expand_dims = mx.expand_dims
permute_dims = mx.transpose
squeeze = mx.squeeze


def broadcast_arrays(*arrays: mx.array) -> tuple[mx.array, ...]:
    """Return arrays of one common shape."""
    return tuple(mx.broadcast_arrays(*arrays)) if arrays else ()


def broadcast_to(x: mx.array, /, shape: tuple[int, ...]) -> mx.array:
    """Return an array of a shape that x broadcasts to."""
    transfer.check_shape(shape)
    return mx.broadcast_to(x, tuple(shape))


def concat(arrays: Sequence[mx.array], /, *, axis: int | None = 0) -> mx.array:
    """Join arrays along an axis; flattened ones for None."""
    if axis is None:
        arrays, axis = [x.reshape(-1) for x in arrays], 0
    shape = list(arrays[0].shape)
    if not shape:
        raise ValueError("concat: 0-d arrays cannot be joined\nHint: reshape them to (1,)")
    (position,) = normalize_axis_tuple(axis, len(shape))
    shape[position] = total = 0
    for x in arrays:
        sizes = list(x.shape)
        # MLX ignores empty arrays of any shape.
        if len(sizes) == len(shape):
            total += sizes[position]
            sizes[position] = 0
        if sizes != shape:
            raise ValueError(
                f"concat: shapes {arrays[0].shape} and {x.shape} differ in axes other than {axis}"
            )
    shape[position] = total
    check_size(shape, arrays[0].dtype)
    return mx.concatenate(list(arrays), position)


def flip(x: mx.array, /, *, axis: Axes | None = None) -> mx.array:
    """Reverse the order along axes, all of them for None."""
    places = list(range(x.ndim)) if axis is None else normalize_axis_tuple(axis, x.ndim)
    key = [slice(None, None, -1 if position in places else None) for position in range(x.ndim)]
    return x[tuple(key)]


def moveaxis(x: mx.array, source: Axes, destination: Axes, /) -> mx.array:
    """Return an array with axes moved."""
    origin, target = normalize_axis_tuple(source, x.ndim), normalize_axis_tuple(destination, x.ndim)
    if len(origin) != len(target):
        raise ValueError(f"moveaxis: {len(origin)} source axes and {len(target)} destinations")
    order = [source_axis for source_axis in range(x.ndim) if source_axis not in origin]
    for position, source_axis in sorted(zip(target, origin, strict=True)):
        order.insert(position, source_axis)
    return mx.transpose(x, order)


def repeat(x: mx.array, repeats: int | mx.array, /, *, axis: int | None = None) -> mx.array:
    """Repeat each element along an axis; counts in an array are computed first."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    (axis,) = normalize_axis_tuple(axis, x.ndim)
    size = x.shape[axis]
    counts = (
        transfer.to_host(repeats, copy=None)
        if isinstance(repeats, mx.array)
        else np.asarray(repeats)
    )
    if counts.ndim and counts.shape not in ((1,), (size,)):
        raise ValueError(f"repeat: repeats has shape {counts.shape}, and the axis has size {size}")
    least = 0 if not counts.size else int(np.minimum.reduce(counts, axis=None))
    if least < 0:
        raise ValueError(f"repeat: repeats must not be negative, got {least}")
    is_uniform = counts.size == 1
    shape = list(x.shape)
    shape[axis] = least * size if is_uniform else int(counts.sum())
    check_size(shape, x.dtype)
    if not math.prod(shape):
        return mx.zeros(shape, dtype=x.dtype)
    if is_uniform:
        return mx.repeat(x, least, axis)
    return mx.take(x, mx.array(np.repeat(np.arange(size), counts)), axis)


def reshape(x: mx.array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> mx.array:
    """Return the elements in another shape; the result never shares memory that is written."""
    shape = _completed(tuple(shape), x)
    if copy is False:
        raise ValueError(
            "reshape: copy=False, but MLX's arrays do not have views\n"
            "Hint: pass copy=None or copy=True"
        )
    if x.size > devices.LONGEST:  # a broadcast view, which reshaping may copy
        check_size(shape, x.dtype)
    try:
        limits.check(shape, x.nbytes)
    except MemoryError:
        if not transfer.to_host(x, copy=False).flags.c_contiguous:  # others are copied
            raise
    return mx.reshape(x, shape)


def _completed(shape: tuple[int, ...], x: mx.array) -> tuple[int, ...]:
    """Return a shape with -1 replaced by the missing size."""
    transfer.check_shape(shape)
    if -1 not in shape:
        return shape
    product = -math.prod(shape)
    if shape.count(-1) > 1 or product == 0 or x.size % product:
        raise ValueError(f"reshape: an array of {x.size} elements cannot have shape {shape}")
    return tuple(x.size // product if size == -1 else size for size in shape)


def roll(x: mx.array, /, shift: Axes, *, axis: Axes | None = None) -> mx.array:
    """Shift elements along axes, around the ends."""
    if axis is None:
        return roll(x.reshape(-1), builtins.sum(np.atleast_1d(shift)), axis=0).reshape(x.shape)
    if x.size:
        # A repeated axis is shifted repeatedly.
        for distance, position in np.broadcast(shift, axis):
            x = mx.roll(x, int(distance) % x.shape[position], int(position))
    return x


def stack(arrays: Sequence[mx.array], /, *, axis: int = 0) -> mx.array:
    """Join arrays of one shape along a new axis."""
    check_size((len(arrays), *arrays[0].shape), arrays[0].dtype)
    return mx.stack(list(arrays), axis)


def tile(x: mx.array, repetitions: Sequence[int], /) -> mx.array:
    """Repeat an array along its axes."""
    counts = tuple(repetitions)
    ndim = max(x.ndim, len(counts))
    sizes = (1,) * (ndim - x.ndim) + tuple(x.shape)
    counts = (1,) * (ndim - len(counts)) + counts
    shape = [size * count for size, count in zip(sizes, counts, strict=True)]
    check_size(shape, x.dtype)
    return mx.tile(x, counts) if math.prod(shape) else mx.zeros(shape, dtype=x.dtype)


def unstack(x: mx.array, /, *, axis: int = 0) -> tuple[mx.array, ...]:
    """Split into arrays along an axis, which is removed."""
    (normalized,) = normalize_axis_tuple(axis, x.ndim)
    leading = (slice(None),) * normalized
    return tuple(x[(*leading, index)] for index in range(x.shape[normalized]))
