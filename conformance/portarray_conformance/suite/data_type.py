"""Dtypes: casting, promotion, limits, kinds."""

from __future__ import annotations

import math
from functools import partial
from typing import Any

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call, raises
from portarray_conformance.promotion import (
    ALL,
    BOOL,
    COMPLEXES,
    FLOATING,
    FLOATS,
    INTEGERS,
    KINDS,
    PAIRS,
    REAL_PART,
    promote,
)
from portarray_conformance.target import Target


def _cast_domain(source: str, result: str) -> draw.Domain:
    """Return the values whose integral part the result's dtype can represent."""
    if result in INTEGERS and source not in BOOL:
        low, high = int(np.iinfo(result).min), int(np.iinfo(result).max)
        if source in FLOATS:  # bounds that a float32 holds exactly
            return draw.Domain(max(low, -(2**20)), min(high, 2**20))
        return draw.Domain(low, high)
    if result == "float32" or result == "complex64":
        return draw.Domain(-(2.0**100), 2.0**100)
    return draw.FINITE


@case("astype", "values")
def astype_values(target: Target, data: Draw) -> None:
    """Every cast that the standard defines; fractions are truncated, nonzero values are true."""
    source = draw.dtype(target, data, ALL, "from")
    result = draw.dtype(
        target,
        data,
        tuple(n for n in ALL if source not in COMPLEXES or n in (*COMPLEXES, *BOOL)),
        "to",
    )
    x = draw.array(data, source, draw.shape(data), _cast_domain(source, result))
    call = Call(f"astype(x, {result})", {"x": x})
    out = target.function("astype")(draw.put(target, data, x), target.dtype(result))
    want = (x != 0) if result == "bool" else x.astype(result)
    compare.same(target, out, want, call)


@case("astype", "special")
def astype_special(target: Target, data: Draw) -> None:
    """NaN and infinities are true, and are kept between floating-point dtypes."""
    for name in draw.available(target, FLOATS):
        x = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, -0.5], dtype=name)
        call = Call("astype(x, bool)", {"x": x})
        out = target.function("astype")(target.put(x), target.dtype("bool"))
        compare.same(target, out, x != 0, call)
        for result in draw.available(target, FLOATS):
            out = target.function("astype")(target.put(x), target.dtype(result))
            compare.same(target, out, x.astype(result), Call(f"astype(x, {result})", {"x": x}))


@case("astype", "fractions")
def astype_fractions(target: Target, data: Draw) -> None:
    """A fraction is cut off on the way to an integer."""
    for name in draw.available(target, FLOATS):
        for result in draw.available(target, INTEGERS):
            x = np.array([0.5, 0.75, 1.5, 2.5, 1.9999, 126.9], dtype=name)
            x = x if result.startswith("u") else np.concatenate([x, -x])
            out = target.function("astype")(target.put(x), target.dtype(result))
            want = np.array([math.trunc(v) for v in x.tolist()], dtype=result)
            compare.same(target, out, want, Call(f"astype(x, {result})", {"x": x}))


@case("astype", "views")
def astype_copies(target: Target, data: Draw) -> None:
    """A copy by default, the same array where ``copy=False`` and the dtype is x's own."""
    name = draw.dtype(target, data, ALL)
    x = np.arange(3).astype(name)
    moved = target.put(x)
    for keywords in ({}, {"copy": True}):
        copied = target.function("astype")(moved, target.dtype(name), **keywords)
        copied[0] = x[1].item()
        compare.same(target, moved, x, Call(f"x after a change in astype(x, {name}, {keywords})"))
    same = target.function("astype")(moved, target.dtype(name), copy=False)
    if same is not moved:
        raise AssertionError(f"astype(x, {name}, copy=False) of a {name} array is not x itself")


@case("can_cast", "values")
def can_cast(target: Target, data: Draw) -> None:
    """Whether promotion leads from one dtype to the other."""
    first, second = (draw.dtype(target, data, ALL, label) for label in ("from", "to"))
    if (first in INTEGERS and second in FLOATING) or (first == "bool") != (second == "bool"):
        second = first  # between kinds the standard does not say
    source: Any = target.dtype(first)
    if draw.flag(data, "from an array"):
        source = target.put(np.ones((2,), dtype=first))
    want = promote(first, second) == second
    got = target.function("can_cast")(source, target.dtype(second))
    if got is not want and bool(got) != want:
        raise AssertionError(f"can_cast({first}, {second}): got {got!r}, wanted {want}")


def _check_fields(call: str, info: Any, expected: dict[str, Any]) -> None:
    for name, want in expected.items():
        got = getattr(info, name, None)
        if type(got) is not type(want) and not (isinstance(want, float) and isinstance(got, float)):
            raise AssertionError(
                f"{call}.{name}: got {got!r} ({type(got).__name__}), wanted {want!r}"
            )
        if got != want:
            raise AssertionError(f"{call}.{name}: got {got!r}, wanted {want!r}")


