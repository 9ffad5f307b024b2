"""Sums, products, extremes, moments and running results."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.bounds import NORMWISE
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.promotion import (
    COMPLEXES,
    FLOATING,
    FLOATS,
    INTEGERS,
    NUMERIC,
    REAL,
    promote,
)
from portarray_conformance.slices import accumulator, along, reduced_axes, scan
from portarray_conformance.target import NumpyArray, Target
from portarray_conformance.ulp import wide

_SUMMED = draw.Domain(-100, 100, special=True)
_MULTIPLIED = draw.Domain(-4, 4, special=True)


def _summed(target: Target) -> tuple[str, ...]:
    """Return the dtypes of which the target also has the dtype of sums."""
    available = target.dtypes()
    return tuple(name for name in NUMERIC if accumulator(target, name) in available)


def _domain(function: str, name: str, result: str) -> draw.Domain:
    if name in COMPLEXES or result in COMPLEXES:
        return draw.Domain(-4, 4)
    if name in INTEGERS and function.endswith("sum"):
        return draw.Domain(-(2**57), 2**57)  # beyond float64's whole numbers; two dozen still fit
    return _MULTIPLIED if function.endswith("prod") else _SUMMED


def _draw(target: Target, data: Draw, names: Sequence[str]) -> tuple[str, tuple[int, ...]]:
    name = draw.dtype(target, data, names)
    shape = draw.shape(data, draw.AXIS_SHAPES)
    return name, shape


def _numbers(data: Draw, name: str, shape: tuple[int, ...], domain: draw.Domain) -> NumpyArray:
    """Draw an array, sometimes with special values, because one NaN hides all other values."""
    special = domain.special and draw.pick(data, (False, False, True), "special values")
    return draw.array(data, name, shape, replace(domain, special=special))


def _count(shape: tuple[int, ...], axis: Any) -> int:
    return int(np.prod([shape[a] for a in reduced_axes(axis, len(shape))]))


def _keyword_dtype(target: Target, data: Draw, name: str) -> str | None:
    """Draw a ``dtype`` keyword that the input's dtype promotes to, or none."""
    wider = tuple(n for n in NUMERIC if promote(name, n) == n and n in target.dtypes())
    chosen = draw.pick(data, (None, None, *wider), "dtype=")
    return None if chosen is None else str(chosen)


def _compare(
    target: Target,
    out: Any,
    want: NumpyArray,
    size: NumpyArray,
    call: Call,
    name: str,
    bound: float,
) -> None:
    if name in FLOATING:
        compare.within(target, out, want, call, dtype=name, size=size, bound=bound)
        return
    limits = np.iinfo(name)
    exact = want.astype(object)
    if not np.all((exact >= int(limits.min)) & (exact <= int(limits.max))):
        compare.fetch(target, out, name, want.shape, call)  # overflow: any values
        return
    compare.same(target, out, want.astype(name), call)


def _sum_or_product(function: str, target: Target, data: Draw) -> None:
    name, shape = _draw(target, data, _summed(target))
    requested = _keyword_dtype(target, data, name)
    result = requested or accumulator(target, name)
    x = _numbers(data, name, shape, _domain(function, name, result))
    axis, keepdims = draw.axes(data, x.ndim), draw.flag(data, "keepdims")
    keywords: dict[str, Any] = {"axis": axis, "keepdims": keepdims}
    if requested:
        keywords["dtype"] = target.dtype(requested)
    call = Call(f"{function}(x, axis={axis}, keepdims={keepdims}, dtype={requested})", {"x": x})
    out = target.function(function)(draw.put(target, data, x), **keywords)
    values = wide(x.astype(result))
    n = _count(shape, axis)
    with np.errstate(all="ignore"):
        if function == "sum":
            want = along(values, axis, np.sum, keepdims=keepdims)
            size = along(np.abs(values), axis, np.sum, keepdims=keepdims)
        else:
            want = along(values, axis, np.prod, keepdims=keepdims)
            size = np.abs(want)
        size = size * max(1.0, n / 4)
        bound = NORMWISE[function] * (2 if result in COMPLEXES else 1)
        _compare(target, out, want, size, call, result, bound)


def _accumulator_dtypes(function: str, target: Target, data: Draw) -> None:
    for name in draw.available(target, _summed(target)):
        x = np.ones((3,), dtype=name)
        out = target.function(function)(target.put(x))
        call = Call(f"{function}({name} array)")
        compare.check_dtype(target, out, accumulator(target, name), call)
    x = target.put(np.ones((3,), dtype="int8"))
    for name in draw.available(target, NUMERIC):
        out = target.function(function)(x, dtype=target.dtype(name))
        call = Call(f"{function}(int8 array, dtype={name})")
        compare.same(target, out, _totals(function, name), call)


