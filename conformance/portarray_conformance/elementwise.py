"""Checks of elementwise functions from rows of reference, domain, dtypes and bound.

A reference is a function of wide arrays (see :func:`portarray_conformance.ulp.wide`): float32 is
computed in float64, float64 in longdouble, integers as Python integers. Integer results that the
dtype cannot hold are not compared, for the standard leaves overflow open.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeAlias

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.bounds import ELEMENTWISE, Bound
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.draw import Domain
from portarray_conformance.promotion import COMPLEXES, FLOATS, INTEGERS, PAIRS, REAL_PART
from portarray_conformance.special import BINARY, UNARY
from portarray_conformance.special_complex import COMPLEX_UNARY, ComplexRow
from portarray_conformance.target import NumpyArray, Target
from portarray_conformance.ulp import wide

Reference: TypeAlias = Callable[..., NumpyArray]


def same_dtype(name: str) -> str:
    """Return the dtype itself: most results have the promoted dtype of the inputs."""
    return name


def real_part(name: str) -> str:
    """Return the dtype of the components of a complex dtype, others as they are."""
    return REAL_PART.get(name, name)


def truth(name: str) -> str:
    """Return ``"bool"``: the result of comparisons."""
    return "bool"


@dataclass(frozen=True)
class Row:
    """How one elementwise function is checked.

    Parameters
    ----------
    name
        The function's name in the standard.
    reference
        The answer for wide inputs.
    dtypes
        For which dtypes the standard defines it.
    domain, second
        The domains of the first and the second argument; ``second`` is ``domain`` if None.
    integer_domain, integer_second
        The same for integers, where they need other bounds.
    complex_domain
        The domain of each component of complex numbers; always finite.
    result
        The dtype of the result for the promoted dtype of the inputs.
    signed_zeros
        Whether the sign of a zero result is defined.
    wraps
        Whether integer answers are taken modulo the dtype's range.
    native
        Whether the reference takes the inputs in their promoted dtype and answers exactly.
    undefined
        Returns for which (wide) inputs the standard leaves the answer open.
    related
        Whether the second argument repeats elements of the first, or has their neighbours.
    """

    name: str
    reference: Reference
    dtypes: Sequence[str]
    domain: Domain = draw.ANY
    second: Domain | None = None
    integer_domain: Domain = field(default=Domain())
    integer_second: Domain | None = None
    complex_domain: Domain = draw.SMALL
    result: Callable[[str], str] = same_dtype
    signed_zeros: bool = True
    wraps: bool = False
    native: bool = False
    undefined: Callable[..., NumpyArray] | None = None
    related: bool = False

    @property
    def bound(self) -> Bound:
        """The row's bound in ULP: exact where the result is a truth value or an integer."""
        return ELEMENTWISE.get(self.name, Bound(0.0))

    def domains(self, name: str) -> tuple[Domain, Domain]:
        """Return the domains of the first and the second argument in a dtype."""
        if name in INTEGERS:
            return self.integer_domain, self.integer_second or self.integer_domain
        if name in COMPLEXES:
            return self.complex_domain, self.complex_domain
        return self.domain, self.second or self.domain


def judge(
    target: Target, out: Any, row: Row, operands: Sequence[NumpyArray], promoted: str, call: Call
) -> None:
    """Fail unless an answer is the row's for these inputs, given in the promoted dtype."""
    arrays = [x if row.native else wide(x) for x in operands]
    with np.errstate(all="ignore"):
        want = np.asarray(row.reference(*arrays))
        defined = None if row.undefined is None else ~np.asarray(row.undefined(*arrays), bool)
    name = row.result(promoted)
    if name in FLOATS or name in COMPLEXES:
        bound = row.bound.complex if promoted in COMPLEXES else row.bound.real
        if promoted in COMPLEXES and name in COMPLEXES:
            finite = np.abs(want) < np.finfo(name).max / 4
            defined = finite if defined is None else finite & defined
        compare.close(
            target,
            out,
            want,
            call,
            dtype=name,
            bound=bound,
            signed_zeros=row.signed_zeros and promoted not in COMPLEXES,
            where=defined,
        )
        return
    if name in INTEGERS:
        want, held = _in_range(want, name, row.wraps)
        defined = held if defined is None else held & defined
    got = compare.fetch(target, out, name, want.shape, call)
    answer = got if defined is None else np.where(defined, got, want.astype(name))
    if not np.array_equal(answer, want.astype(name)):
        index = tuple(int(i) for i in np.argwhere(answer != want.astype(name))[0])
        raise call.fail(
            f"at {index}: got {got[index]!r}, wanted {want[index]!r}",
            extra=call.at(index, got.shape),
        )


