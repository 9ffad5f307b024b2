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
from portarray.clarray.engine.arrange import repeat_elements
from portarray.clarray.engine.copy import assign, copy
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.manipulation.shapes import reshape
from portarray.clarray.strided import Array, empty


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
    """Join arrays along an axis they have."""
    parts = _arrays(arrays, "concat")
    if axis is None:
        parts = [reshape(part, (-1,)) if part.size else part.view((0,), (1,), 0) for part in parts]
        axis = 0
    first = parts[0].shape
    position = axis_of(axis, len(first))
    for part in parts[1:]:
        if len(part.shape) != len(first) or any(
            mine != expected
            for at, (mine, expected) in enumerate(zip(part.shape, first, strict=True))
            if at != position
        ):
            raise ValueError(
                f"concat joins arrays of one shape but for axis {position}, "
                f"got {first} and {part.shape}"
            )
    dtype = reduce(promote, [part.dtype for part in parts])
    total = sum(part.shape[position] for part in parts)
    out = empty((*first[:position], total, *first[position + 1 :]), dtype, parts[0].device)
    at = 0
    for part in parts:
        if part.size:
            assign(out.view(part.shape, out.strides, at * out.strides[position]), part)
        at += part.shape[position]
    return out


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis."""
    parts = _arrays(arrays, "stack")
    shape = parts[0].shape
    for part in parts:
        if part.shape != shape:
            raise ValueError(f"stack joins arrays of one shape, got {shape} and {part.shape}")
    position = axis_of(axis, len(shape) + 1)
    dtype = reduce(promote, [part.dtype for part in parts])
    out = empty((*shape[:position], len(parts), *shape[position:]), dtype, parts[0].device)
    if out.size:
        strides = out.strides[:position] + out.strides[position + 1 :]
        for at, part in enumerate(parts):
            assign(out.view(shape, strides, at * out.strides[position]), part)
    return out


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an array along an axis into views."""
    x = array_of(x, "unstack")
    position = axis_of(axis, x.ndim)
    shape = x.shape[:position] + x.shape[position + 1 :]
    strides = x.strides[:position] + x.strides[position + 1 :]
    step = x.strides[position]
    return tuple([x.view(shape, strides, x.offset + at * step) for at in range(x.shape[position])])


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element, or each entry along an axis."""
    x = array_of(x, "repeat")
    if axis is None:
        x = reshape(x, (-1,)) if x.size else x.view((0,), (1,), x.offset)
        axis = 0
    position = axis_of(axis, x.ndim)
    size = x.shape[position]
    counts = _counts(repeats, size)
    if (counts.size == 1 and size != 1) or not isinstance(repeats, Array):
        count = int(counts[0])
        spaced = x.view(
            (*x.shape[: position + 1], count, *x.shape[position + 1 :]),
            (*x.strides[: position + 1], 0, *x.strides[position + 1 :]),
            x.offset,
        )
        shape = (*x.shape[:position], size * count, *x.shape[position + 1 :])
        return reshape(copy(spaced), shape)
    return repeat_elements(x, counts, position)


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
    pairs = [entry for pair in zip(times, sizes, strict=True) for entry in pair]
    spaced = x.view(tuple(pairs), tuple([entry for step in steps for entry in (0, step)]), x.offset)
    return reshape(
        copy(spaced), tuple([count * size for count, size in zip(times, sizes, strict=True)])
    )


def _arrays(arrays: Sequence[Array], function: str) -> list[Array]:
    if isinstance(arrays, Array) or not isinstance(arrays, Sequence):
        raise TypeError(f"{function} takes a list or tuple of arrays, got {type(arrays).__name__}")
    if not arrays:
        raise ValueError(f"{function} needs at least one array, got none")
    checked = [
        array_of(array, function, f"array {position}") for position, array in enumerate(arrays)
    ]
    same_device(checked, function)
    return checked