def _totals(function: str, name: str) -> np.ndarray[Any, Any]:
    """Return sums or products of three times one."""
    totals = {"sum": 3, "prod": 1, "cumulative_sum": [1, 2, 3], "cumulative_prod": [1, 1, 1]}
    return np.array(totals[function], dtype=name)


def _empty_sum_or_product(function: str, target: Target, data: Draw) -> None:
    name = draw.dtype(target, data, _summed(target))
    start = 0 if function == "sum" else 1
    result = accumulator(target, name)
    for shape, axis, want_shape in (((0,), None, ()), ((2, 0), 1, (2,)), ((0, 3), 0, (3,))):
        call = Call(f"{function}({name} array of shape {shape}, axis={axis})")
        out = target.function(function)(target.put(np.ones(shape, dtype=name)), axis=axis)
        compare.same(target, out, np.full(want_shape, start, dtype=result), call)


def _extreme(function: str, target: Target, data: Draw) -> None:
    name, shape = _draw(target, data, REAL)
    x = _numbers(data, name, shape, draw.ANY)
    axis, keepdims = draw.axes(data, x.ndim), draw.flag(data, "keepdims")
    call = Call(f"{function}(x, axis={axis}, keepdims={keepdims})", {"x": x})
    out = target.function(function)(draw.put(target, data, x), axis=axis, keepdims=keepdims)
    pick: Callable[[NumpyArray], Any] = np.max if function == "max" else np.min
    want = along(
        x, axis, lambda v: x.dtype.type(np.nan) if np.any(v != v) else pick(v), keepdims=keepdims
    )
    compare.same(target, out, want.astype(name), call, signed_zeros=False)


def _nan_propagates(function: str, target: Target, data: Draw) -> None:
    """Check that one NaN anywhere makes the result NaN."""
    for name in draw.available(target, FLOATS):
        for position in range(3):
            x = np.array([1.0, -2.0, np.inf], dtype=name)
            x[position] = np.nan
            out = target.function(function)(target.put(x))
            compare.same(target, out, np.array(np.nan, dtype=name), Call(function, {"x": x}))


@case("mean", "values")
def mean_values(target: Target, data: Draw) -> None:
    """The mean along axes, NaN and infinities included."""
    name, shape = _draw(target, data, FLOATING)
    x = _numbers(data, name, shape, _domain("mean", name, name))
    axis, keepdims = draw.axes(data, x.ndim), draw.flag(data, "keepdims")
    call = Call(f"mean(x, axis={axis}, keepdims={keepdims})", {"x": x})
    out = target.function("mean")(draw.put(target, data, x), axis=axis, keepdims=keepdims)
    values = wide(x)
    with np.errstate(all="ignore"):
        want = along(values, axis, np.mean, keepdims=keepdims)
        size = along(np.abs(values), axis, np.mean, keepdims=keepdims)
        size = size * max(1.0, _count(shape, axis) / 4)
    compare.within(target, out, want, call, dtype=name, size=size, bound=NORMWISE["mean"])


@case("mean", "special")
def mean_special(target: Target, data: Draw) -> None:
    """The mean of nothing is NaN, in both components for complex dtypes."""
    for name in draw.available(target, FLOATING):
        out = target.function("mean")(target.put(np.ones((0,), dtype=name)))
        value = complex(np.nan, np.nan) if name in COMPLEXES else np.nan
        compare.same(target, out, np.array(value, dtype=name), Call(f"mean(empty {name} array)"))


