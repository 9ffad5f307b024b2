"""Reading and writing parts of arrays.

MLX reads what lies beyond an axis where an index array is out of bounds, and so may end the
process (https://ml-explore.github.io/mlx/build/html/usage/indexing.html): every index array is
looked at first, which computes it. Masks say with their values how large a result is, and are
computed for the same reason. Writes give the array object new values; arrays that shared memory
with it keep theirs.
"""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import numpy as np

from portarray.backends.common.keys import separates
from portarray.backends.mlx import limits, transfer
from portarray.backends.mlx.namespace.scalars import Scalar, array_of, on_cpu
from portarray.backends.mlx.tracing import is_traced
from portarray.backends.types import Rows

Key = tuple[Any, ...]

_ALL = slice(None)
_LONGEST = 2**31 - 1
_SHORT = 64  # elements of an index array up to which a list is faster than NumPy


def getitem(x: mx.array, key: Key, /) -> mx.array:
    """Return part of an array."""
    if _is_plain(key):
        return x[key]
    if len(key) == 1 and isinstance(key[0], mx.array) and key[0].dtype != mx.bool_:
        out = take(x, key[0], axis=0)
    else:
        key = _expanded(key, x.ndim)
        has_arrays = any(isinstance(index, mx.array) for index in key)
        basic, advanced = _split(x.shape, key, has_arrays=has_arrays)
        # An ellipsis for no axis separates arrays as an axis does; here one of length 1 does.
        parting = next((n for n, index in enumerate(advanced) if index is Ellipsis), 0)
        if parting:
            advanced[parting] = _ALL
        out = x[basic]
        if not has_arrays:
            return out
        found, advanced = _merged(out, advanced)
        out = _gather(found, advanced)
        if parting:
            out = out.squeeze(-advanced[parting:].count(_ALL))
    limits.check(out.shape, out.nbytes)
    return out


def setitem(x: mx.array, key: Key, value: mx.array | Scalar, /) -> mx.array:
    """Write into part of an array, and return that array."""
    value = value if isinstance(value, mx.array) else array_of(value, x.dtype)
    if value.ndim == 0 and len(key) == 1 and _is_boolean(key[0]) and key[0].ndim:
        mask = key[0].reshape(key[0].shape + (1,) * (x.ndim - key[0].ndim))
        x[...] = mx.where(mask, value.astype(x.dtype), x)
        return x
    key = _expanded(key, x.ndim)
    if any(isinstance(index, mx.array) for index in key):
        _scatter(x, key, value)
    else:
        _write_slices(x, key, value)
    return x


def item(x: mx.array, /) -> Scalar:
    """Return the only element as Python scalar."""
    return x.item()


