"""Shapes of arrays: joining, splitting, repeating, reordering."""

from __future__ import annotations

import builtins
import math
from collections.abc import Sequence

import mlx.core as mx
import numpy as np

from portarray.backends.mlx import devices, limits, transfer
from portarray.backends.mlx.namespace.creation import check_size

Axes = int | Sequence[int]

expand_dims = mx.expand_dims
permute_dims = mx.transpose
squeeze = mx.squeeze


def _places(axes: Axes, ndim: int) -> list[int]:
    """Return non-negative axes, refusing those out of range and repeated."""
    axes = (axes,) if isinstance(axes, int) else tuple(axes)
    places = []
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise IndexError(f"axis {axis} is out of bounds for {ndim} axes")
        place = axis % ndim
        if place in places:
            raise ValueError(f"axis {axis} is named twice in {axes}")
        places.append(place)
    return places


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
        raise ValueError("arrays of no axes cannot be joined; reshape them to (1,) first")
    (place,) = _places(axis, len(shape))
    shape[place] = total = 0
    for x in arrays:
        sizes = list(x.shape)
        # MLX takes an empty array of any shape for nothing.
        if len(sizes) == len(shape):
            total += sizes[place]
            sizes[place] = 0
        if sizes != shape:
            raise ValueError(
                f"arrays to be joined along axis {axis} must agree in the others, got shapes "
                f"{arrays[0].shape} and {x.shape}"
            )
    shape[place] = total
    check_size(shape, arrays[0].dtype)
    return mx.concatenate(list(arrays), place)


def flip(x: mx.array, /, *, axis: Axes | None = None) -> mx.array:
    """Reverse the order along axes, all of them for None."""
    places = list(range(x.ndim)) if axis is None else _places(axis, x.ndim)
    key = [slice(None, None, -1 if place in places else None) for place in range(x.ndim)]
    return x[tuple(key)]


def moveaxis(x: mx.array, source: Axes, destination: Axes, /) -> mx.array:
    """Return an array with axes moved."""
    origin, target = _places(source, x.ndim), _places(destination, x.ndim)
    if len(origin) != len(target):
        raise ValueError(f"moveaxis got {len(origin)} axes to move to {len(target)} places")
    order = [axis for axis in range(x.ndim) if axis not in origin]
    for place, axis in sorted(zip(target, origin, strict=True)):
        order.insert(place, axis)
    return mx.transpose(x, order)


def repeat(x: mx.array, repeats: int | mx.array, /, *, axis: int | None = None) -> mx.array:
    """Repeat each element along an axis; counts in an array are computed first."""
    if axis is None:
        x, axis = x.reshape(-1), 0
    (axis,) = _places(axis, x.ndim)
    size = x.shape[axis]
    counts = (
        transfer.to_host(repeats, copy=None)
        if isinstance(repeats, mx.array)
        else np.asarray(repeats)
    )
    if counts.ndim and counts.shape not in ((1,), (size,)):
        raise ValueError(
            f"repeats of shape {counts.shape} do not fit an axis of {size}; they must be one, or "
            f"one for each element"
        )
    least = 0 if not counts.size else int(np.minimum.reduce(counts, axis=None))
    if least < 0:
        raise ValueError(f"repeats must not be negative, got {least}")
    alike = counts.size == 1
    shape = list(x.shape)
    shape[axis] = least * size if alike else int(counts.sum())
    check_size(shape, x.dtype)
    if not math.prod(shape):
        return mx.zeros(shape, dtype=x.dtype)
    if alike:
        return mx.repeat(x, least, axis)
    return mx.take(x, mx.array(np.repeat(np.arange(size), counts)), axis)


def reshape(x: mx.array, /, shape: tuple[int, ...], *, copy: bool | None = None) -> mx.array:
    """Return the elements in another shape; the result is independent of x, and so a copy."""
    shape = _completed(tuple(shape), x)
    if copy is False:
        raise ValueError(
            "copy=False, but MLX's arrays have no views: a change of one never shows in another; "
            "pass copy=None or copy=True"
        )
    if (
        x.size > devices.LONGEST
    ):  # so many only as a view that repeats them, which reshaping may copy
        check_size(shape, x.dtype)
    try:
        limits.check(shape, x.nbytes)
    except MemoryError:
        if not transfer.to_host(x, copy=False).flags.c_contiguous:  # others are copied
            raise
    return mx.reshape(x, shape)


def _completed(shape: tuple[int, ...], x: mx.array) -> tuple[int, ...]:
    """Return a shape with the size that -1 stands for."""
    transfer.check_shape(shape)
    if -1 not in shape:
        return shape
    known = -math.prod(shape)
    if shape.count(-1) > 1 or known == 0 or x.size % known:
        raise ValueError(f"an array of {x.size} elements has no shape {shape}")
    return tuple(x.size // known if size == -1 else size for size in shape)


def roll(x: mx.array, /, shift: Axes, *, axis: Axes | None = None) -> mx.array:
    """Shift elements along axes, what leaves comes back at the other end."""
    if axis is None:
        return roll(x.reshape(-1), builtins.sum(np.atleast_1d(shift)), axis=0).reshape(x.shape)
    if x.size:
        # An axis that is named twice is shifted twice.
        for distance, place in np.broadcast(shift, axis):
            x = mx.roll(x, int(distance) % x.shape[place], int(place))
    return x


def stack(arrays: Sequence[mx.array], /, *, axis: int = 0) -> mx.array:
    """Join arrays of one shape along a new axis."""
    check_size((len(arrays), *arrays[0].shape), arrays[0].dtype)
    return mx.stack(list(arrays), axis)


def tile(x: mx.array, repetitions: Sequence[int], /) -> mx.array:
    """Lay copies of an array side by side."""
    counts = tuple(repetitions)
    ndim = max(x.ndim, len(counts))
    sizes = (1,) * (ndim - x.ndim) + tuple(x.shape)
    counts = (1,) * (ndim - len(counts)) + counts
    shape = [size * count for size, count in zip(sizes, counts, strict=True)]
    check_size(shape, x.dtype)
    return mx.tile(x, counts) if math.prod(shape) else mx.zeros(shape, dtype=x.dtype)


def unstack(x: mx.array, /, *, axis: int = 0) -> tuple[mx.array, ...]:
    """Split into parts along an axis, which goes."""
    (place,) = _places(axis, x.ndim)
    before = (slice(None),) * place
    return tuple(x[(*before, number)] for number in range(x.shape[place]))