def _moment(function: str, target: Target, data: Draw) -> None:
    name, shape = _draw(target, data, FLOATS)
    x = _numbers(data, name, shape, _SUMMED)
    axis, keepdims = draw.axes(data, x.ndim), draw.flag(data, "keepdims")
    n = _count(shape, axis)
    correction = draw.pick(data, tuple(c for c in (0, 1, 0.5, 2.0) if c < n), "correction")
    call = Call(
        f"{function}(x, axis={axis}, correction={correction}, keepdims={keepdims})", {"x": x}
    )
    out = target.function(function)(
        draw.put(target, data, x), axis=axis, correction=correction, keepdims=keepdims
    )

    def variance(v: NumpyArray) -> Any:
        return np.sum((v - np.mean(v)) ** 2) / (n - correction)

    values = wide(x)
    with np.errstate(all="ignore"):
        want = along(values, axis, variance, keepdims=keepdims)
        largest = along(np.abs(values), axis, np.max, keepdims=keepdims)
        scale = max(1.0, n / 4) * n / (n - correction)
        if function == "std":
            # A square that underflows is lost, and its root is not small in this sense.
            lost = np.sqrt(float(np.finfo(name).smallest_normal)) / float(np.finfo(name).eps)
            want, size = np.sqrt(want), largest * scale + lost
        else:
            # Rounding of the mean counts in proportion to the mean: Chan, Golub, LeVeque (1983).
            shift = largest * np.sqrt(want) + float(np.finfo(name).eps) * largest**2
            size = (want + shift) * scale
    size = np.where(np.isfinite(size), size, 0).astype(np.float64)
    compare.within(target, out, want, call, dtype=name, size=size, bound=NORMWISE[function])


def _moment_special(function: str, target: Target, data: Draw) -> None:
    for name in draw.available(target, FLOATS):
        x = np.array([[1.0, 2.0], [3.0, 5.0]], dtype=name)
        for correction in (2, 2.5, 3):
            call = Call(f"{function}(x, axis=0, correction={correction})", {"x": x})
            out = target.function(function)(target.put(x), axis=0, correction=correction)
            compare.same(target, out, np.full((2,), np.nan, dtype=name), call)


def _cumulative(function: str, target: Target, data: Draw) -> None:
    name, shape = _draw(target, data, _summed(target))
    requested = _keyword_dtype(target, data, name)
    result = requested or accumulator(target, name)
    x = _numbers(data, name, shape, _domain(function, name, result))
    axis: int | None = draw.axis(data, x.ndim)
    if x.ndim == 1 and draw.flag(data, "no axis"):
        axis = None
    initial = draw.flag(data, "include_initial")
    keywords: dict[str, Any] = {} if axis is None else {"axis": axis}
    if requested:
        keywords["dtype"] = target.dtype(requested)
    if initial:
        keywords["include_initial"] = True
    call = Call(
        f"{function}(x, axis={axis}, dtype={requested}, include_initial={initial})", {"x": x}
    )
    out = target.function(function)(draw.put(target, data, x), **keywords)
    values = wide(x.astype(result))
    along_axis = 0 if axis is None else axis
    with np.errstate(all="ignore"):
        if function == "cumulative_sum":
            want = scan(values, along_axis, np.add, 0)
            size = scan(np.abs(values), along_axis, np.add, 0)
        else:
            want = scan(values, along_axis, np.multiply, 1)
            size = np.abs(want)
        size = size * max(1.0, shape[along_axis] / 4)
    if not initial:
        want, size = (np.delete(a, 0, axis=along_axis) for a in (want, size))
    bound = NORMWISE[function] * (2 if result in COMPLEXES else 1)
    _compare(target, out, want, size, call, result, bound)


def _large_integers(function: str, target: Target, data: Draw) -> None:
    """Check that integers are not summed or multiplied as floating-point numbers."""
    for name in draw.available(target, ("int64", "uint64")):
        pair = [2**53, 1] if function.endswith("sum") else [2**53 + 1, 1]
        x = np.array(pair, dtype=name)
        want: list[int] | int = 2**53 + 1
        if function.startswith("cumulative"):
            want = [pair[0], 2**53 + 1]
        out = target.function(function)(target.put(x))
        compare.same(target, out, np.array(want, dtype=name), Call(f"{function}(x)", {"x": x}))


for _name in ("sum", "prod", "cumulative_sum", "cumulative_prod"):
    case(_name, "exact")(partial(_large_integers, _name))
for _name in ("sum", "prod"):
    case(_name, "values")(partial(_sum_or_product, _name))
    case(_name, "dtypes")(partial(_accumulator_dtypes, _name))
    case(_name, "special")(partial(_empty_sum_or_product, _name))
for _name in ("max", "min"):
    case(_name, "values")(partial(_extreme, _name))
    case(_name, "special")(partial(_nan_propagates, _name))
for _name in ("std", "var"):
    case(_name, "values")(partial(_moment, _name))
    case(_name, "special")(partial(_moment_special, _name))
for _name in ("cumulative_sum", "cumulative_prod"):
    case(_name, "values")(partial(_cumulative, _name))
    case(_name, "dtypes")(partial(_accumulator_dtypes, _name))