def _in_range(want: NumpyArray, name: str, wraps: bool) -> tuple[NumpyArray, NumpyArray]:
    """Return exact integers, 0 where the dtype cannot represent them, and where it can."""
    limits = np.iinfo(name)
    exact = want.astype(object)
    if wraps:
        span = int(limits.max) - int(limits.min) + 1
        exact = (exact - int(limits.min)) % span + int(limits.min)
    held = np.asarray((exact >= int(limits.min)) & (exact <= int(limits.max)), dtype=bool)
    # Arithmetic with one element returns a Python integer, which NumPy would make an int64.
    return np.asarray(np.where(held, np.asarray(exact, dtype=object), 0)), held


def unchanged(target: Target, moved: Any, x: NumpyArray, call: Call) -> None:
    """Fail where a function has changed its input."""
    after = target.get(moved)
    if after.shape != x.shape or not np.all(compare.equal(after, x)):
        raise call.fail(f"changed its input to {compare.show(after)}")


def check_unary(row: Row, target: Target, data: Draw) -> None:
    """Draw one input and check the answer."""
    name = draw.dtype(target, data, row.dtypes)
    x = draw.array(data, name, draw.shape(data), row.domains(name)[0])
    moved = draw.put(target, data, x)
    call = Call(f"{row.name}(x)", {"x": x})
    judge(target, target.function(row.name)(moved), row, [x], name, call)
    unchanged(target, moved, x, call)


def check_binary(row: Row, target: Target, data: Draw) -> None:
    """Draw two inputs that broadcast and promote, and check the answer."""
    first, second, promoted = draw.dtype_pair(target, data, row.dtypes)
    shapes = draw.pick(data, draw.BROADCASTS, "shapes")
    x1, x2 = inputs(row, data, (first, second), shapes)
    moved = draw.put(target, data, x1, "layout of x1"), target.put(x2)
    call = Call(f"{row.name}(x1, x2)", {"x1": x1, "x2": x2})
    out = target.function(row.name)(*moved)
    judge(target, out, row, [x1.astype(promoted), x2.astype(promoted)], promoted, call)
    unchanged(target, moved[0], x1, call)
    unchanged(target, moved[1], x2, call)


def inputs(
    row: Row, data: Draw, names: tuple[str, str], shapes: tuple[draw.Shape, draw.Shape]
) -> tuple[NumpyArray, NumpyArray]:
    """Draw the two inputs of a row; with a complex one the other is drawn like a component."""
    mixed = names[0] in COMPLEXES or names[1] in COMPLEXES
    first = row.complex_domain if mixed else row.domains(names[0])[0]
    second = row.complex_domain if mixed else row.domains(names[1])[1]
    x1 = draw.array(data, names[0], shapes[0], first, "x1")
    x2 = draw.array(data, names[1], shapes[1], second, "x2")
    return x1, _related(x1, x2, data) if row.related else x2


def _related(x1: NumpyArray, x2: NumpyArray, data: Draw) -> NumpyArray:
    """Put elements of x1, or their neighbours, into x2, for comparisons to be close."""
    if x1.dtype != x2.dtype or x1.size == 0 or x1.dtype.kind in "bc":
        return x2
    x1 = np.resize(x1, x2.shape)
    choice = draw.array(
        data, "uint8", x2.shape, Domain(0, 3), "x2 is x1 where 1, beside it where 2"
    )
    if x1.dtype.kind == "f":
        beside = np.nextafter(x1, np.zeros((), x1.dtype) + 3)
    else:
        beside = np.where(x1 > 0, x1 - 1, x1 + 1).astype(x1.dtype)
    return np.where(choice == 1, x1, np.where(choice == 2, beside, x2))


def check_scalar(row: Row, target: Target, data: Draw) -> None:
    """Check an array with a Python scalar on either side: it counts as a 0-d array."""
    name = draw.dtype(target, data, row.dtypes)
    scalar_first = draw.flag(data, "scalar first")
    shape = draw.pick(data, ((4,), (2, 3), ()), "shape")
    x1, x2 = inputs(row, data, (name, name), ((), shape) if scalar_first else (shape, ()))
    scalar = (x1 if scalar_first else x2).item()
    if scalar_first:
        call = Call(f"{row.name}(x1, x2)", {"x1": scalar, "x2": x2})
        out = target.function(row.name)(scalar, target.put(x2))
    else:
        call = Call(f"{row.name}(x1, x2)", {"x1": x1, "x2": scalar})
        out = target.function(row.name)(target.put(x1), scalar)
    judge(target, out, row, [x1, x2], name, call)


def check_promotion(row: Row, target: Target, data: Draw) -> None:
    """Check the dtype of the result for every pair that the standard promotes."""
    function = target.function(row.name)
    available = target.dtypes()
    for first, second, promoted in PAIRS:
        if first not in row.dtypes or second not in row.dtypes or promoted not in row.dtypes:
            continue
        if first in available and second in available and promoted in available:
            call = Call(f"{row.name}({first} array, {second} array)")
            out = function(_ones(target, first), _ones(target, second))
            compare.check_dtype(target, out, row.result(promoted), call)


