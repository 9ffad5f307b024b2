"""Joining, repeating and splitting arrays."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce

import numpy as np

from portarray.clarray.arguments import (
    ShapeLike,
    array_of,
    axis_of,
    integer_of,
    same_device,
    shape_of,
)
from portarray.clarray.dtypes import promote
from portarray.clarray.engine.arrange import spread
from portarray.clarray.engine.copy import assign, copy
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.manipulation.shapes import reshape
from portarray.clarray.strided import Array, empty


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis they have."""
    parts = _arrays(arrays, "concat")
    if axis is None:
        parts = [reshape(one, (-1,)) if one.size else one.view((0,), (1,), 0) for one in parts]
        axis = 0
    first = parts[0].shape
    place = axis_of(axis, len(first))
    for one in parts[1:]:
        if len(one.shape) != len(first) or any(
            mine != other
            for at, (mine, other) in enumerate(zip(one.shape, first, strict=True))
            if at != place
        ):
            raise ValueError(
                f"concat joins arrays of one shape but for axis {place}, "
                f"got {first} and {one.shape}"
            )
    dtype = reduce(promote, [one.dtype for one in parts])
    total = sum(one.shape[place] for one in parts)
    out = empty((*first[:place], total, *first[place + 1 :]), dtype, parts[0].device)
    at = 0
    for one in parts:
        if one.size:
            assign(out.view(one.shape, out.strides, at * out.strides[place]), one)
        at += one.shape[place]
    return out


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis."""
    parts = _arrays(arrays, "stack")
    shape = parts[0].shape
    for one in parts:
        if one.shape != shape:
            raise ValueError(f"stack joins arrays of one shape, got {shape} and {one.shape}")
    place = axis_of(axis, len(shape) + 1)
    dtype = reduce(promote, [one.dtype for one in parts])
    out = empty((*shape[:place], len(parts), *shape[place:]), dtype, parts[0].device)
    if out.size:
        strides = out.strides[:place] + out.strides[place + 1 :]
        for at, one in enumerate(parts):
            assign(out.view(shape, strides, at * out.strides[place]), one)
    return out


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an array along an axis into views."""
    x = array_of(x, "unstack")
    place = axis_of(axis, x.ndim)
    shape = x.shape[:place] + x.shape[place + 1 :]
    strides = x.strides[:place] + x.strides[place + 1 :]
    step = x.strides[place]
    return tuple([x.view(shape, strides, x.offset + at * step) for at in range(x.shape[place])])


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element, or each entry along an axis."""
    x = array_of(x, "repeat")
    if axis is None:
        x = reshape(x, (-1,)) if x.size else x.view((0,), (1,), x.offset)
        axis = 0
    place = axis_of(axis, x.ndim)
    size = x.shape[place]
    counts = _counts(repeats, size)
    if (counts.size == 1 and size != 1) or not isinstance(repeats, Array):
        count = int(counts[0])
        spaced = x.view(
            (*x.shape[: place + 1], count, *x.shape[place + 1 :]),
            (*x.strides[: place + 1], 0, *x.strides[place + 1 :]),
            x.offset,
        )
        shape = (*x.shape[:place], size * count, *x.shape[place + 1 :])
        return reshape(copy(spaced), shape)
    return spread(x, counts, place)


def _counts(repeats: int | Array, size: int) -> np.ndarray[tuple[int, ...], np.dtype[np.int64]]:
    """Return the repetitions of each entry, or one number for all."""
    if not isinstance(repeats, Array):
        values = np.array([integer_of(repeats, "repeats")])
    else:
        if repeats.dtype.kind not in "iu":
            raise TypeError(f"repeats has dtype {repeats.dtype}; it must have an integer dtype")
        values = to_numpy(repeats).reshape(-1)
        if repeats.ndim > 1 or values.size not in (1, size):
            raise ValueError(
                f"repeats has shape {repeats.shape}; it must be one number or {size}, one for each"
            )
    if values.size and int(values.min()) < 0:
        raise ValueError(f"repeats has {int(values.min())}; it must not be negative")
    return values.astype(np.int64, copy=False)


def tile(x: Array, repetitions: ShapeLike, /) -> Array:
    """Repeat an array along its axes."""
    x = array_of(x, "tile")
    times = shape_of(repetitions, "repetitions")
    ndim = max(x.ndim, len(times))
    times = (1,) * (ndim - len(times)) + times
    sizes = (1,) * (ndim - x.ndim) + x.shape
    steps = (0,) * (ndim - x.ndim) + x.strides
    pairs = [one for pair in zip(times, sizes, strict=True) for one in pair]
    spaced = x.view(tuple(pairs), tuple([one for step in steps for one in (0, step)]), x.offset)
    return reshape(
        copy(spaced), tuple([count * size for count, size in zip(times, sizes, strict=True)])
    )


def _arrays(arrays: Sequence[Array], function: str) -> list[Array]:
    if isinstance(arrays, Array) or not isinstance(arrays, Sequence):
        raise TypeError(f"{function} takes a list or tuple of arrays, got {type(arrays).__name__}")
    if not arrays:
        raise ValueError(f"{function} needs at least one array, got none")
    found = [array_of(one, function, f"array {place}") for place, one in enumerate(arrays)]
    same_device(found, function)
    return found
