"""Indexing: taking, putting, masks, and functions along axes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import portarray as pa
from portarray._numpy_functions.common import (
    axes_of,
    beside,
    flat,
    index_array,
)
from portarray._numpy_functions.table import chapter

serves = chapter("Indexing")


@serves(order="a indices axis out mode")
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        a, axis = flat(a), 0
    if type(a) is not pa.Array:
        raise TypeError("take of a NumPy array by an array of a device; make both arrays of one")
    places = index_array(indices, a)
    (axis,) = axes_of(a, axis)
    n = a.shape[axis]
    if mode == "wrap":
        places = pa.remainder(places, n)
    elif mode == "clip":
        places = pa.clip(places, 0, n - 1)
    found = pa.take(a, flat(places), axis=axis)
    return pa.reshape(found, (*a.shape[:axis], *places.shape, *a.shape[axis + 1 :]))


@serves()
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        arr, axis = flat(arr), 0
    return pa.take_along_axis(arr, index_array(indices, arr), axis=axis)


@serves()
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    places = index_array(indices, arr)
    if axis is None:
        put(arr, places, values)
        return
    (axis,) = axes_of(arr, axis)
    shape = tuple(places.shape[i] if i == axis else arr.shape[i] for i in range(arr.ndim))
    key = []
    for i, n in enumerate(shape):
        each = pa.arange(n, dtype=places.dtype, device=arr.device)
        each = pa.reshape(each, tuple(n if j == i else 1 for j in range(arr.ndim)))
        key.append(flat(pa.broadcast_to(places if i == axis else each, shape)))
    new = beside(values, arr, "put_along_axis")
    arr[tuple(key)] = flat(pa.broadcast_to(new, shape))


@serves(order="a ind v mode")
def put(a: Any, ind: Any, v: Any) -> None:
    places = flat(index_array(ind, a))
    values = flat(beside(v, a, "put"))
    if values.shape != places.shape:
        values = pa.tile(values, (-(-places.size // values.size),))[: places.size]
    new = flat(a.copy())
    new[places] = values
    a[...] = pa.reshape(new, a.shape)


@serves()
def putmask(a: Any, mask: Any, values: Any) -> None:
    new = beside(values, a, "putmask")
    if new.shape != a.shape and new.size != 1:
        new = pa.reshape(pa.tile(flat(new), (-(-a.size // new.size),))[: a.size], a.shape)
    a[...] = pa.where(mask, new.astype(a.dtype), a)


@serves()
def place(arr: Any, mask: Any, vals: Any) -> None:
    new = flat(beside(vals, arr, "place"))
    each = pa.cumulative_sum(flat(mask.astype(pa.bool))) - 1
    places = pa.remainder(pa.maximum(each, 0), new.size)
    found = pa.reshape(pa.take(new, places, axis=0), arr.shape)
    arr[...] = pa.where(mask, found.astype(arr.dtype), arr)


@serves(order="dst src casting where")
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if type(dst) is not pa.Array:
        raise TypeError("copyto into a NumPy array reads device memory: use x.to_device('numpy')")
    new = beside(src, dst, "copyto")
    if not np.can_cast(new.dtype, dst.dtype, casting):
        raise TypeError(f"{new.dtype} is not cast to {dst.dtype} by rule {casting!r}")
    new = new.astype(dst.dtype)
    dst[...] = new if where is True else pa.where(beside(where, dst), new, dst)


@serves(order="condition a axis out")
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    if axis is None:
        a, axis = flat(a), 0
    (axis,) = axes_of(a, axis)
    if type(condition) is not pa.Array:
        condition = pa.asarray(condition, dtype=pa.bool, device=a.device)
    (places,) = pa.nonzero(condition)
    return pa.take(a, places, axis=axis)


@serves()
def extract(condition: Any, arr: Any) -> Any:
    return flat(arr)[pa.astype(flat(condition), pa.bool)]


@serves()
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError(f"{len(condlist)} conditions and {len(choicelist)} choices")
    first = condlist[0]
    found = beside(default, next((x for x in choicelist if type(x) is pa.Array), first))
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        found = pa.where(condition, choice, found)
    return found


@serves(order="x condlist funclist")
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    conditions = (
        [condlist] if type(condlist) is pa.Array and condlist.ndim == x.ndim else [*condlist]
    )
    if len(funclist) == len(conditions) + 1:
        rest = pa.logical_not(conditions[0])
        for one in conditions[1:]:
            rest = pa.logical_and(rest, pa.logical_not(one))
        conditions.append(rest)
    if len(funclist) != len(conditions):
        raise ValueError(f"{len(conditions)} conditions and {len(funclist)} functions")
    found = pa.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        found[condition] = function(x[condition], *args, **kw) if callable(function) else function
    return found


@serves()
def nonzero(a: Any) -> Any:
    return pa.nonzero(a)


@serves()
def flatnonzero(a: Any) -> Any:
    return pa.nonzero(flat(a))[0]


@serves()
def argwhere(a: Any) -> Any:
    if not a.ndim:
        return pa.reshape(pa.nonzero(flat(a))[0], (-1, 1))[:, :0]
    return pa.stack(pa.nonzero(a), axis=-1)


@serves()
def where(condition: Any, x: Any = None, y: Any = None) -> Any:
    if x is None and y is None:
        return pa.nonzero(condition)
    if type(condition) is not pa.Array:
        first = x if type(x) is pa.Array else y
        condition = beside(bool(condition) if np.isscalar(condition) else condition, first, "where")
    return pa.where(condition.astype(pa.bool, copy=False), x, y)


@serves("ix_")
def ix_(*args: Any) -> Any:
    found = []
    for place, x in enumerate(args):
        places = pa.nonzero(x)[0] if x.dtype == pa.bool else x
        shape = tuple(-1 if i == place else 1 for i in range(len(args)))
        found.append(pa.reshape(places, shape))
    return tuple(found)


@serves()
def diag_indices_from(arr: Any) -> Any:
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ValueError(f"diag_indices_from takes arrays with equal axes, not of {arr.shape}")
    return (pa.arange(arr.shape[0], device=arr.device),) * arr.ndim


@serves()
def tril_indices_from(arr: Any, k: int = 0) -> Any:
    return pa.nonzero(pa.tril(pa.ones(arr.shape, dtype=pa.int8, device=arr.device), k=k))


@serves()
def triu_indices_from(arr: Any, k: int = 0) -> Any:
    return pa.nonzero(pa.triu(pa.ones(arr.shape, dtype=pa.int8, device=arr.device), k=k))


@serves(order="a val wrap")
def fill_diagonal(a: Any, val: Any) -> None:
    if a.ndim != 2:
        raise TypeError(f"fill_diagonal takes matrices here, and this array has {a.ndim} axes")
    here = pa.eye(*a.shape, dtype=pa.bool, device=a.device)
    a[...] = pa.where(here, beside(val, a, "fill_diagonal").astype(a.dtype), a)


@serves()
def diagonal(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1) -> Any:
    moved = pa.moveaxis(a, (axis1, axis2), (-2, -1))
    return pa.linalg.diagonal(moved, offset=offset)


@serves(order="a offset axis1 axis2 dtype out")
def trace(a: Any, offset: int = 0, axis1: int = 0, axis2: int = 1, dtype: Any = None) -> Any:
    return pa.sum(diagonal(a, offset, axis1, axis2), axis=-1, dtype=dtype)


@serves(order="func1d axis arr")
def apply_along_axis(
    func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any
) -> Any:
    (axis,) = axes_of(arr, operator.index(axis))
    moved = pa.moveaxis(arr, axis, -1)
    rest = moved.shape[:-1]
    each = [func1d(row, *args, **kwargs) for row in pa.reshape(moved, (-1, moved.shape[-1]))]
    found = pa.stack([beside(one, arr) for one in each])
    made = pa.reshape(found, (*rest, *found.shape[1:]))
    inner = range(len(rest), made.ndim)
    return pa.moveaxis(made, tuple(inner), tuple(range(axis, axis + len(inner))))


@serves()
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    for axis in axes_of(a, axes):
        found = func(a, axis)
        a = found if found.ndim == a.ndim else pa.expand_dims(found, axis=axis)
    return a
