"""Reading and writing parts of arrays.

MLX reads out of bounds and may end the process
(https://ml-explore.github.io/mlx/build/html/usage/indexing.html): every index array is checked
first, which computes it. Masks are computed too, since the size of a result depends on them. Writes
give the array object new values; arrays that shared memory with it keep theirs.
"""

from __future__ import annotations

import math
from typing import Any

import mlx.core as mx
import numpy as np

from portarray.backends.common.keys import ALL, count_axes, expand_ellipsis, split_key
from portarray.backends.composed.indexing import take_axis
from portarray.backends.mlx import limits, transfer
from portarray.backends.mlx.namespace.scalars import Scalar, array_of, on_cpu, wide
from portarray.backends.mlx.tracing import is_traced
from portarray.backends.types import Rows

Key = tuple[Any, ...]

item = mx.array.item

_LONGEST = 2**31 - 1
_SHORT = 64  # elements of an index array up to which a list is faster than NumPy


def getitem(x: mx.array, key: Key, /) -> mx.array:
    """Return part of an array."""
    if _is_plain(key):
        return x[key]
    if len(key) == 1 and isinstance(key[0], mx.array) and key[0].dtype != mx.bool_:
        out = take(x, key[0], axis=0)
    else:
        key = expand_ellipsis(key, x.ndim, mx.array, mx.bool_)
        basic, advanced = split_key(key, mx.array, mx.bool_)
        out = x[_clip_slices(basic, x.shape)]
        if all(index is ALL for index in advanced):
            return out
        # An ellipsis for no axis separates arrays; here an axis of length 1 does.
        separator = next((n for n, index in enumerate(advanced) if index is Ellipsis), 0)
        if separator:
            advanced[separator] = ALL
        out = _gather(*_without_masks(out, advanced))
        if separator:
            out = out.squeeze(-sum(index is ALL for index in advanced[separator:]))
    limits.check(out.shape, out.nbytes)
    return out


def setitem(x: mx.array, key: Key, value: mx.array | Scalar, /) -> mx.array:
    """Write into part of an array, and return that array."""
    value = value if isinstance(value, mx.array) else array_of(value, x.dtype)
    if value.ndim == 0 and len(key) == 1 and _is_boolean(key[0]) and key[0].ndim:
        mask = key[0].reshape(key[0].shape + (1,) * (x.ndim - key[0].ndim))
        x[...] = mx.where(mask, value.astype(x.dtype), x)
        return x
    key = expand_ellipsis(key, x.ndim, mx.array, mx.bool_)
    if any(isinstance(index, mx.array) for index in key):
        _scatter(x, key, value)
    else:
        _write_slices(x, key, value)
    return x


def take(x: mx.array, indices: mx.array, /, *, axis: int | None = None) -> mx.array:
    """Return elements at indices along an axis, for one or more axes of indices."""
    axis = take_axis(x, axis) % x.ndim
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
    """Return whether MLX supports a key: no arrays, and no bounds beyond 32 bits."""
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


def _is_boolean(index: Any) -> bool:
    return isinstance(index, mx.array) and index.dtype == mx.bool_


def _clip_slices(basic: list[Any], shape: tuple[int, ...]) -> Key:
    """Return a key whose slices have bounds that MLX can hold."""
    axis = 0
    for n, index in enumerate(basic):
        if isinstance(index, slice) and index is not ALL:
            basic[n] = _clipped(index, shape[axis])
        axis += index is not None
    return tuple(basic)


def _clipped(index: slice, size: int) -> slice:
    """Return a slice of the same elements with bounds that MLX can hold."""
    steps = range(*index.indices(size))
    if len(steps) < 2:
        return slice(steps.start, steps.start + 1) if steps else slice(0, 0)
    stop = steps[-1] + (1 if steps.step > 0 else -1)
    # Only None stops before the first element.
    return slice(steps.start, None if stop < 0 else stop, steps.step)