@case("finfo", "values")
def finfo(target: Target, data: Draw) -> None:
    """Limits as Python numbers; complex dtypes have the limits of their components."""
    name = draw.dtype(target, data, FLOATING)
    real = REAL_PART.get(name, name)
    as_array = draw.flag(data, "of an array")
    argument = target.put(np.ones((2,), dtype=name)) if as_array else target.dtype(name)
    info = target.function("finfo")(argument)
    digits, top = (23, 127) if real == "float32" else (52, 1023)
    largest = (2 - 2.0**-digits) * 2.0**top
    expected = {
        "bits": 32 if real == "float32" else 64,
        "eps": 2.0**-digits,
        "max": largest,
        "min": -largest,
        "smallest_normal": 2.0 ** (1 - top),
    }
    _check_fields(f"finfo({name})", info, expected)
    if info.dtype != target.dtype(real):
        raise AssertionError(f"finfo({name}).dtype: got {info.dtype!r}, wanted {real}")


@case("iinfo", "values")
def iinfo(target: Target, data: Draw) -> None:
    """Limits as Python numbers."""
    name = draw.dtype(target, data, INTEGERS)
    as_array = draw.flag(data, "of an array")
    argument = target.put(np.ones((2,), dtype=name)) if as_array else target.dtype(name)
    bits = int(name.lstrip("uint"))
    low, high = (0, 2**bits - 1) if name[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    info = target.function("iinfo")(argument)
    _check_fields(f"iinfo({name})", info, {"bits": bits, "min": low, "max": high})
    if info.dtype != target.dtype(name):
        raise AssertionError(f"iinfo({name}).dtype: got {info.dtype!r}, wanted {name}")


@case("isdtype", "values")
def isdtype(target: Target, data: Draw) -> None:
    """Every dtype against every kind, against dtypes, and against tuples of both."""
    function = target.function("isdtype")
    for name, dtype in target.dtypes().items():
        for kind in KINDS:
            want = name in KINDS[kind]
            if function(dtype, kind) is not want:
                raise AssertionError(f"isdtype({name}, {kind!r}): wanted {want}")
        second = draw.dtype(target, data, ALL, f"other than {name}")
        if function(dtype, target.dtype(second)) is not (name == second):
            raise AssertionError(f"isdtype({name}, {second}): wanted {name == second}")
        want = name in INTEGERS or name == second
        if function(dtype, ("integral", target.dtype(second))) is not want:
            raise AssertionError(f"isdtype({name}, ('integral', {second})): wanted {want}")


@case("isdtype", "errors")
def isdtype_errors(target: Target, data: Draw) -> None:
    """A kind that does not exist is refused."""
    dtype = next(iter(target.dtypes().values()))
    raises(
        target.function("isdtype"), Call("isdtype(dtype, 'float')"), "no such kind", dtype, "float"
    )


@case("result_type", "values")
def result_type(target: Target, data: Draw) -> None:
    """The promotion table, for dtypes and arrays; 0-d arrays promote like others."""
    function, dtypes = target.function("result_type"), target.dtypes()
    shapes = ((2,), ())
    for first, second, want in PAIRS:
        if not (first in dtypes and second in dtypes and want in dtypes):
            continue
        x1 = target.put(np.ones(shapes[0], dtype=first))
        x2 = target.put(np.ones(shapes[1], dtype=second))
        for arguments in ((dtypes[first], dtypes[second]), (x1, x2), (x1, dtypes[second])):
            got = function(*arguments)
            if got != dtypes[want]:
                kinds = ", ".join("array" if target.is_array(a) else "dtype" for a in arguments)
                raise AssertionError(
                    f"result_type({first}, {second}) as {kinds}: got {got}, wanted {want}"
                )


@case("result_type", "scalars")
def result_type_scalars(target: Target, data: Draw) -> None:
    """Python scalars take part with their kind only."""
    function, dtypes = target.function("result_type"), target.dtypes()
    for name in dtypes:
        scalars: list[Any] = [True] if name == "bool" else [1]
        if name in FLOATING:
            scalars.append(1.0)
        if name in COMPLEXES:
            scalars.append(1j)
        for scalar in scalars:
            got = function(dtypes[name], scalar)
            if got != dtypes[name]:
                raise AssertionError(f"result_type({name}, {scalar!r}): got {got}, wanted {name}")


def _dtype(name: str, target: Target, data: Draw) -> None:
    """The namespace and arrays have the dtype, which can represent its limits."""
    dtype = target.dtype(name)
    if target.function(name) != dtype:
        raise AssertionError(f"the namespace's {name} is not the {name} of its inspection")
    domain = draw.Domain() if name not in FLOATING else draw.ANY
    x = draw.array(data, name, (4,), domain)
    compare.same(target, target.put(x), x, Call(f"asarray(x, dtype={name})", {"x": x}))
    if name in INTEGERS:
        limits = np.array([np.iinfo(name).min, np.iinfo(name).max], dtype=name)
        compare.same(target, target.put(limits), limits, Call(f"the limits of {name}"))


for _name in ALL:
    case(_name, "values")(partial(_dtype, _name))


@case("dtype.__eq__", "values")
def dtype_equality(target: Target, data: Draw) -> None:
    """A dtype equals itself and the same dtype of an array, and differs from all others."""
    first, second = (draw.dtype(target, data, ALL, label) for label in ("one", "other"))
    dtype1, dtype2 = target.dtype(first), target.put(np.ones((1,), dtype=second)).dtype
    for got, want in ((dtype1 == dtype2, first == second), (dtype1 != dtype2, first != second)):
        if not isinstance(got, bool) or got is not want:
            raise AssertionError(f"{first} against {second}: got {got!r}, wanted {want}")
