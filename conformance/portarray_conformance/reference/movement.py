"""Functions that move, repeat and select elements."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from portarray_conformance.reference import arguments, indexing, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.kinds import Data
from portarray_conformance.reference.registry import function


def _new(ctx: Context, data: Any) -> Array:
    return Array(np.asarray(data), ctx)


@function("moves")
def broadcast_arrays(ctx: Context, *arrays: Any) -> tuple[Array, ...]:
    for x in arrays:
        ctx.require_array(x, "broadcast_arrays")
    return tuple(_new(ctx, d) for d in np.broadcast_arrays(*[x._data for x in arrays]))


@function("custom")
def broadcast_shapes(ctx: Context, *shapes: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*[arguments.shape(shape) for shape in shapes])


@function("moves")
def broadcast_to(ctx: Context, x: Any, /, shape: Any) -> Array:
    sizes = arguments.shape(shape)
    arguments.require_memory(sizes, ctx.require_array(x, "broadcast_to").dtype)
    return _new(ctx, np.broadcast_to(x._data, sizes))


def _joined(ctx: Context, arrays: Any, name: str) -> list[Array]:
    sequence = arrays if isinstance(arrays, (list, tuple)) else list(arrays)
    if not sequence:
        raise ValueError(f"{name} got no arrays; it needs at least one")
    for x in sequence:
        ctx.require_array(x, name)
    return list(sequence)


@function("moves")
def concat(ctx: Context, arrays: Any, /, *, axis: int | None = 0) -> Array:
    parts = _joined(ctx, arrays, "concat")
    if axis is None:
        flat = [x._data.reshape(-1) for x in parts]
    else:
        if any(x.ndim != parts[0].ndim for x in parts):
            raise ValueError("concat got arrays with different numbers of axes")
        axis = arguments.axis(axis, parts[0].ndim)
        flat = [x._data for x in parts]
    dtype = ctx.dtype_of("concat", parts)
    return _new(ctx, np.concatenate([kinds.rounded(d, dtype) for d in flat], axis=axis or 0))


@function("moves")
def stack(ctx: Context, arrays: Any, /, *, axis: int = 0) -> Array:
    parts = _joined(ctx, arrays, "stack")
    axis = arguments.axis(axis, parts[0].ndim + 1)
    dtype = ctx.dtype_of("stack", parts)
    return _new(ctx, np.stack([kinds.rounded(x._data, dtype) for x in parts], axis=axis))


@function("moves")
def expand_dims(ctx: Context, x: Any, /, axis: Any) -> Array:
    ctx.require_array(x, "expand_dims")
    places = arguments.integers(axis, "axis")
    positions = arguments.axes(places, x.ndim + len(places))
    return _new(ctx, np.expand_dims(x._data, positions))


@function("moves")
def flip(ctx: Context, x: Any, /, *, axis: Any = None) -> Array:
    ctx.require_array(x, "flip")
    return _new(ctx, np.flip(x._data, arguments.axes(axis, x.ndim)))


@function("moves")
def moveaxis(ctx: Context, x: Any, source: Any, destination: Any, /) -> Array:
    ctx.require_array(x, "moveaxis")
    first = arguments.axes(arguments.integers(source, "source"), x.ndim)
    second = arguments.axes(arguments.integers(destination, "destination"), x.ndim)
    if len(first) != len(second):
        raise ValueError(f"source {source!r} and destination {destination!r} differ in length")
    return _new(ctx, np.moveaxis(x._data, first, second))


@function("moves")
def permute_dims(ctx: Context, x: Any, /, axes: Any) -> Array:
    ctx.require_array(x, "permute_dims")
    order = arguments.axes(arguments.integers(axes, "axes"), x.ndim)
    if len(order) != x.ndim:
        raise ValueError(f"permute_dims got axes {axes!r} for {x.ndim} axes")
    return _new(ctx, np.transpose(x._data, order))


@function("moves")
def matrix_transpose(ctx: Context, x: Any, /) -> Array:
    ctx.require_array(x, "matrix_transpose")
    arguments.matrices(x, "matrix_transpose")
    return _new(ctx, np.swapaxes(x._data, -1, -2))


@function("moves", "linalg.diagonal")
def diagonal(ctx: Context, x: Any, /, *, offset: int = 0) -> Array:
    ctx.require_array(x, "diagonal")
    arguments.matrices(x, "diagonal")
    offset = max(-x.shape[-2] - 1, min(operator.index(offset), x.shape[-1] + 1))
    return _new(ctx, np.diagonal(x._data, offset, -2, -1))


@function("custom")
def repeat(ctx: Context, x: Any, repeats: Any, /, *, axis: int | None = None) -> Array:
    ctx.require_array(x, "repeat")
    if axis is not None:
        axis = arguments.axis(axis, x.ndim)
    if type(repeats) is Array:
        arguments.indices(repeats, "repeats")
        repeats._require_defined()
        counts: Any = repeats._data.astype(object)
        if counts.ndim > 1:
            raise ValueError(f"repeats has {counts.ndim} axes; it may have one")
        if any(n < 0 for n in counts.ravel()):
            raise ValueError("repeats must not be negative")
        counts = counts.astype(np.int64)
    else:
        counts = arguments.size(repeats, "repeats")
    if isinstance(counts, int):
        arguments.require_memory((*x.shape, counts), x.dtype)
    undefined = None if x.undefined is None else np.repeat(x.undefined, counts, axis=axis)
    return ctx.array(np.repeat(x._data, counts, axis=axis), undefined)


@function("moves")
def reshape(ctx: Context, x: Any, /, shape: Any, *, copy: bool | None = None) -> Array:
    ctx.require_array(x, "reshape")
    arguments.copy(copy)
    lengths = arguments.integers(shape, "shape")
    if any(n < -1 for n in lengths) or lengths.count(-1) > 1:
        raise ValueError(f"reshape got shape {shape!r}; one size may be -1, and none less")
    size = math.prod(n for n in lengths if n >= 0)
    if size != x.size and (-1 not in lengths or size == 0 or x.size % size):
        raise ValueError(f"reshape got shape {shape!r} for {x.size} elements")
    data = x._data.reshape(lengths)
    if copy is False and not np.may_share_memory(data, x._data) and x.size:
        raise ValueError("copy=False, but this shape needs a copy")
    return _new(ctx, data.copy() if copy else data)


@function("moves")
def roll(ctx: Context, x: Any, /, shift: Any, *, axis: Any = None) -> Array:
    ctx.require_array(x, "roll")
    shifts = arguments.integers(shift, "shift")
    if axis is None:
        if len(shifts) != 1:
            raise ValueError(f"roll got shift {shift!r} without axis=")
        return _new(ctx, np.roll(x._data, shifts[0] % max(x.size, 1)))
    positions = [arguments.axis(entry, x.ndim) for entry in arguments.integers(axis, "axis")]
    if len(shifts) == 1:
        shifts *= len(positions)
    if len(shifts) != len(positions):
        raise ValueError(f"roll got shift {shift!r} for axis {axis!r}")
    data = x._data.copy()
    for by, position in zip(shifts, positions, strict=True):
        data = np.roll(data, by % max(x.shape[position], 1), position)
    return _new(ctx, data)


@function("moves")
def squeeze(ctx: Context, x: Any, /, axis: Any) -> Array:
    ctx.require_array(x, "squeeze")
    positions = arguments.axes(arguments.integers(axis, "axis"), x.ndim)
    if any(x.shape[position] != 1 for position in positions):
        raise ValueError(f"squeeze got axis {axis!r} of shape {x.shape}; sizes must be 1")
    return _new(ctx, np.squeeze(x._data, positions))


@function("moves")
def tile(ctx: Context, x: Any, repetitions: Any, /) -> Array:
    ctx.require_array(x, "tile")
    counts = arguments.integers(repetitions, "repetitions")
    if any(n < 0 for n in counts):
        raise ValueError(f"repetitions is {repetitions!r}; numbers must not be negative")
    arguments.require_memory((*x.shape, *counts), x.dtype)
    return _new(ctx, np.tile(x._data, counts))


@function("moves")
def unstack(ctx: Context, x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    ctx.require_array(x, "unstack")
    return tuple(_new(ctx, d) for d in np.moveaxis(x._data, arguments.axis(axis, x.ndim), 0))


@function("moves")
def tril(ctx: Context, x: Any, /, *, k: int = 0) -> Array:
    return _triangle(ctx, x, k, "tril")


@function("moves")
def triu(ctx: Context, x: Any, /, *, k: int = 0) -> Array:
    return _triangle(ctx, x, k, "triu")


def _triangle(ctx: Context, x: Any, k: int, name: str) -> Array:
    ctx.require_array(x, name)
    arguments.matrices(x, name)
    k = operator.index(k)
    rows, columns = np.ogrid[: x.shape[-2], : x.shape[-1]]
    offset = (columns - rows).astype(object)
    inside = np.asarray(offset <= k if name == "tril" else offset >= k, dtype=bool)
    return _new(ctx, np.where(inside, x._data, np.zeros((), x.dtype)))


@function("moves")
def meshgrid(ctx: Context, *arrays: Any, indexing: str = "xy") -> tuple[Array, ...]:
    arguments.choice(indexing, "indexing", ("xy", "ij"))
    for x in arrays:
        ctx.require_array(x, "meshgrid")
        if x.ndim > 1:
            raise ValueError(f"meshgrid got an array of shape {x.shape}; it takes 1-d arrays")
    grids: Any = np.meshgrid(*[x._data for x in arrays], indexing=indexing, copy=False)  # type: ignore[call-overload]
    return tuple(_new(ctx, d) for d in grids)


@function("custom")
def take(ctx: Context, x: Any, indices: Any, /, *, axis: int | None = None) -> Array:
    ctx.require_array(x, "take")
    if axis is not None:
        axis = arguments.axis(axis, x.ndim)
    elif x.ndim != 1:
        raise ValueError(f"take got an array of {x.ndim} axes without axis=")
    arguments.indices(indices, "indices")
    places = ctx.as_array(indices, "take")
    arguments.indices(places, "indices")
    places._require_defined()
    position = axis or 0
    checked = indexing.bounded(places._data, position, x.shape[position])
    key = (slice(None),) * position + (checked, Ellipsis)
    return ctx.array(x._data[key], None if x.undefined is None else x.undefined[key])


@function("custom")
def take_along_axis(ctx: Context, x: Any, indices: Any, /, *, axis: int = -1) -> Array:
    ctx.require_array(x, "take_along_axis")
    position = arguments.axis(axis, x.ndim)
    ctx.require_array(indices, "take_along_axis")
    if indices.ndim != x.ndim:
        raise ValueError(f"take_along_axis got {x.ndim} and {indices.ndim} axes")
    arguments.indices(indices, "indices")
    indices._require_defined()
    shapes = [[n for a, n in enumerate(y.shape) if a != position] for y in (x, indices)]
    try:
        np.broadcast_shapes(*map(tuple, shapes))
    except ValueError as error:
        mistake = ValueError(f"x and indices do not broadcast: {error}")
        raise kinds.with_alternatives(mistake, IndexError) from None
    checked = indexing.bounded(indices._data, position, x.shape[position])
    parts: list[Any] = []
    for a, n in enumerate(x.shape):
        along = np.arange(n).reshape([-1 if b == a else 1 for b in range(x.ndim)])
        parts.append(checked if a == position else along)

    def taken(data: Data) -> Data:
        return np.asarray(data[tuple(parts)])

    return ctx.array(taken(x._data), None if x.undefined is None else taken(x.undefined))