def take(x: mx.array, indices: mx.array, /, *, axis: int | None = None) -> mx.array:
    """Return elements at indices along an axis, for one or more axes of indices."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take needs an axis for an array of {x.ndim} axes")
        axis = 0
    axis = axis % x.ndim
    return _take(x, _within(indices, x.shape[axis]), axis)


def take_along_axis(x: mx.array, indices: mx.array, /, *, axis: int = -1) -> mx.array:
    """Return elements at indices that are matched with x along an axis; other axes broadcast."""
    axis = axis % x.ndim
    where_from = _within(indices, x.shape[axis])
    if not indices.size or not x.size:
        shape = list(x.shape)
        shape[axis] = 1
        common = mx.broadcast_shapes(tuple(shape), tuple(indices.shape))
        return mx.zeros(common, dtype=x.dtype)
    return mx.take_along_axis(x, where_from, axis)


def _is_plain(key: Key) -> bool:
    """Tell whether MLX takes a key as it is: no arrays, and no bounds beyond 32 bits."""
    for index in key:
        # Integers come first: they are what loops over elements index with.
        if index.__class__ is int or index is None or index is Ellipsis:
            continue
        if isinstance(index, mx.array):
            return False
        for bound in (index.start, index.stop, index.step):
            if bound is not None and not -_LONGEST <= bound <= _LONGEST:
                return False
    return True


def _expanded(key: Key, ndim: int) -> Key:
    """Return a key that says something about every axis, without an ellipsis.

    One that stands for no axis, and separates arrays so, is left.
    """
    place = next((n for n, index in enumerate(key) if index is Ellipsis), len(key))
    named = (*key[:place], *key[place + 1 :])
    used = sum(index.ndim if _is_boolean(index) else 1 for index in named if index is not None)
    if used == ndim and separates(key[:place], key[place + 1 :], mx.array):
        return key
    return (*key[:place], *[_ALL] * (ndim - used), *key[place + 1 :])


def _is_boolean(index: Any) -> bool:
    return isinstance(index, mx.array) and index.dtype == mx.bool_


def _split(shape: tuple[int, ...], key: Key, *, has_arrays: bool) -> tuple[Key, list[Any]]:
    """Return a key in two steps: of slices and None, and of what is left for index arrays.

    The second one has an entry for each axis that is left: ``slice(None)``, or an array. Integers
    beside arrays are arrays of no axes, as everywhere.
    """
    basic: list[Any] = []
    advanced: list[Any] = []
    axis = 0
    for index in key:
        if index is None:
            basic.append(None)
            advanced.append(_ALL)
        elif index is Ellipsis:
            basic.append(None)
            advanced.append(Ellipsis)
        elif isinstance(index, slice):
            basic.append(_clipped(index, shape[axis]))
            advanced.append(_ALL)
            axis += 1
        elif isinstance(index, mx.array):
            width = index.ndim if index.dtype == mx.bool_ else 1
            basic.extend([_ALL] * width)
            advanced.append(index)
            axis += width
        else:
            basic.append(_ALL if has_arrays else index)
            if has_arrays:
                advanced.append(mx.array(index % shape[axis]))
            axis += 1
    return tuple(basic), advanced


def _clipped(index: slice, size: int) -> slice:
    """Return a slice of the same elements with bounds that MLX holds."""
    steps = range(*index.indices(size))
    if len(steps) < 2:
        return slice(steps.start, steps.start + 1) if steps else slice(0, 0)
    stop = steps[-1] + (1 if steps.step > 0 else -1)
    # Before the first element there is no number but None.
    return slice(steps.start, None if stop < 0 else stop, steps.step)


def _merged(x: mx.array, advanced: list[Any]) -> tuple[mx.array, list[Any]]:
    """Return array and index arrays with each mask made places on one axis, the mask's own."""
    shape: list[int] = []
    found: list[Any] = []
    axis = 0
    for index in advanced:
        width = index.ndim if _is_boolean(index) else 1
        size = math.prod(x.shape[axis : axis + width])
        if _is_boolean(index):
            places = np.flatnonzero(transfer.to_host(index, copy=None))
            limits.check(places.shape, places.nbytes)
            index = mx.array(places)
        elif index is not _ALL:
            index = _within(index, size)
        shape.append(size)
        found.append(index)
        axis += width
    return (x if shape == list(x.shape) else x.reshape(shape)), found


def _within(index: mx.array, size: int) -> mx.array:
    """Return an index array of a dtype that MLX's gathering mixes with others, once looked at."""
    if index.size:
        try:
            extremes = _extremes(index)
        except (TypeError, ValueError):
            if not is_traced(index):
                raise
            # MLX would read beyond the array.
            return mx.clip(index.astype(mx.int64), -size, size - 1)
        for extreme in extremes:
            if not -size <= int(extreme) < size:
                raise IndexError(f"index {extreme} is out of bounds for an axis of length {size}")
    return index if index.dtype == mx.int64 else index.astype(mx.int64)


def _extremes(index: mx.array) -> tuple[Any, Any]:
    """Return the least and the largest index."""
    if index.ndim == 1 and index.size <= _SHORT:
        values: Any = index.tolist()
        return min(values), max(values)
    values = transfer.to_host(index, copy=None)
    return values.min(), values.max()


def _gather(x: mx.array, advanced: list[Any]) -> mx.array:
    """Return elements of an array at index arrays that are within bounds."""
    axes = [axis for axis, index in enumerate(advanced) if index is not _ALL]
    if len(axes) == 1:
        return _take(x, advanced[axes[0]], axes[0])
    indices = [advanced[axis] for axis in axes]
    common = mx.broadcast_shapes(*[index.shape for index in indices])
    if not x.size or not math.prod(common):
        sizes = [size for axis, size in enumerate(x.shape) if axis not in axes]
        adjacent = axes[-1] - axes[0] == len(axes) - 1
        first = axes[0] if adjacent else 0
        return mx.zeros((*sizes[:first], *common, *sizes[first:]), dtype=x.dtype)
    return x[tuple(advanced)]


