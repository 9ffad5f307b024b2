"""Functions that move, repeat and select elements."""

from __future__ import annotations

import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray_conformance.reference import arguments, indexing, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.kinds import Data
from portarray_conformance.reference.registry import function

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules


def _new(rules: Rules, data: Any) -> Array:
    return Array(np.asarray(data), rules)


@function("moves")
def broadcast_arrays(rules: Rules, *arrays: Any) -> tuple[Array, ...]:
    for x in arrays:
        rules.is_array(x, "broadcast_arrays")
    return tuple(_new(rules, d) for d in np.broadcast_arrays(*[x._data for x in arrays]))


@function("own")
def broadcast_shapes(rules: Rules, *shapes: Any) -> tuple[int, ...]:
    return np.broadcast_shapes(*[arguments.shape(one) for one in shapes])


@function("moves")
def broadcast_to(rules: Rules, x: Any, /, shape: Any) -> Array:
    sizes = arguments.shape(shape)
    arguments.counted(sizes, rules.is_array(x, "broadcast_to").dtype)
    return _new(rules, np.broadcast_to(x._data, sizes))


def _joined(rules: Rules, arrays: Any, name: str) -> list[Array]:
    given = arrays if isinstance(arrays, (list, tuple)) else list(arrays)
    if not given:
        raise ValueError(f"{name} got no arrays; it needs at least one")
    for x in given:
        rules.is_array(x, name)
    return list(given)


@function("moves")
def concat(rules: Rules, arrays: Any, /, *, axis: int | None = 0) -> Array:
    given = _joined(rules, arrays, "concat")
    if axis is None:
        flat = [x._data.reshape(-1) for x in given]
    else:
        if any(x.ndim != given[0].ndim for x in given):
            raise ValueError("concat got arrays with different numbers of axes")
        axis = arguments.axis(axis, given[0].ndim)
        flat = [x._data for x in given]
    dtype = rules.dtype_of("concat", given)
    return _new(rules, np.concatenate([kinds.rounded(d, dtype) for d in flat], axis=axis or 0))


@function("moves")
def stack(rules: Rules, arrays: Any, /, *, axis: int = 0) -> Array:
    given = _joined(rules, arrays, "stack")
    axis = arguments.axis(axis, given[0].ndim + 1)
    dtype = rules.dtype_of("stack", given)
    return _new(rules, np.stack([kinds.rounded(x._data, dtype) for x in given], axis=axis))


@function("moves")
def expand_dims(rules: Rules, x: Any, /, axis: Any) -> Array:
    rules.is_array(x, "expand_dims")
    places = arguments.integers(axis, "axis")
    found = arguments.axes(places, x.ndim + len(places))
    return _new(rules, np.expand_dims(x._data, found))


@function("moves")
def flip(rules: Rules, x: Any, /, *, axis: Any = None) -> Array:
    rules.is_array(x, "flip")
    return _new(rules, np.flip(x._data, arguments.axes(axis, x.ndim)))


@function("moves")
def moveaxis(rules: Rules, x: Any, source: Any, destination: Any, /) -> Array:
    rules.is_array(x, "moveaxis")
    first = arguments.axes(arguments.integers(source, "source"), x.ndim)
    second = arguments.axes(arguments.integers(destination, "destination"), x.ndim)
    if len(first) != len(second):
        raise ValueError(f"source {source!r} and destination {destination!r} differ in length")
    return _new(rules, np.moveaxis(x._data, first, second))


@function("moves")
def permute_dims(rules: Rules, x: Any, /, axes: Any) -> Array:
    rules.is_array(x, "permute_dims")
    order = arguments.axes(arguments.integers(axes, "axes"), x.ndim)
    if len(order) != x.ndim:
        raise ValueError(f"permute_dims got axes {axes!r} for {x.ndim} axes")
    return _new(rules, np.transpose(x._data, order))


