"""How far compiled calls may be from calls: by rounding, and by rows of the page of differences.

Integers, booleans, signs of zero, infinities and NaN are equal; functions that round correctly are
equal to the bit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from portarray_conformance.programs.allowed_differences import loose_parts
from portarray_conformance.programs.compare import text_of
from portarray_conformance.programs.program import BUILTINS, Machine, Snap
from portarray_conformance.programs.statements import read_statement
from portarray_conformance.target import NumpyArray

EXACT = frozenset((
    *("abs", "negative", "positive", "sign", "square", "floor", "ceil", "trunc", "round", "isnan"),
    *("isinf", "isfinite", "reciprocal", "signbit", "logical_not", "bitwise_invert"),
    *("conj", "real", "add", "subtract", "multiply", "floor_divide", "remainder", "minimum"),
    *("maximum", "divide", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal"),
    *("copysign", "nextafter", "bitwise_and", "bitwise_or", "bitwise_xor", "any", "all", "where"),
    *("bitwise_left_shift", "bitwise_right_shift", "logical_and", "logical_or", "logical_xor"),
    *("max", "min", "clip", "astype", "expand_dims", "reshape", "broadcast_to", "kernels.relu"),
    *("+", "-", "*", "/", "//", "%", "-x", "+x", "<", "<=", ">", ">=", "==", "!=", "x[key]"),
))  # fmt: skip
"""Functions whose results are rounded correctly."""

EXTREMES = frozenset(("minimum", "maximum", "clip", "max", "min", "kernels.relu"))
SUMS = frozenset(("sum", "prod", "mean", "cumulative_sum", "cumulative_prod"))
LOOSE = ("linalg.", "fft.", "matmul", "tensordot", "vecdot", "@", "std", "var", "kernels.")
"""Beginnings of names of functions that add many products."""
ULPS = 16.0


def difference_of(
    machine: Machine, statement: str, variables: Mapping[str, Any], got: Snap, want: Snap
) -> tuple[str, str, str] | None:
    """Return the kind of difference of a statement's result and both results, None if allowed.

    ``variables`` are those before the statement.
    """
    if loose_parts(statement):
        return None
    if got.kind == want.kind == "tuple" and len(got.value) == len(want.value):
        parts = zip(got.value, want.value, strict=True)
        parts_differ = [difference_of(machine, statement, variables, x, y) for x, y in parts]
        return next((difference for difference in parts_differ if difference is not None), None)
    if got.kind != want.kind or got.type_name != want.type_name:
        return "type", text_of(got), text_of(want)
    if got.kind != "array":
        return ("value", text_of(got), text_of(want)) if not got.same(want) else None
    if got.value.shape != want.value.shape:
        return "shape", text_of(got), text_of(want)
    wrong = ~equal_elements(got.value, want.value)
    wrong &= ~allowed(machine, statement, variables, got, want)
    if not wrong.any():
        return None
    where = tuple(np.argwhere(wrong)[0])
    kind = kind_of(got.value[where], want.value[where])
    return (
        kind,
        f"{got.value[where]!s} for {shown(machine, statement, variables, where)}",
        (f"{want.value[where]!s} of {want.type_name}"),
    )


def is_settled(machine: Machine, statement: str, variables: Mapping[str, Any], want: Snap) -> bool:
    """Return whether a statement has only one right result, to the bit."""
    if want.kind != "array" or read_statement(statement).function not in EXACT:
        return False
    return not allowed(machine, statement, variables, want, want).any()


def operands_of(machine: Machine, statement: str, variables: Mapping[str, Any]) -> dict[str, Snap]:
    """Return the arrays that a statement reads."""
    names = [name for name in dict.fromkeys(read_statement(statement).read) if name not in BUILTINS]
    return {
        name: machine.snap(variables[name])
        for name in names
        if machine.is_array(variables.get(name))
    }


def shown(
    machine: Machine, statement: str, variables: Mapping[str, Any], where: tuple[Any, ...]
) -> str:
    """Return a statement with the elements of its operands at an index of the result."""
    operands = []
    for name, snap in operands_of(machine, statement, variables).items():
        shape = snap.value.shape
        at = where[max(len(where) - len(shape), 0) :]
        if len(at) == len(shape) and all(n < m or m == 1 for n, m in zip(at, shape, strict=True)):
            element = snap.value[tuple([int(n) % m for n, m in zip(at, shape, strict=True)])]
            operands.append(f"{name}={element!s} {snap.type_name}")
        else:
            operands.append(f"{name} of {snap.type_name} {shape}")
    return f"{statement} with {', '.join(operands)}"


def kind_of(got: Any, want: Any) -> str:
    """Return the kind of difference of two elements."""
    if np.asarray(want).dtype.kind not in "fV":
        return "value"
    a, b = float(got), float(want)
    if a == b:
        return "sign of zero"
    if np.isnan(a) != np.isnan(b):
        return "NaN"
    return "infinity" if np.isinf(a) != np.isinf(b) else "value"


def equal_elements(got: NumpyArray, want: NumpyArray) -> NumpyArray:
    """Return which elements are equal: signs of zeros differ, NaN do not."""
    if want.dtype.kind == "c":
        return equal_elements(got.real, want.real) & equal_elements(got.imag, want.imag)
    if want.dtype.kind not in "fV":
        return np.asarray(got == want)
    a, b = got.astype(np.float64), want.astype(np.float64)
    same = (a == b) & (np.signbit(a) == np.signbit(b))
    return np.asarray(same | (np.isnan(a) & np.isnan(b)))


def allowed(
    machine: Machine, statement: str, variables: Mapping[str, Any], got: Snap, want: Snap
) -> NumpyArray:
    """Return which elements may differ."""
    function = read_statement(statement).function
    operands = [snap.value for snap in operands_of(machine, statement, variables).values()]
    nothing = np.zeros(want.value.shape, dtype=bool)
    kind = want.value.dtype.kind
    with np.errstate(all="ignore"):
        if function in ("astype", "x.astype()"):
            return nothing if kind not in "iu" else _out_of_range(operands[0], want.value.dtype)
        if function == "signbit":
            return np.isnan(_wide(operands[0]))  # NaN have no sign
        if function == "copysign":
            nans = [np.isnan(_wide(x)) for x in operands]
            return np.broadcast_to(np.logical_or.reduce(np.broadcast_arrays(*nans)), nothing.shape)
        if kind not in "fVc":
            return nothing
        a, b = _wide(got.value), _wide(want.value)
        if function in EXTREMES:
            return np.asarray((a == 0) & (b == 0))
        if function in EXACT:
            return nothing
        if function in SUMS:
            return _of_sum(function, operands[0], a, b, want.type_name)
        if function.startswith(LOOSE) or kind == "c":
            scale = np.abs(b[np.isfinite(b)]).max(initial=0.0)
            close = np.abs(a - b) <= max(1e-4, ULPS * _eps(want.type_name)) * scale
            return np.asarray(close | ~np.isfinite(b) | ~np.isfinite(a))
        return np.asarray(np.abs(a - b) <= ULPS * _unit(b, want.type_name))


def _wide(x: NumpyArray) -> NumpyArray:
    if x.dtype.kind == "c":
        return x.astype(np.complex128)
    return x.astype(np.float64)


_DIGITS: Mapping[str, tuple[int, int]] = {
    "bfloat16": (7, -126), "float16": (10, -14), "float32": (23, -126), "complex64": (23, -126),
}  # fmt: skip


def _eps(dtype: str) -> float:
    return 2.0 ** -_DIGITS.get(dtype, (52, -1022))[0]


def _unit(x: NumpyArray, dtype: str) -> NumpyArray:
    """Return one unit of rounding at each value."""
    digits, smallest = _DIGITS.get(dtype, (52, -1022))
    _, exponent = np.frexp(np.where(np.isfinite(x), np.abs(x), 0))
    return np.asarray(np.ldexp(1.0, np.maximum(exponent - 1, smallest) - digits))


def _out_of_range(x: NumpyArray, dtype: np.dtype[Any]) -> NumpyArray:
    """Return which numbers a conversion to integers leaves undetermined."""
    if x.dtype.kind not in "fVc":
        return np.zeros(x.shape, dtype=bool)
    limits, real = np.iinfo(dtype), np.trunc(x.real.astype(np.float64))
    return np.asarray(~((real >= float(limits.min)) & (real < float(limits.max + 1))))


def _of_sum(function: str, x: NumpyArray, a: NumpyArray, b: NumpyArray, dtype: str) -> NumpyArray:
    """Return where sums and products in another order may differ."""
    smallest = _DIGITS.get(dtype, (52, -1022))[1]
    wide = _wide(x)
    finite = np.abs(wide[np.isfinite(wide)])
    if function.endswith("prod"):
        powers = np.abs(np.log2(finite[finite > 0])).sum()
        close = np.abs(a - b) <= x.size * _eps(dtype) * np.abs(b)
        return np.asarray(close | bool(powers >= -smallest))
    total = finite.sum()
    close = np.abs(a - b) <= x.size * _eps(dtype) * total
    return np.asarray(close | bool(total >= 2.0 ** -(smallest - 1)))