def _take(x: mx.array, indices: mx.array, axis: int) -> mx.array:
    if not indices.size or not x.size:  # MLX takes nothing from an empty axis
        shape = (*x.shape[:axis], *indices.shape, *x.shape[axis + 1 :])
        return mx.zeros(shape, dtype=x.dtype)
    return mx.take(x, indices, axis)


def _write_slices(x: mx.array, key: Key, value: mx.array) -> None:
    """Write where a key without arrays says."""
    slices: list[slice] = []
    sizes: list[int] = []
    selected: list[int] = []
    for index in key:
        if index is None:
            selected.append(1)
            continue
        size = x.shape[len(slices)]
        if isinstance(index, slice):
            index = _clipped(index, size)
            sizes.append(len(range(*index.indices(size))))
            selected.append(sizes[-1])
        else:
            index = slice(index % size, index % size + 1)
            sizes.append(1)
        slices.append(index)
    values = _spread(value, tuple(selected)).reshape(sizes).astype(x.dtype)
    # An array of no axes has no slices.
    x[tuple(slices) or Ellipsis] = values


def _spread(value: mx.array, shape: tuple[int, ...]) -> mx.array:
    """Broadcast a value to what it is written to; it may have more axes of size 1."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    if value.ndim > len(shape):
        raise ValueError(f"values of shape {value.shape} do not broadcast to {shape}")
    return mx.broadcast_to(value, shape)


def _scatter(x: mx.array, key: Key, value: mx.array) -> None:
    """Write where a key with arrays says.

    The elements are numbered along the axes that the key is about, and the same key of these
    numbers says which of them are written.
    """
    while isinstance(key[-1], slice) and key[-1] == _ALL:
        key = key[:-1]
    ndim = sum(
        index.ndim if _is_boolean(index) else 1
        for index in key
        if index is not None and index is not Ellipsis
    )
    covered, rest = x.shape[:ndim], x.shape[ndim:]
    count = math.prod(covered)
    numbers = mx.arange(count, dtype=mx.int64).reshape(covered)
    places = getitem(numbers, key)
    values = _spread(value, (*places.shape, *rest))
    if not values.size:
        return
    rows = x.reshape(count, -1)
    # The written rows broadcast late, so that one value stays one.
    written = values.reshape(places.size, -1).astype(x.dtype)
    x[...] = write_rows(rows, places.reshape(-1), written, in_halves=not on_cpu()).reshape(x.shape)


def write_rows(rows: mx.array, places: mx.array, written: mx.array, *, in_halves: bool) -> mx.array:
    """Return a matrix with some rows replaced.

    MLX does not write single elements of 8 bytes on GPUs: ``in_halves`` writes two of 4.
    """
    dtype = rows.dtype
    if in_halves and dtype.size == 8:
        rows, written = mx.view(rows, mx.uint32), mx.view(written, mx.uint32)
    out = mx.array(rows)
    out[places] = written
    return out if out.dtype == dtype else mx.view(out, dtype)


def _getitem(x: mx.array, key: Any) -> mx.array:
    """Return ``x[key]`` for the plainest keys, which MLX itself does not look at.

    An integer out of bounds reads foreign memory, and a step of 0 ends the process.
    """
    shape = x.shape
    if key.__class__ is int:
        if shape and -shape[0] <= key < shape[0]:
            return x[key]
    elif key.__class__ is slice:
        if shape and key.step is None:
            return x[key]
    elif key.__class__ is tuple and len(key) <= len(shape):
        for index, size in zip(key, shape, strict=False):
            kind = type(index)
            if not (kind is slice and index.step is None) and not (
                kind is int and -size <= index < size
            ):
                break
        else:
            return x[key]
    raise IndexError(f"{key!r} is out of bounds, or no key of integers and slices without steps")


PLAIN: Rows = {"getitem": {"biufc": _getitem}}


def add_at(x: mx.array, indices: mx.array, values: mx.array, /) -> mx.array:
    """Return x with ``values[k]`` added to row ``indices[k]``, for all k, repeated or not."""
    if not values.size:
        return mx.array(x)  # MLX takes such updates for too large ones, or divides by 0
    return x.at[indices].add(values)