@function("moves")
def matrix_transpose(rules: Rules, x: Any, /) -> Array:
    rules.is_array(x, "matrix_transpose")
    arguments.matrices(x, "matrix_transpose")
    return _new(rules, np.swapaxes(x._data, -1, -2))


@function("moves", "linalg.diagonal")
def diagonal(rules: Rules, x: Any, /, *, offset: int = 0) -> Array:
    rules.is_array(x, "diagonal")
    arguments.matrices(x, "diagonal")
    offset = max(-x.shape[-2] - 1, min(operator.index(offset), x.shape[-1] + 1))
    return _new(rules, np.diagonal(x._data, offset, -2, -1))


@function("own")
def repeat(rules: Rules, x: Any, repeats: Any, /, *, axis: int | None = None) -> Array:
    rules.is_array(x, "repeat")
    if axis is not None:
        axis = arguments.axis(axis, x.ndim)
    if type(repeats) is Array:
        arguments.indices(repeats, "repeats")
        rules.sure(repeats)
        counts: Any = repeats._data.astype(object)
        if counts.ndim > 1:
            raise ValueError(f"repeats has {counts.ndim} axes; it may have one")
        if any(n < 0 for n in counts.ravel()):
            raise ValueError("repeats must not be negative")
        counts = counts.astype(np.int64)
    else:
        counts = arguments.size(repeats, "repeats")
    if isinstance(counts, int):
        arguments.counted((*x.shape, counts), x.dtype)
    unsure = None if x.unsure is None else np.repeat(x.unsure, counts, axis=axis)
    return rules.array(np.repeat(x._data, counts, axis=axis), unsure)


@function("moves")
def reshape(rules: Rules, x: Any, /, shape: Any, *, copy: bool | None = None) -> Array:
    rules.is_array(x, "reshape")
    arguments.copy(copy)
    wanted = arguments.integers(shape, "shape")
    if any(n < -1 for n in wanted) or wanted.count(-1) > 1:
        raise ValueError(f"reshape got shape {shape!r}; one size may be -1, and none less")
    sizes = math.prod(n for n in wanted if n >= 0)
    if sizes != x.size and (-1 not in wanted or sizes == 0 or x.size % sizes):
        raise ValueError(f"reshape got shape {shape!r} for {x.size} elements")
    found = x._data.reshape(wanted)
    if copy is False and not np.may_share_memory(found, x._data) and x.size:
        raise ValueError("copy=False, but this shape needs a copy")
    return _new(rules, found.copy() if copy else found)


@function("moves")
def roll(rules: Rules, x: Any, /, shift: Any, *, axis: Any = None) -> Array:
    rules.is_array(x, "roll")
    shifts = arguments.integers(shift, "shift")
    if axis is None:
        if len(shifts) != 1:
            raise ValueError(f"roll got shift {shift!r} without axis=")
        return _new(rules, np.roll(x._data, shifts[0] % max(x.size, 1)))
    places = [arguments.axis(one, x.ndim) for one in arguments.integers(axis, "axis")]
    if len(shifts) == 1:
        shifts *= len(places)
    if len(shifts) != len(places):
        raise ValueError(f"roll got shift {shift!r} for axis {axis!r}")
    data = x._data.copy()
    for by, place in zip(shifts, places, strict=True):
        data = np.roll(data, by % max(x.shape[place], 1), place)
    return _new(rules, data)


@function("moves")
def squeeze(rules: Rules, x: Any, /, axis: Any) -> Array:
    rules.is_array(x, "squeeze")
    places = arguments.axes(arguments.integers(axis, "axis"), x.ndim)
    if any(x.shape[one] != 1 for one in places):
        raise ValueError(f"squeeze got axis {axis!r} of shape {x.shape}; sizes must be 1")
    return _new(rules, np.squeeze(x._data, places))


