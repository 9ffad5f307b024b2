"""Sorting, searching, sets, and choosing between arrays."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portarray_conformance.reference import arguments, elementwise, indexing, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.context import Context
from portarray_conformance.reference.elementwise import EXTREMES, ORDERED, computation_dtype
from portarray_conformance.reference.kinds import BOOL, NAMED, Data
from portarray_conformance.reference.reductions import wide
from portarray_conformance.reference.registry import function


def _order(ctx: Context, name: str, x: Array, axis: Any, descending: Any) -> tuple[Data, Data]:
    """Return data, and the stable order of it along an axis that was moved to the end."""
    position = arguments.axis(axis, x.ndim)
    work = computation_dtype(ctx, name, ORDERED if name == "argsort" else EXTREMES, x.dtype)
    data = np.moveaxis(wide(x._data.astype(work)), position, -1)
    if not descending:
        return data, np.argsort(data, axis=-1, kind="stable")
    # The order of the reversed data, so that equal elements keep their order; NaN comes first.
    last = data.shape[-1] - 1
    return data, np.flip(last - np.argsort(np.flip(data, -1), axis=-1, kind="stable"), -1)


@function("all")
def argsort(
    ctx: Context, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    ctx.require_array(x, "argsort")
    data, order = _order(ctx, "argsort", x, axis, descending)
    position = arguments.axis(axis, x.ndim)
    undefined = None
    if not stable and data.size:
        ordered = np.take_along_axis(data, order, -1)
        tied = ordered[..., 1:] == ordered[..., :-1]
        if data.dtype.kind == "f":
            tied |= np.isnan(ordered[..., 1:]) & np.isnan(ordered[..., :-1])
        ends = [(0, 0)] * (tied.ndim - 1)
        undefined = np.pad(tied, [*ends, (1, 0)]) | np.pad(tied, [*ends, (0, 1)])
        undefined = np.moveaxis(undefined, -1, position)
    return ctx.array(np.moveaxis(order, -1, position).astype(ctx.index), undefined)


@function("all")
def sort(
    ctx: Context, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    ctx.require_array(x, "sort")
    data, order = _order(ctx, "sort", x, axis, descending)
    out = np.moveaxis(np.take_along_axis(data, order, -1), -1, arguments.axis(axis, x.ndim))
    # Zeros are equal; which comes first is left open.
    if ctx.noise is not None and data.dtype.kind == "f":
        out = ctx.noise.draw_zero_signs(out, out == 0)
    return ctx.array(kinds.rounded(out, x.dtype))


@function("custom")
def nonzero(ctx: Context, x: Any, /) -> tuple[Array, ...]:
    ctx.require_array(x, "nonzero")
    if x.ndim == 0:
        raise ValueError("nonzero got a 0-d array, which has no axis to index")
    x._require_defined()
    return tuple(ctx.array(d.astype(ctx.index)) for d in np.nonzero(x._data != 0))


@function("all")
def searchsorted(
    ctx: Context, x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None
) -> Array:
    arguments.choice(side, "side", ("left", "right"))
    ctx.require_array(x1, "searchsorted")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted got x1 of shape {x1.shape}; it must have one axis")
    first, second = ctx.aligned("searchsorted", x1, x2)
    work = computation_dtype(ctx, "searchsorted", ORDERED, first.dtype)
    data = wide(first._data.astype(work))
    if sorter is not None:
        ctx.require_array(sorter, "searchsorted")
        arguments.indices(sorter, "sorter")
        if sorter.shape != x1.shape:
            raise ValueError(f"sorter has shape {sorter.shape}; it must have that of x1")
        sorter._require_defined()
        data = data[indexing.bounded(sorter._data, 0, x1.size)]
    out: Any = np.searchsorted(data, wide(second._data.astype(work)), side=side)  # type: ignore[call-overload]
    again = np.sort(data, kind="stable")
    undefined = None
    if not np.array_equal(again, data, equal_nan=data.dtype.kind == "f"):
        undefined = np.asarray(True)  # not sorted
    return ctx.array(np.asarray(out).astype(ctx.index), undefined)


@function("custom")
def where(ctx: Context, condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    if x1 is None and x2 is None:
        return ctx.call("nonzero", condition)
    if x1 is None or x2 is None:
        raise TypeError("where takes a condition alone, or with both x1 and x2")
    ctx.require_array(condition, "where")
    if condition.dtype != BOOL:
        raise TypeError(f"where got a condition of dtype {condition.dtype}; it must be boolean")
    if type(x1) is not Array and type(x2) is not Array:
        x1 = ctx.as_array(x1, "where")
    first, second = ctx.aligned("where", x1, x2)
    chosen = condition._data
    undefined: Any = None
    if ctx.marked:
        marks = [
            np.False_ if x.undefined is None else x.undefined for x in (condition, first, second)
        ]
        undefined = marks[0] | np.where(chosen, marks[1], marks[2])
    return ctx.array(np.where(chosen, first._data, second._data), undefined)


@function("custom")
def clip(ctx: Context, x: Any, /, min: Any = None, max: Any = None) -> Array:
    ctx.require_array(x, "clip")
    for bound in (min, max):
        if bound is not None:
            _ = isinstance(bound, int) or ctx.as_array(bound, "clip")
    try:
        return _clipped(ctx, x, min, max)
    except (TypeError, OverflowError) as error:
        if not kinds.broadcast(*[y.shape for y in (x, min, max) if type(y) is Array]):
            raise kinds.with_alternatives(error, ValueError) from None
        raise


def _clipped(ctx: Context, x: Array, low: Any, high: Any) -> Array:
    work = computation_dtype(ctx, "clip", EXTREMES, x.dtype)
    kind = kinds.letter(x.dtype)
    undefined = x.undefined
    data = wide(x._data.astype(work))
    if kinds.letter(work) in "iu":
        data = data.astype(object)
    for bound, ufunc in ((low, np.maximum), (high, np.minimum)):
        if bound is None:
            continue
        if isinstance(bound, np.integer):
            bound = int(bound)
        operand = ctx.as_array(bound, "clip") if not isinstance(bound, int) else None
        order = kinds.ORDER["b" if isinstance(bound, bool) else "i"]
        if operand is not None:
            order = kinds.ORDER[kinds.letter(operand.dtype)]
        if order > kinds.ORDER[kind]:
            raise TypeError(f"clip got a bound of a higher kind than {x.dtype}; convert it first")
        if operand is not None and isinstance(bound, float) and kind == "f":
            operand = ctx.array(kinds.rounded_number(float(bound), x.dtype))  # as wide as x
        if operand is None:
            limit: Any = bound if kind in "biu" else kinds.python_number(bound, x.dtype)
            if kind in "iu":
                least, most = kinds.limits(x.dtype)
                if (bound > most) if ufunc is np.maximum else (bound < least):
                    raise OverflowError(f"clip's bound {bound} is out of range of {x.dtype}")
        else:
            if operand.undefined is not None:
                undefined = (
                    operand.undefined if undefined is None else undefined | operand.undefined
                )
            limit = operand._data
            exact = kind in "biu"
            limit = limit.astype(object) if exact else wide(kinds.rounded(limit, x.dtype))
        equal = data == limit
        data = np.asarray(ufunc(data, limit), dtype=data.dtype)
        if ctx.noise is not None and kind == "f":
            data = ctx.noise.draw_zero_signs(data, equal)
    if data.dtype == object:
        data = np.clip(data, *kinds.limits(work))
        data = np.asarray(data, dtype=object).astype(work)
    return ctx.array(kinds.rounded(data, x.dtype).astype(x.dtype), undefined)


@function("all")
def isin(ctx: Context, x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    first, second = ctx.aligned("isin", x1, x2)
    members = np.any(wide(first._data)[..., None] == wide(second._data).reshape(-1), axis=-1)
    return ctx.array(~members if invert else members)


class UniqueAllResult(NamedTuple):
    values: Array
    indices: Array
    inverse_indices: Array
    counts: Array


class UniqueCountsResult(NamedTuple):
    values: Array
    counts: Array


class UniqueInverseResult(NamedTuple):
    values: Array
    inverse_indices: Array


def _unique(ctx: Context, x: Any, name: str) -> UniqueAllResult:
    ctx.require_array(x, name)
    x._require_defined()
    flat = x._data.reshape(-1)
    data = wide(flat.astype(NAMED["uint8"]) if x.dtype == BOOL else flat)
    if data.dtype.kind == "c":
        order = np.lexsort((data.imag + 0.0, data.real + 0.0))
    else:
        order = np.argsort(data, kind="stable")
    ordered = data[order]
    starts = np.ones(data.shape, BOOL)
    starts[1:] = ordered[1:] != ordered[:-1]
    inverse = np.empty(data.shape, np.int64)
    inverse[order] = np.cumsum(starts) - 1
    places = np.flatnonzero(starts)
    values = flat[order[places]]
    marks = which = None
    if ctx.noise is not None and kinds.letter(x.dtype) in "fc":
        every = np.ones(values.shape, BOOL)
        values = kinds.rounded(ctx.noise.draw_zero_signs(wide(values), every), x.dtype)
    if kinds.letter(x.dtype) == "f":
        # Which NaN is which is left open.
        which = np.isnan(values)
    elif x.dtype.kind == "c":
        # The order of complex numbers is left open where a part is NaN.
        marks = np.isnan(values)
        marks = np.asarray(True) if marks.any() else None
    counts = np.diff(np.append(places, data.size))
    index = ctx.index
    return UniqueAllResult(
        ctx.array(values, marks),
        ctx.array(order[places].astype(index), marks if which is None else which),
        ctx.array(
            inverse.reshape(x.shape).astype(index), marks if which is None else np.isnan(x._data)
        ),
        ctx.array(counts.astype(index), marks),
    )


@function("custom")
def unique_all(ctx: Context, x: Any, /) -> UniqueAllResult:
    return _unique(ctx, x, "unique_all")


@function("custom")
def unique_counts(ctx: Context, x: Any, /) -> UniqueCountsResult:
    result = _unique(ctx, x, "unique_counts")
    return UniqueCountsResult(result.values, result.counts)


@function("custom")
def unique_inverse(ctx: Context, x: Any, /) -> UniqueInverseResult:
    result = _unique(ctx, x, "unique_inverse")
    return UniqueInverseResult(result.values, result.inverse_indices)


@function("custom")
def unique_values(ctx: Context, x: Any, /) -> Array:
    return _unique(ctx, x, "unique_values").values


@function("custom")
def astype(ctx: Context, x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    ctx.require_array(x, "astype")
    ctx.check_device(device)
    target = ctx.dtype(dtype)
    if target == x.dtype:
        return ctx.array(x._data.copy(), x.undefined) if copy else x
    if x.dtype.kind == "c" and kinds.letter(target) not in "bc":
        raise TypeError(f"converting {x.dtype} to {target} loses the imaginary part")
    undefined = elementwise.open_cast(x._data, target)
    if x.undefined is not None:
        undefined = x.undefined if undefined is None else undefined | x.undefined
    data = x._data != 0 if target == BOOL else kinds.rounded(x._data, target)
    return ctx.array(data, undefined)