def check_result_dtype(row: Row, target: Target, data: Draw) -> None:
    """Check the dtype of the result for every dtype that the standard defines."""
    function = target.function(row.name)
    for name in draw.available(target, row.dtypes):
        out = function(_ones(target, name))
        compare.check_dtype(target, out, row.result(name), Call(f"{row.name}({name} array)"))


def _ones(target: Target, name: str) -> Any:
    cache: dict[str, Any] = target._cache.setdefault("ones", {})
    if name not in cache:
        cache[name] = target.put(np.ones((2,), dtype=name))
    return cache[name]


def check_unary_special(row: Row, target: Target, data: Draw) -> None:
    """Check the standard's table of special cases for real floating-point operands."""
    rows = UNARY[row.name]
    for name in draw.available(target, FLOATS):
        x = np.array([operand for operand, _ in rows], dtype=name)
        want = np.array([result for _, result in rows])
        call = Call(f"{row.name}(x), special cases", {"x": x})
        out = target.function(row.name)(target.put(x))
        if row.result(name) == "bool":
            compare.same(target, out, want.astype(bool), call)
        else:
            bound = max(row.bound.real, 0.5)
            compare.close(target, out, want.astype(wide(x).dtype), call, dtype=name, bound=bound)


def check_binary_special(row: Row, target: Target, data: Draw) -> None:
    """Check the standard's table of special cases for two real floating-point operands."""
    rows = BINARY[row.name]
    for name in draw.available(target, FLOATS):
        x1 = np.array([entry[0] for entry in rows], dtype=name)
        x2 = np.array([entry[1] for entry in rows], dtype=name)
        call = Call(f"{row.name}(x1, x2), special cases", {"x1": x1, "x2": x2})
        out = target.function(row.name)(target.put(x1), target.put(x2))
        got = compare.fetch(target, out, row.result(name), x1.shape, call)
        for index, entry in enumerate(rows):
            answers = np.array(entry[2:], dtype=got.dtype)
            if not any(
                _is_special(got[index], answer, max(row.bound.real, 0.5)) for answer in answers
            ):
                expected = " or ".join(repr(answer.item()) for answer in answers)
                raise AssertionError(
                    f"{row.name}({entry[0]!r}, {entry[1]!r}) in {name}: "
                    f"got {got[index].item()!r}, wanted {expected}"
                )


def _is_special(got: Any, want: Any, bound: float) -> bool:
    if got.dtype.kind == "b":
        return bool(got == want)
    if np.isnan(want):
        return bool(np.isnan(got))
    if want == 0 or np.isinf(want):
        return bool(got == want and np.signbit(got) == np.signbit(want))
    return bool(np.abs(got - want) <= (bound + 0.5) * np.spacing(np.abs(want)))


def check_complex_special(row: Row, target: Target, data: Draw) -> None:
    """Check the standard's table of special cases for complex operands."""
    rows = COMPLEX_UNARY[row.name]
    for name in draw.available(target, COMPLEXES):
        x = np.array([complex(*entry.operand) for entry in rows], dtype=name)
        call = Call(f"{row.name}(x), special cases", {"x": x})
        out = target.function(row.name)(target.put(x))
        got = compare.fetch(target, out, row.result(name), x.shape, call)
        for value, entry in zip(got, rows, strict=True):
            _check_complex_row(row, name, value, entry)


def _check_complex_row(row: Row, name: str, value: Any, entry: ComplexRow) -> None:
    parts = (value.real, value.imag) if value.dtype.kind == "c" else (value,)
    for part, want, free in zip(parts, entry.want, entry.free_signs, strict=False):
        got = np.abs(part) if free else part
        expected = part.dtype.type(abs(want) if free else want)
        if not _is_special(got, expected, row.bound.complex):
            a, b = entry.operand
            signs = " (a sign is unspecified)" if any(entry.free_signs) else ""
            raise AssertionError(
                f"{row.name}(complex({a!r}, {b!r})) in {name}: got {value.item()!r}, "
                f"wanted complex({entry.want[0]!r}, {entry.want[1]!r}){signs}"
            )


def register_unary(rows: Sequence[Row]) -> None:
    """Register the checks of functions of one array."""
    for row in rows:
        case(row.name, "values")(partial(check_unary, row))
        case(row.name, "dtypes")(partial(check_result_dtype, row))
        if row.name in UNARY:
            case(row.name, "special")(partial(check_unary_special, row))
        if row.name in COMPLEX_UNARY:
            case(row.name, "complex special")(partial(check_complex_special, row))


def register_binary(rows: Sequence[Row]) -> None:
    """Register the checks of functions of two arrays."""
    for row in rows:
        case(row.name, "values")(partial(check_binary, row))
        case(row.name, "scalars")(partial(check_scalar, row))
        case(row.name, "dtypes")(partial(check_promotion, row))
        if row.name in BINARY:
            case(row.name, "special")(partial(check_binary_special, row))
