"""Array manipulation: shapes, order of axes, joining, splitting, padding."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray._array import slow_path
from portarray._namespace import pa
from portarray._numpy_functions.common import (
    as_array,
    as_arrays,
    axes_of,
    cast,
    first_array,
    flat,
    index_array,
    joined,
)
from portarray._numpy_functions.table import category, refusal

serves = category("Array manipulation")


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
        raise TypeError(
            f"reshape: order={order!r} is not 'C' or 'F'; the library chooses the memory layout"
        )
    lengths = (shape,) if isinstance(shape, int) else tuple(shape)
    return _reversed(pa.reshape(_reversed(a), lengths[::-1], copy=copy))


def _reversed(a: Any) -> Any:
    return pa.permute_dims(a, tuple(reversed(range(a.ndim))))


@serves()
def transpose(a: Any, axes: Any = None) -> Any:
    return _reversed(a) if axes is None else pa.permute_dims(a, axes_of(a, tuple(axes)))


@serves()
def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    order = list(range(a.ndim))
    first, second = axes_of(a, (axis1, axis2))
    order[first], order[second] = second, first
    return pa.permute_dims(a, tuple(order))


@serves()
def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    (axis,) = axes_of(a, axis)
    start = start + a.ndim if start < 0 else start
    return pa.moveaxis(a, axis, start - (start > axis))


@serves(order="array shape subok")
def broadcast_to(array: Any, shape: Any) -> Any:
    return pa.broadcast_to(array, (shape,) if isinstance(shape, int) else tuple(shape))


@serves(order="")
def broadcast_arrays(*args: Any) -> Any:
    objects = [i for i, x in enumerate(args) if x is None or isinstance(x, str)]
    arrays = as_arrays(
        *(x for i, x in enumerate(args) if i not in objects), name="broadcast_arrays"
    )
    broadcast = list(pa.broadcast_arrays(*arrays))
    for i in objects:  # None and text stay on the host, as Matplotlib needs them
        broadcast.insert(i, np.broadcast_to(np.asarray(args[i]), broadcast[0].shape))
    return tuple(broadcast)


def _at_least(arrays: tuple[Any, ...], widen: Any) -> Any:
    widened = tuple(map(widen, as_arrays(*arrays)))
    return widened[0] if len(widened) == 1 else widened


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
    """Return views of arrays in host memory without reading values."""
    views = []
    unreadable = 0
    for x in arrays:
        if type(x) is pa.Array:
            try:
                views.append(slow_path.host_view(x, copy=False))
            except (BufferError, TypeError, ValueError):  # memory that NumPy cannot address
                views.append(np.empty(0))
                unreadable += 1
        else:
            views.append(x)
    if unreadable > 1:  # both may be in the same device memory
        raise refusal(name)
    return views


# --- joining -----------------------------------------------------------------------------------


@serves(order="arrays axis out")
def concatenate(arrays: Any, axis: Any = 0, dtype: Any = None) -> Any:
    return joined([cast(x, dtype) for x in arrays], axis)


@serves(order="arrays axis out")
def stack(arrays: Any, axis: int = 0, dtype: Any = None) -> Any:
    return pa.stack([cast(x, dtype) for x in arrays], axis=axis)


@serves()
def hstack(tup: Any, dtype: Any = None) -> Any:
    arrays = [atleast_1d(x) for x in as_arrays(*tup, name="hstack")]
    return concatenate(arrays, 0 if arrays[0].ndim == 1 else 1, dtype)


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
            return joined([build(child, level + 1) for child in part], ndim - deep + level)
        x = as_array(part, first)
        return pa.reshape(x, (1,) * (ndim - x.ndim) + x.shape)

    return build(arrays, 0)


@serves()
def append(arr: Any, values: Any, axis: Any = None) -> Any:
    first = arr if type(arr) is pa.Array else values
    return joined((as_array(arr, first), as_array(values, first)), axis)


@serves()
def repeat(a: Any, repeats: Any, axis: Any = None) -> Any:
    counts: Any = repeats if isinstance(repeats, (int, np.integer)) else index_array(repeats, a)
    return pa.repeat(a, counts, axis=axis)


@serves()
def resize(a: Any, new_shape: Any) -> Any:
    lengths = (new_shape,) if isinstance(new_shape, int) else tuple(new_shape)
    count = math.prod(lengths)
    if not a.size:
        return pa.zeros(lengths, dtype=a.dtype, device=a.device)
    return pa.reshape(pa.tile(flat(a), (-(-count // a.size),))[:count], lengths)


@serves()
def delete(arr: Any, obj: Any, axis: Any = None) -> Any:
    if axis is None:
        arr, axis = flat(arr), 0
    if type(obj) is pa.Array:
        (axis,) = axes_of(arr, axis)
        n = arr.shape[axis]
        positions = pa.arange(
            n, dtype=None if obj.dtype == pa.bool else obj.dtype, device=obj.device
        )
        gone = obj if obj.dtype == pa.bool else pa.isin(positions, pa.remainder(flat(obj), n))
        return arr[(slice(None),) * axis + (pa.logical_not(gone),)]
    index = np.delete(np.arange(arr.shape[axis]), obj)
    return pa.take(arr, index_array(index, arr), axis=axis)


@serves()
def insert(arr: Any, obj: Any, values: Any, axis: Any = None) -> Any:
    if type(obj) is pa.Array:
        raise TypeError("insert: obj is a portarray array\nHint: pass integers or a NumPy array")
    if axis is None:
        arr, axis = flat(arr), 0
    (axis,) = axes_of(arr, axis)
    new = as_array(values, arr, "insert").astype(arr.dtype)
    new = pa.reshape(new, (1,) * (arr.ndim - new.ndim) + new.shape)
    if np.ndim(obj) == 0:
        new = pa.moveaxis(new, 0, axis)
    n = arr.shape[axis]
    count = new.shape[axis] if np.size(obj) == 1 else np.size(obj)
    shape = (*arr.shape[:axis], count, *arr.shape[axis + 1 :])
    index = np.insert(np.arange(n), obj, np.arange(n, n + count))
    every = joined((arr, pa.broadcast_to(new, shape)), axis)
    return pa.take(every, index_array(index, arr), axis=axis)


# Functions of one expression.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "dstack": lambda tup: joined([atleast_3d(x) for x in tup], 2),
    "expand_dims": lambda a, axis: pa.expand_dims(a, axis=axis),
    "linalg.matrix_transpose": lambda x: pa.matrix_transpose(x),
    "matrix_transpose": lambda x: pa.matrix_transpose(x),
    "moveaxis": lambda a, source, destination: pa.moveaxis(a, source, destination),
    "ravel": lambda a, order="C": reshape(a, (-1,), "C" if order in ("K", "A") else order),
    "squeeze": lambda a, axis=None: a.squeeze(axis),
    "tile": lambda A, reps: pa.tile(A, (reps,) if isinstance(reps, int) else tuple(reps)),  # noqa: N803
    "vstack": lambda tup, dtype=None: concatenate([atleast_2d(x) for x in tup], 0, dtype),
}
for _name, _function in _FUNCTIONS.items():
    serves(_name)(_function)
