"""Indexing: taking, putting, masks, and functions along axes."""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from portarray._namespace import pa
from portarray._numpy_functions.common import (
    as_array,
    as_arrays,
    axes_of,
    first_array,
    flat,
    index_array,
)
from portarray._numpy_functions.table import category

serves = category("Indexing")


@serves(order="a indices axis out mode")
def take(a: Any, indices: Any, axis: Any = None, mode: str = "raise") -> Any:
    if axis is None:
        a, axis = flat(a), 0
    if type(a) is not pa.Array:
        raise TypeError(
            "take: the array is not a portarray array, but the indices are\nHint: use pa.asarray(a)"
        )
    index = index_array(indices, a)
    (axis,) = axes_of(a, axis)
    n = a.shape[axis]
    if mode == "wrap":
        index = pa.remainder(index, n)
    elif mode == "clip":
        index = pa.clip(index, 0, n - 1)
    taken = pa.take(a, flat(index), axis=axis)
    return pa.reshape(taken, (*a.shape[:axis], *index.shape, *a.shape[axis + 1 :]))


@serves()
def take_along_axis(arr: Any, indices: Any, axis: Any = -1) -> Any:
    if axis is None:
        arr, axis = flat(arr), 0
    return pa.take_along_axis(arr, index_array(indices, arr), axis=axis)


@serves()
def put_along_axis(arr: Any, indices: Any, values: Any, axis: Any) -> None:
    index = index_array(indices, arr)
    if axis is None:
        put(arr, index, values)
        return
    (axis,) = axes_of(arr, axis)
    shape = tuple(index.shape[i] if i == axis else arr.shape[i] for i in range(arr.ndim))
    key = []
    for i, n in enumerate(shape):
        axis_indices = pa.arange(n, dtype=index.dtype, device=arr.device)
        axis_indices = pa.reshape(axis_indices, tuple(n if j == i else 1 for j in range(arr.ndim)))
        key.append(flat(pa.broadcast_to(index if i == axis else axis_indices, shape)))
    new = as_array(values, arr, "put_along_axis")
    arr[tuple(key)] = flat(pa.broadcast_to(new, shape))


