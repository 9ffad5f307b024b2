"""Elementwise arithmetic."""

from __future__ import annotations

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.elementwise import (
    Row,
    judge,
    real_part,
    register_binary,
    register_unary,
    truth,
)
from portarray_conformance.promotion import FLOATING, FLOATS, NUMERIC, REAL
from portarray_conformance.target import NumpyArray, Target


def _sign(x: NumpyArray) -> NumpyArray:
    if x.dtype.kind != "c":
        return np.sign(x)
    size = np.abs(x)
    return np.where(size == 0, 0, x / np.where(size == 0, 1, size))


def _floor_divide(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    if x1.dtype == object:
        return x1 // x2
    return np.floor(x1 / x2)


def _remainder(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    if x1.dtype == object:
        return x1 % x2
    remainder = np.fmod(x1, x2)  # exact
    remainder = np.where(
        (remainder != 0) & (np.signbit(remainder) != np.signbit(x2)), remainder + x2, remainder
    )
    return np.where(remainder == 0, np.copysign(remainder, x2), remainder)


def _open_quotient(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    """Where floor division may differ by one: the exact quotient rounds up to an integer.

    Infinite operands have several answers too; the table of special cases names them.
    """
    if x1.dtype == object:
        return np.zeros(np.broadcast_shapes(x1.shape, x2.shape), bool)
    quotient = x1 / x2
    near = np.abs(quotient - np.rint(quotient)) <= np.abs(quotient) * 1e-6
    exact = np.fmod(x1, x2) == 0
    open_end = np.isinf(x1) | np.isinf(x2) | (np.abs(quotient) > 2.0**22)
    return np.asarray((near & ~exact) | open_end)


def _open_remainder(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    """Where a remainder cannot be computed to the last place from a rounded quotient."""
    if x1.dtype == object:
        return np.zeros(np.broadcast_shapes(x1.shape, x2.shape), bool)
    return np.isfinite(x1) & np.isfinite(x2) & (np.abs(x1 / x2) > 2.0**22)


def _nextafter(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    """The neighbour of x1 towards x2, by counting through the bit patterns in order."""
    bits = np.int32 if x1.dtype.itemsize == 4 else np.int64
    x1, x2 = np.broadcast_arrays(x1, x2)
    pattern = x1.ravel().view(bits).astype(object)  # raveled: 0-d arithmetic leaves arrays
    lowest = int(np.iinfo(bits).min)
    ordered = np.where(pattern < 0, lowest - pattern, pattern)  # -0.0 and 0.0 are both 0
    stepped = ordered + np.where(x2.ravel() > x1.ravel(), 1, -1).astype(object)
    unordered = np.isnan(x1) | np.isnan(x2)
    stepped = np.where(unordered.ravel(), 0, stepped)
    back = np.where(stepped < 0, lowest - stepped, stepped)
    back = np.where((stepped == 0) & (ordered < 0), lowest, back).astype(bits)  # up to -0.0
    neighbour = np.where(x1 == x2, x2, back.view(x1.dtype).reshape(x1.shape))
    return np.where(unordered, np.nan, neighbour).astype(x1.dtype)


def _pow(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    """NumPy's power, except for -0 and -infinity to a power that is not an odd integer.

    NumPy takes a single exponent 0.5 for a square root, which keeps -0 and makes -infinity NaN.
    """
    if x1.dtype.kind != "f":
        return np.power(x1, x2)
    odd = np.fmod(x2, 2) != 0
    odd &= np.rint(x2) == x2
    positive = np.where((np.isinf(x1) | (x1 == 0)) & ~odd, np.abs(x1), x1)
    return np.power(positive, x2)


def _open_pow(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    if x1.dtype == object:
        return np.zeros(np.broadcast_shapes(x1.shape, x2.shape), bool)
    if x1.dtype.kind == "c":
        return (np.abs(x1) < 0.01) | (np.abs(x2) > 4)
    return np.asarray((x1 == 1) & np.isnan(x2))


UNARY_ROWS = (
    Row("abs", np.abs, NUMERIC, result=real_part),
    Row("negative", np.negative, NUMERIC),
    Row("positive", np.positive, NUMERIC),
    Row("reciprocal", lambda x: 1 / x, FLOATING),
    Row("sign", _sign, NUMERIC, signed_zeros=False),
    Row("signbit", np.signbit, FLOATS, result=truth),
    Row("sqrt", np.sqrt, FLOATING),
    Row("square", lambda x: x * x, NUMERIC),
)

BINARY_ROWS = (
    Row("add", np.add, NUMERIC),
    Row("copysign", np.copysign, FLOATS),
    Row("divide", np.divide, FLOATING),
    Row(
        "floor_divide",
        _floor_divide,
        REAL,
        integer_domain=draw.Domain(symmetric=True),
        integer_second=draw.Domain(symmetric=True, nonzero=True),
        undefined=_open_quotient,
    ),
    Row("hypot", np.hypot, FLOATS),
    Row("maximum", np.maximum, REAL, signed_zeros=False),
    Row("minimum", np.minimum, REAL, signed_zeros=False),
    Row("multiply", np.multiply, NUMERIC),
    Row("nextafter", _nextafter, FLOATS, native=True),
    Row(
        "pow",
        _pow,
        NUMERIC,
        domain=draw.Domain(-20, 20, special=True),
        integer_domain=draw.Domain(-9, 9),
        integer_second=draw.Domain(0, 7),
        complex_domain=draw.Domain(-3, 3),
        undefined=_open_pow,
    ),
    Row(
        "remainder",
        _remainder,
        REAL,
        integer_domain=draw.Domain(symmetric=True),
        integer_second=draw.Domain(symmetric=True, nonzero=True),
        undefined=_open_remainder,
    ),
    Row("subtract", np.subtract, NUMERIC),
)

register_unary(UNARY_ROWS)
register_binary(BINARY_ROWS)

_CLIP = Row("clip", lambda x: x, REAL, native=True, signed_zeros=False)


@case("clip", "values")
def clip_values(target: Target, data: Draw) -> None:
    """Bounds that are missing, numbers, or arrays that broadcast; NaN anywhere gives NaN."""
    name = draw.dtype(target, data, REAL)
    shape = draw.shape(data, ((5,), (2, 3), (), (4, 1), (0,)))
    domain = draw.MODERATE if name not in FLOATS else draw.Domain(-100, 100, special=True)
    x = draw.array(data, name, shape, domain)
    form = draw.pick(data, ("numbers", "arrays", "one row", "no min", "no max", "neither"), "form")
    bound_shape = shape if form == "arrays" else shape[-1:] if form == "one row" else ()
    bounds = draw.array(data, name, (2, *bound_shape), domain, "min and max")
    low, high = np.minimum(bounds[0], bounds[1]), np.maximum(bounds[0], bounds[1])
    want = x
    want = want if form in ("no min", "neither") else np.maximum(want, low)
    want = want if form in ("no max", "neither") else np.minimum(want, high)
    function = target.function("clip")
    call = Call(f"clip(x, min, max), {form}", {"x": x, "min": low, "max": high})
    if form in ("arrays", "one row"):
        out = function(target.put(x), target.put(low), target.put(high))
    elif form == "neither":
        out = function(target.put(x))
    else:
        keywords = {"min": low.item(), "max": high.item()}
        keywords.pop({"no min": "min", "no max": "max"}.get(form, ""), None)
        out = function(target.put(x), **keywords)
    judge(target, out, _CLIP, [want], name, call)


@case("clip", "special")
def clip_special(target: Target, data: Draw) -> None:
    """NaN in x, in min or in max gives NaN."""
    for name in draw.available(target, FLOATS):
        x, low, high = (
            np.array(values, dtype=name)
            for values in (
                [np.nan, 1.0, 1.0, 1.0],
                [0.0, np.nan, 0.0, 0.0],
                [2.0, 2.0, np.nan, 0.5],
            )
        )
        call = Call("clip(x, min, max)", {"x": x, "min": low, "max": high})
        out = target.function("clip")(target.put(x), target.put(low), target.put(high))
        compare.same(target, out, np.array([np.nan, np.nan, np.nan, 0.5], dtype=name), call)


@case("clip", "dtypes")
def clip_dtypes(target: Target, data: Draw) -> None:
    """The result has the dtype of x, with arrays and with numbers as bounds."""
    function = target.function("clip")
    for name in draw.available(target, REAL):
        x = target.put(np.array([1, 2, 3], dtype=name))
        bound = target.put(np.array(2, dtype=name))
        for keywords in ({"min": 2}, {"max": 2}, {"min": bound, "max": bound}):
            call = Call(f"clip({name} array, {', '.join(keywords)})")
            compare.check_dtype(target, function(x, **keywords), name, call)
