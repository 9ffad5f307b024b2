"""Array manipulation: shapes, order of axes, joining, splitting, padding."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np

import portarray as pa
from portarray._array import slow_path
from portarray._numpy_functions.common import (
    axes_of,
    beside,
    cast,
    first_array,
    flat,
    index_array,
    joined,
)
from portarray._numpy_functions.table import chapter, refusal

serves = chapter("Array manipulation")


# --- shapes and axes ---------------------------------------------------------------------------


@serves()
def shape(a: Any) -> Any:
    return a.shape


@serves()
def ndim(a: Any) -> Any:
    return a.ndim


@serves()
def size(a: Any, axis: Any = None) -> Any:
    return math.prod(a.shape[i] for i in axes_of(a, axis))


@serves()
def reshape(a: Any, shape: Any, order: Any = "C", copy: Any = None) -> Any:
    if order == "C":
        return pa.reshape(a, shape, copy=copy)
    if order != "F":
        raise TypeError(f"order={order!r}: how an array lies in memory is the library's matter")
    wanted = (shape,) if isinstance(shape, int) else tuple(shape)
    return _reversed(pa.reshape(_reversed(a), wanted[::-1], copy=copy))


@serves()
def ravel(a: Any, order: Any = "C") -> Any:
    return reshape(a, (-1,), "C" if order in ("K", "A") else order)


def _reversed(a: Any) -> Any:
    return pa.permute_dims(a, tuple(reversed(range(a.ndim))))


@serves()
def transpose(a: Any, axes: Any = None) -> Any:
    return _reversed(a) if axes is None else pa.permute_dims(a, axes_of(a, tuple(axes)))


@serves("matrix_transpose", "linalg.matrix_transpose")
def matrix_transpose(x: Any) -> Any:
    return pa.matrix_transpose(x)


@serves()
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    first, second = axes_of(a, (axis1, axis2))
    order[first], order[second] = second, first
    return pa.permute_dims(a, tuple(order))


@serves()
def moveaxis(a: Any, source: Any, destination: Any) -> Any:
    return pa.moveaxis(a, source, destination)


@serves()
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    (axis,) = axes_of(a, axis)
    start = start + a.ndim if start < 0 else start
    return pa.moveaxis(a, axis, start - (start > axis))


@serves()
def expand_dims(a: Any, axis: Any) -> Any:
    return pa.expand_dims(a, axis=axis)


@serves()
def squeeze(a: Any, axis: Any = None) -> Any:
    return a.squeeze(axis)


@serves(order="array shape subok")
def broadcast_to(array: Any, shape: Any) -> Any:
    return pa.broadcast_to(array, (shape,) if isinstance(shape, int) else tuple(shape))


@serves(order="")
def broadcast_arrays(*args: Any) -> Any:
    first = first_array(args, "broadcast_arrays")
    return pa.broadcast_arrays(*(beside(x, first, "broadcast_arrays") for x in args))


def _at_least(arrays: tuple[Any, ...], widen: Any) -> Any:
    first = first_array(arrays, "atleast_1d")
    found = tuple(widen(beside(x, first)) for x in arrays)
    return found[0] if len(found) == 1 else found


@serves()
def atleast_1d(*arys: Any) -> Any:
    return _at_least(arys, lambda x: x if x.ndim else x[None])


@serves()
def atleast_2d(*arys: Any) -> Any:
    return _at_least(arys, lambda x: pa.reshape(x, (1,) * (2 - x.ndim) + x.shape))


@serves()
def atleast_3d(*arys: Any) -> Any:
    def widen(x: Any) -> Any:
        return atleast_2d(x)[..., None] if x.ndim < 3 else x

    return _at_least(arys, lambda x: pa.reshape(x, (1, -1, 1)) if x.ndim == 1 else widen(x))


@serves(order="a b max_work")
def may_share_memory(a: Any, b: Any, max_work: Any = 0) -> Any:
    first, second = _memory("may_share_memory", a, b)
    return np.may_share_memory(first, second, max_work=max_work)


@serves(order="a b max_work")
def shares_memory(a: Any, b: Any, max_work: Any = -1) -> Any:
    first, second = _memory("shares_memory", a, b)
    return np.shares_memory(first, second, max_work=max_work)


def _memory(name: str, *arrays: Any) -> list[Any]:
    """Return views of arrays in host memory; no value is read."""
    found = []
    elsewhere = 0
    for x in arrays:
        if type(x) is pa.Array:
            try:
                found.append(slow_path.host_view(x, copy=False))
            except (BufferError, TypeError, ValueError):  # memory that NumPy cannot address
                found.append(np.empty(0))
                elsewhere += 1
        else:
            found.append(x)
    if elsewhere > 1:  # both may be in the same device memory
        raise refusal(name)
    return found


# --- joining -----------------------------------------------------------------------------------


@serves(order="arrays axis out")
def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    return joined([cast(x, dtype) for x in arrays], axis)


@serves(order="arrays axis out")
def stack(arrays: Any, axis: int = 0, dtype: Any = None) -> Any:
    return pa.stack([cast(x, dtype) for x in arrays], axis=axis)


@serves()
def vstack(tup: Any, dtype: Any = None) -> Any:
    return concatenate([atleast_2d(x) for x in tup], 0, dtype)


@serves()
def hstack(tup: Any, dtype: Any = None) -> Any:
    arrays = [atleast_1d(x) for x in tup]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype)


@serves()
def dstack(tup: Any) -> Any:
    return joined([atleast_3d(x) for x in tup], 2)


@serves()
def column_stack(tup: Any) -> Any:
    return joined([pa.reshape(x, (-1, 1)) if x.ndim < 2 else x for x in tup], 1)


@serves()
def block(arrays: Any) -> Any:
    def depth(part: Any) -> int:
        return 1 + max(map(depth, part)) if isinstance(part, list) else 0

    def parts(part: Any) -> Any:
        return itertools.chain.from_iterable(map(parts, part)) if isinstance(part, list) else [part]

    first = first_array(parts(arrays), "block")
    deep = depth(arrays)
    ndim = max(deep, *(getattr(x, "ndim", 0) for x in parts(arrays)), 0)

    def build(part: Any, level: int) -> Any:
        if isinstance(part, list):
            return joined([build(one, level + 1) for one in part], ndim - deep + level)
        x = beside(part, first)
        return pa.reshape(x, (1,) * (ndim - x.ndim) + x.shape)

    return build(arrays, 0)


@serves()
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    first = arr if type(arr) is pa.Array else values
    return joined((beside(arr, first), beside(values, first)), axis)


@serves()
def tile(A: Any, reps: Any) -> Any:  # noqa: N803
    return pa.tile(A, (reps,) if isinstance(reps, int) else tuple(reps))


@serves()
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    counts: Any = repeats if isinstance(repeats, (int, np.integer)) else index_array(repeats, a)
    return pa.repeat(a, counts, axis=axis)


@serves()
def resize(a: Any, new_shape: Any) -> Any:
    wanted = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    count = math.prod(wanted)
    if not a.size:
        return pa.zeros(wanted, dtype=a.dtype, device=a.device)
    return pa.reshape(pa.tile(flat(a), (-(-count // a.size),))[:count], wanted)


@serves()
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    if axis is None:
        arr, axis = flat(arr), 0
    if type(obj) is pa.Array:
        (axis,) = axes_of(arr, axis)
        n = arr.shape[axis]
        places = pa.arange(n, dtype=None if obj.dtype == pa.bool else obj.dtype, device=obj.device)
        gone = obj if obj.dtype == pa.bool else pa.isin(places, pa.remainder(flat(obj), n))
        return arr[(slice(None),) * axis + (pa.logical_not(gone),)]
    kept = np.delete(np.arange(arr.shape[axis]), obj)
    return pa.take(arr, index_array(kept, arr), axis=axis)


@serves()
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if type(obj) is pa.Array:
        raise TypeError("insert takes obj as Python integers or a NumPy array: they give the shape")
    if axis is None:
        arr, axis = flat(arr), 0
    (axis,) = axes_of(arr, axis)
    new = beside(values, arr, "insert").astype(arr.dtype)
    new = pa.reshape(new, (1,) * (arr.ndim - new.ndim) + new.shape)
    if np.ndim(obj) == 0:
        new = pa.moveaxis(new, 0, axis)
    n = arr.shape[axis]
    count = new.shape[axis] if np.size(obj) == 1 else np.size(obj)
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    places = np.insert(np.arange(n), obj, np.arange(n, n + count))
    every = joined((arr, pa.broadcast_to(new, shape)), axis)
    return pa.take(every, index_array(places, arr), axis=axis)
