"""Sorting, searching, sets, and choosing between arrays."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from portarray_conformance.reference import arguments, elementwise, indexing, kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.elementwise import EXTREMES, ORDERED, converted
from portarray_conformance.reference.kinds import BOOL, NAMED, Data
from portarray_conformance.reference.reductions import wide
from portarray_conformance.reference.registry import function

if TYPE_CHECKING:
    from portarray_conformance.reference.rules import Rules


def _order(rules: Rules, name: str, x: Array, axis: Any, descending: Any) -> tuple[Data, Data]:
    """Return data, and the stable order of it along an axis that was moved to the end."""
    place = arguments.axis(axis, x.ndim)
    work = converted(rules, name, ORDERED if name == "argsort" else EXTREMES, x.dtype)
    data = np.moveaxis(wide(x._data.astype(work)), place, -1)
    if not descending:
        return data, np.argsort(data, axis=-1, kind="stable")
    # The order of what is reversed, so that equal elements keep theirs; NaN comes first.
    last = data.shape[-1] - 1
    return data, np.flip(last - np.argsort(np.flip(data, -1), axis=-1, kind="stable"), -1)


@function("all")
def argsort(
    rules: Rules, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    rules.is_array(x, "argsort")
    data, order = _order(rules, "argsort", x, axis, descending)
    place = arguments.axis(axis, x.ndim)
    unsure = None
    if not stable and data.size:
        ordered = np.take_along_axis(data, order, -1)
        tied = ordered[..., 1:] == ordered[..., :-1]
        if data.dtype.kind == "f":
            tied |= np.isnan(ordered[..., 1:]) & np.isnan(ordered[..., :-1])
        ends = [(0, 0)] * (tied.ndim - 1)
        unsure = np.pad(tied, [*ends, (1, 0)]) | np.pad(tied, [*ends, (0, 1)])
        unsure = np.moveaxis(unsure, -1, place)
    return rules.array(np.moveaxis(order, -1, place).astype(rules.index), unsure)


@function("all")
def sort(
    rules: Rules, x: Any, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Array:
    rules.is_array(x, "sort")
    data, order = _order(rules, "sort", x, axis, descending)
    out = np.moveaxis(np.take_along_axis(data, order, -1), -1, arguments.axis(axis, x.ndim))
    # Zeros are equal; which comes first is left open.
    if rules.noise is not None and data.dtype.kind == "f":
        out = rules.noise.signs(out, out == 0)
    return rules.array(kinds.rounded(out, x.dtype))


@function("own")
def nonzero(rules: Rules, x: Any, /) -> tuple[Array, ...]:
    rules.is_array(x, "nonzero")
    if x.ndim == 0:
        raise ValueError("nonzero got a 0-d array, which has no axis to index")
    rules.sure(x)
    return tuple(rules.array(d.astype(rules.index)) for d in np.nonzero(x._data != 0))


@function("all")
def searchsorted(
    rules: Rules, x1: Any, x2: Any, /, *, side: str = "left", sorter: Any = None
) -> Array:
    arguments.choice(side, "side", ("left", "right"))
    rules.is_array(x1, "searchsorted")
    if x1.ndim != 1:
        raise ValueError(f"searchsorted got x1 of shape {x1.shape}; it must have one axis")
    first, second = rules.aligned("searchsorted", x1, x2)
    work = converted(rules, "searchsorted", ORDERED, first.dtype)
    data = wide(first._data.astype(work))
    if sorter is not None:
        rules.is_array(sorter, "searchsorted")
        arguments.indices(sorter, "sorter")
        if sorter.shape != x1.shape:
            raise ValueError(f"sorter has shape {sorter.shape}; it must have that of x1")
        rules.sure(sorter)
        data = data[indexing.bounded(sorter._data, 0, x1.size)]
    out: Any = np.searchsorted(data, wide(second._data.astype(work)), side=side)  # type: ignore[call-overload]
    again = np.sort(data, kind="stable")
    unsure = None
    if not np.array_equal(again, data, equal_nan=data.dtype.kind == "f"):
        unsure = np.asarray(True)  # not sorted
    return rules.array(np.asarray(out).astype(rules.index), unsure)


@function("own")
def where(rules: Rules, condition: Any, x1: Any = None, x2: Any = None, /) -> Any:
    if x1 is None and x2 is None:
        return rules.call("nonzero", condition)
    if x1 is None or x2 is None:
        raise TypeError("where takes a condition alone, or with both x1 and x2")
    rules.is_array(condition, "where")
    if condition.dtype != BOOL:
        raise TypeError(f"where got a condition of dtype {condition.dtype}; it must be boolean")
    if type(x1) is not Array and type(x2) is not Array:
        x1 = rules.given(x1, "where")
    first, second = rules.aligned("where", x1, x2)
    chosen = condition._data
    unsure: Any = None
    if rules.marked:
        marks = [np.False_ if x.unsure is None else x.unsure for x in (condition, first, second)]
        unsure = marks[0] | np.where(chosen, marks[1], marks[2])
    return rules.array(np.where(chosen, first._data, second._data), unsure)


@function("own")
def clip(
    rules: Rules,
    x: Any,
    /,
    min: Any = None,
    max: Any = None,
) -> Array:
    rules.is_array(x, "clip")
    for bound in (min, max):
        if bound is not None:
            _ = isinstance(bound, int) or rules.given(bound, "clip")
    try:
        return _clipped(rules, x, min, max)
    except (TypeError, OverflowError) as error:
        if not kinds.broadcast(*[y.shape for y in (x, min, max) if type(y) is Array]):
            raise kinds.also(error, ValueError) from None
        raise


def _clipped(rules: Rules, x: Array, low: Any, high: Any) -> Array:
    work = converted(rules, "clip", EXTREMES, x.dtype)
    kind = kinds.letter(x.dtype)
    unsure = x.unsure
    data = wide(x._data.astype(work))
    if kinds.letter(work) in "iu":
        data = data.astype(object)
    for bound, ufunc in ((low, np.maximum), (high, np.minimum)):
        if bound is None:
            continue
        if isinstance(bound, np.integer):
            bound = int(bound)
        given = rules.given(bound, "clip") if not isinstance(bound, int) else None
        order = kinds.ORDER["b" if isinstance(bound, bool) else "i"]
        if given is not None:
            order = kinds.ORDER[kinds.letter(given.dtype)]
        if order > kinds.ORDER[kind]:
            raise TypeError(f"clip got a bound of a higher kind than {x.dtype}; convert it first")
        if given is not None and isinstance(bound, float) and kind == "f":
            given = rules.array(kinds.number(float(bound), x.dtype))  # as wide as x
        if given is None:
            limit: Any = bound if kind in "biu" else kinds.held(bound, x.dtype)
            if kind in "iu":
                least, most = kinds.limits(x.dtype)
                if (bound > most) if ufunc is np.maximum else (bound < least):
                    raise OverflowError(f"clip's bound {bound} is out of range of {x.dtype}")
        else:
            if given.unsure is not None:
                unsure = given.unsure if unsure is None else unsure | given.unsure
            limit = given._data
            exact = kind in "biu"
            limit = limit.astype(object) if exact else wide(kinds.rounded(limit, x.dtype))
        equal = data == limit
        data = np.asarray(ufunc(data, limit), dtype=data.dtype)
        if rules.noise is not None and kind == "f":
            data = rules.noise.signs(data, equal)
    if data.dtype == object:
        data = np.clip(data, *kinds.limits(work))
        data = np.asarray(data, dtype=object).astype(work)
    return rules.array(kinds.rounded(data, x.dtype).astype(x.dtype), unsure)


@function("all")
def isin(rules: Rules, x1: Any, x2: Any, /, *, invert: bool = False) -> Array:
    first, second = rules.aligned("isin", x1, x2)
    found = np.any(wide(first._data)[..., None] == wide(second._data).reshape(-1), axis=-1)
    return rules.array(~found if invert else found)


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


def _unique(rules: Rules, x: Any, name: str) -> UniqueAllResult:
    rules.is_array(x, name)
    rules.sure(x)
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
    if rules.noise is not None and kinds.letter(x.dtype) in "fc":
        every = np.ones(values.shape, BOOL)
        values = kinds.rounded(rules.noise.signs(wide(values), every), x.dtype)
    if kinds.letter(x.dtype) == "f":
        # Which NaN is which is left open.
        which = np.isnan(values)
    elif x.dtype.kind == "c":
        # The order of complex numbers is left open where a part is NaN.
        marks = np.isnan(values)
        marks = np.asarray(True) if marks.any() else None
    counts = np.diff(np.append(places, data.size))
    index = rules.index
    return UniqueAllResult(
        rules.array(values, marks),
        rules.array(order[places].astype(index), marks if which is None else which),
        rules.array(
            inverse.reshape(x.shape).astype(index), marks if which is None else np.isnan(x._data)
        ),
        rules.array(counts.astype(index), marks),
    )


@function("own")
def unique_all(rules: Rules, x: Any, /) -> UniqueAllResult:
    return _unique(rules, x, "unique_all")


@function("own")
def unique_counts(rules: Rules, x: Any, /) -> UniqueCountsResult:
    found = _unique(rules, x, "unique_counts")
    return UniqueCountsResult(found.values, found.counts)


@function("own")
def unique_inverse(rules: Rules, x: Any, /) -> UniqueInverseResult:
    found = _unique(rules, x, "unique_inverse")
    return UniqueInverseResult(found.values, found.inverse_indices)


@function("own")
def unique_values(rules: Rules, x: Any, /) -> Array:
    return _unique(rules, x, "unique_values").values


@function("own")
def astype(rules: Rules, x: Any, dtype: Any, /, *, copy: bool = True, device: Any = None) -> Array:
    rules.is_array(x, "astype")
    rules.place(device)
    wanted = rules.dtype(dtype)
    if wanted == x.dtype:
        return rules.array(x._data.copy(), x.unsure) if copy else x
    if x.dtype.kind == "c" and kinds.letter(wanted) not in "bc":
        raise TypeError(f"converting {x.dtype} to {wanted} loses the imaginary part")
    unsure = elementwise.open_cast(x._data, wanted)
    if x.unsure is not None:
        unsure = x.unsure if unsure is None else unsure | x.unsure
    data = x._data != 0 if wanted == BOOL else kinds.rounded(x._data, wanted)
    return rules.array(data, unsure)