def _without_masks(x: mx.array, advanced: list[Any]) -> tuple[mx.array, list[Any]]:
    """Return an array with the axes of each mask flattened, and its indices without masks."""
    shape: list[int] = []
    indices: list[Any] = []
    axis = 0
    for index in advanced:
        width = max(index.ndim, 1) if _is_boolean(index) else 1
        size = math.prod(x.shape[axis : axis + width])
        if _is_boolean(index):
            positions = np.flatnonzero(transfer.to_host(index, copy=None))
            limits.check(positions.shape, positions.nbytes)
            index = mx.array(positions)
        elif isinstance(index, mx.array):
            index = _within(index, size)
        elif index is not ALL:
            index = mx.array(index % size, dtype=mx.int64)
        shape.append(size)
        indices.append(index)
        axis += width
    return (x if shape == list(x.shape) else x.reshape(shape)), indices


def _within(index: mx.array, size: int) -> mx.array:
    """Return an index array as int64, once its bounds are checked."""
    if index.size:
        try:
            extremes = _extremes(index)
        except (TypeError, ValueError):
            if not is_traced(index):
                raise
            # A traced index cannot be checked, and MLX would read out of bounds.
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
    axes = [axis for axis, index in enumerate(advanced) if index is not ALL]
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
    """Assign with a key without arrays."""
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
    values = _broadcast(value, tuple(selected)).reshape(sizes).astype(x.dtype)
    # An array of no axes has no slices.
    x[tuple(slices) or Ellipsis] = values


def _broadcast(value: mx.array, shape: tuple[int, ...]) -> mx.array:
    """Broadcast a value to the selected shape; it may have more leading axes of size 1."""
    while value.ndim > len(shape) and value.shape[0] == 1:
        value = value[0]
    if value.ndim > len(shape):
        raise ValueError(f"values of shape {value.shape} cannot be broadcast to {shape}")
    return mx.broadcast_to(value, shape)


def _scatter(x: mx.array, key: Key, value: mx.array) -> None:
    """Assign with a key with arrays.

    The same key of an array of flat positions selects the rows to write.
    """
    while isinstance(key[-1], slice) and key[-1] == ALL:
        key = key[:-1]
    ndim = sum(count_axes(index, mx.bool_) for index in key)
    indexed, row_shape = x.shape[:ndim], x.shape[ndim:]
    count = math.prod(indexed)
    positions = getitem(mx.arange(count, dtype=mx.int64).reshape(indexed), key)
    values = _broadcast(value, (*positions.shape, *row_shape))
    if not values.size:
        return
    rows = x.reshape(count, -1)
    written = values.reshape(positions.size, -1).astype(x.dtype)
    out = write_rows(rows, positions.reshape(-1), written, in_halves=not on_cpu())
    x[...] = out.reshape(x.shape)


def write_rows(
    rows: mx.array, positions: mx.array, written: mx.array, *, in_halves: bool
) -> mx.array:
    """Return a matrix with some rows replaced.

    MLX does not write single elements of 8 bytes on GPUs: ``in_halves`` writes two of 4.
    """
    dtype = rows.dtype
    if in_halves and dtype.size == 8:
        rows, written = mx.view(rows, mx.uint32), mx.view(written, mx.uint32)
    out = mx.array(rows)
    out[positions] = written
    return out if out.dtype == dtype else mx.view(out, dtype)


def _getitem(x: mx.array, key: Any) -> mx.array:
    """Return ``x[key]`` for keys of integers and slices without steps.

    They are checked here: in MLX an integer out of bounds reads foreign memory, and a step of 0
    ends the process.
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
    raise IndexError(f"{key!r} is out of bounds, or not a key of integers and slices")


DIRECT: Rows = {"getitem": {"biufc": _getitem}}


def add_at(x: mx.array, indices: mx.array, values: mx.array, /) -> mx.array:
    """Return x with ``values[k]`` added to row ``indices[k]``, for all k, repeated or not."""
    if not values.size:
        return mx.array(x)  # MLX refuses empty updates, or divides by 0
    if x.dtype in (mx.float16, mx.bfloat16):
        return wide(x).at[indices].add(wide(values)).astype(x.dtype)
    return x.at[indices].add(values)