@serves(order="a ind v mode")
def put(a: Any, ind: Any, v: Any) -> None:
    index = flat(index_array(ind, a))
    values = flat(as_array(v, a, "put"))
    if values.shape != index.shape:
        values = pa.tile(values, (-(-index.size // values.size),))[: index.size]
    new = flat(a.copy())
    new[index] = values
    a[...] = pa.reshape(new, a.shape)


@serves()
def putmask(a: Any, mask: Any, values: Any) -> None:
    new = as_array(values, a, "putmask")
    if new.shape != a.shape and new.size != 1:
        new = pa.reshape(pa.tile(flat(new), (-(-a.size // new.size),))[: a.size], a.shape)
    a[...] = pa.where(mask, new.astype(a.dtype), a)


@serves()
def place(arr: Any, mask: Any, vals: Any) -> None:
    new = flat(as_array(vals, arr, "place"))
    counts = pa.cumulative_sum(flat(mask.astype(pa.bool))) - 1
    index = pa.remainder(pa.maximum(counts, 0), new.size)
    placed = pa.reshape(pa.take(new, index, axis=0), arr.shape)
    arr[...] = pa.where(mask, placed.astype(arr.dtype), arr)


@serves(order="dst src casting where")
def copyto(dst: Any, src: Any, casting: Any = "same_kind", where: Any = True) -> None:
    if type(dst) is not pa.Array:
        np.copyto(dst, np.asarray(src), casting, where=np.asarray(where))
        return
    new = as_array(src, dst, "copyto")
    if not np.can_cast(new.dtype, dst.dtype, casting):
        raise TypeError(f"copyto: cannot cast {new.dtype} to {dst.dtype} with casting={casting!r}")
    new = new.astype(dst.dtype)
    dst[...] = new if where is True else pa.where(as_array(where, dst), new, dst)


@serves(order="condition a axis out")
def compress(condition: Any, a: Any, axis: Any = None) -> Any:
    if axis is None:
        a, axis = flat(a), 0
    (axis,) = axes_of(a, axis)
    if type(condition) is not pa.Array:
        condition = pa.asarray(condition, dtype=pa.bool, device=a.device)
    (index,) = pa.nonzero(condition)
    return pa.take(a, index, axis=axis)


@serves()
def select(condlist: Any, choicelist: Any, default: Any = 0) -> Any:
    if len(condlist) != len(choicelist):
        raise ValueError(f"select: {len(condlist)} conditions but {len(choicelist)} choices")
    first = condlist[0]
    selected = as_array(default, next((x for x in choicelist if type(x) is pa.Array), first))
    for condition, choice in zip(reversed(condlist), reversed(choicelist), strict=True):
        selected = pa.where(condition, choice, selected)
    return selected


@serves(order="x condlist funclist")
def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    x = as_array(x, first_array((x, condlist, *condlist), "piecewise"), "piecewise")
    conditions = (
        [condlist] if type(condlist) is pa.Array and condlist.ndim == x.ndim else [*condlist]
    )
    if len(funclist) == len(conditions) + 1:
        remaining = pa.logical_not(conditions[0])
        for mask in conditions[1:]:
            remaining = pa.logical_and(remaining, pa.logical_not(mask))
        conditions.append(remaining)
    if len(funclist) != len(conditions):
        raise ValueError(f"piecewise: {len(conditions)} conditions but {len(funclist)} functions")
    result = pa.zeros_like(x)
    for condition, function in zip(conditions, funclist, strict=True):
        result[condition] = function(x[condition], *args, **kw) if callable(function) else function
    return result


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
        condition = as_array(
            bool(condition) if np.isscalar(condition) else condition, first, "where"
        )
    return pa.where(condition.astype(pa.bool, copy=False), x, y)


@serves("ix_")
def ix_(*args: Any) -> Any:
    open_mesh = []
    for position, x in enumerate(as_arrays(*args, name="ix_")):
        index = pa.nonzero(x)[0] if x.dtype == pa.bool else x
        shape = tuple(-1 if i == position else 1 for i in range(len(args)))
        open_mesh.append(pa.reshape(index, shape))
    return tuple(open_mesh)


@serves()
def diag_indices_from(arr: Any) -> Any:
    if arr.ndim < 2 or len(set(arr.shape)) != 1:
        raise ValueError(f"diag_indices_from: shape {arr.shape} does not have equal lengths")
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
        raise TypeError(f"fill_diagonal: the array has {a.ndim} axes, and only 2 are supported")
    here = pa.eye(*a.shape, dtype=pa.bool, device=a.device)
    a[...] = pa.where(here, as_array(val, a, "fill_diagonal").astype(a.dtype), a)


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
    outer = moved.shape[:-1]
    outputs = [func1d(row, *args, **kwargs) for row in pa.reshape(moved, (-1, moved.shape[-1]))]
    stacked = pa.stack([as_array(output, arr) for output in outputs])
    result = pa.reshape(stacked, (*outer, *stacked.shape[1:]))
    inner = range(len(outer), result.ndim)
    return pa.moveaxis(result, tuple(inner), tuple(range(axis, axis + len(inner))))


@serves()
def apply_over_axes(func: Callable[..., Any], a: Any, axes: Any) -> Any:
    for axis in axes_of(a, axes):
        output = func(a, axis)
        a = output if output.ndim == a.ndim else pa.expand_dims(output, axis=axis)
    return a


# Functions of one expression.
serves("extract")(lambda condition, arr: flat(arr)[pa.astype(flat(condition), pa.bool)])
serves("nonzero")(lambda a: pa.nonzero(a))
serves("flatnonzero")(lambda a: pa.nonzero(flat(a))[0])