@function("moves")
def tile(rules: Rules, x: Any, repetitions: Any, /) -> Array:
    rules.is_array(x, "tile")
    counts = arguments.integers(repetitions, "repetitions")
    if any(n < 0 for n in counts):
        raise ValueError(f"repetitions is {repetitions!r}; numbers must not be negative")
    arguments.counted((*x.shape, *counts), x.dtype)
    return _new(rules, np.tile(x._data, counts))


@function("moves")
def unstack(rules: Rules, x: Any, /, *, axis: int = 0) -> tuple[Array, ...]:
    rules.is_array(x, "unstack")
    return tuple(_new(rules, d) for d in np.moveaxis(x._data, arguments.axis(axis, x.ndim), 0))


@function("moves")
def tril(rules: Rules, x: Any, /, *, k: int = 0) -> Array:
    return _triangle(rules, x, k, "tril")


@function("moves")
def triu(rules: Rules, x: Any, /, *, k: int = 0) -> Array:
    return _triangle(rules, x, k, "triu")


def _triangle(rules: Rules, x: Any, k: int, name: str) -> Array:
    rules.is_array(x, name)
    arguments.matrices(x, name)
    k = operator.index(k)
    rows, columns = np.ogrid[: x.shape[-2], : x.shape[-1]]
    offset = (columns - rows).astype(object)
    kept = np.asarray(offset <= k if name == "tril" else offset >= k, dtype=bool)
    return _new(rules, np.where(kept, x._data, np.zeros((), x.dtype)))


@function("moves")
def meshgrid(rules: Rules, *arrays: Any, indexing: str = "xy") -> tuple[Array, ...]:
    arguments.choice(indexing, "indexing", ("xy", "ij"))
    for x in arrays:
        rules.is_array(x, "meshgrid")
        if x.ndim > 1:
            raise ValueError(f"meshgrid got an array of shape {x.shape}; it takes 1-d arrays")
    found: Any = np.meshgrid(*[x._data for x in arrays], indexing=indexing, copy=False)  # type: ignore[call-overload]
    return tuple(_new(rules, d) for d in found)


@function("own")
def take(rules: Rules, x: Any, indices: Any, /, *, axis: int | None = None) -> Array:
    rules.is_array(x, "take")
    if axis is not None:
        axis = arguments.axis(axis, x.ndim)
    elif x.ndim != 1:
        raise ValueError(f"take got an array of {x.ndim} axes without axis=")
    arguments.indices(indices, "indices")
    places = rules.given(indices, "take")
    arguments.indices(places, "indices")
    rules.sure(places)
    place = axis or 0
    found = indexing.bounded(places._data, place, x.shape[place])
    key = (slice(None),) * place + (found, Ellipsis)
    return rules.array(x._data[key], None if x.unsure is None else x.unsure[key])


@function("own")
def take_along_axis(rules: Rules, x: Any, indices: Any, /, *, axis: int = -1) -> Array:
    rules.is_array(x, "take_along_axis")
    place = arguments.axis(axis, x.ndim)
    rules.is_array(indices, "take_along_axis")
    if indices.ndim != x.ndim:
        raise ValueError(f"take_along_axis got {x.ndim} and {indices.ndim} axes")
    arguments.indices(indices, "indices")
    rules.sure(indices)
    shapes = [[n for a, n in enumerate(y.shape) if a != place] for y in (x, indices)]
    try:
        np.broadcast_shapes(*map(tuple, shapes))
    except ValueError as error:
        mistake = ValueError(f"x and indices do not broadcast: {error}")
        raise kinds.also(mistake, IndexError) from None
    found = indexing.bounded(indices._data, place, x.shape[place])
    parts: list[Any] = []
    for a, n in enumerate(x.shape):
        other = np.arange(n).reshape([-1 if b == a else 1 for b in range(x.ndim)])
        parts.append(found if a == place else other)

    def taken(data: Data) -> Data:
        return np.asarray(data[tuple(parts)])

    return rules.array(taken(x._data), None if x.unsure is None else taken(x.unsure))
