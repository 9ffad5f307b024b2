"""The functions that kernels may call, one row each.

A row says what a function takes and returns, how a C-like language spells it, and the NumPy
function that the interpreter calls. C names are those of OpenCL, which the other dialects'
preludes define where theirs differ.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

Result = str
"""``"same"`` as the arguments, ``"bool"``, ``"int"`` (a weak integer), ``"part"`` (of complex
numbers, else the same), ``"complex"``."""


@dataclass(frozen=True, slots=True)
class Row:
    """A function of numbers.

    ``kinds`` are those it is computed in; arguments of lower kinds are converted, integers to the
    default float. ``c`` is a format with the arguments in braces, for floats, and their type as
    ``{T}`` and the result's as ``{R}``; ``whole`` one for integers and truth values, where it takes
    them as they are, and ``complex`` one for complex numbers, where it takes them.
    """

    name: str
    count: int
    c: str
    numpy: Callable[..., Any]
    result: Result = "same"
    whole: str = ""
    complex: str = ""


def _half_even(x: Any) -> int:
    return int(np.rint(x))


def _floor_divide(x: Any, y: Any) -> Any:
    """Return the standard's quotient, which differs from Python's for infinite operands."""
    return np.floor(x / y) if np.isinf(x) or np.isinf(y) else x // y


def _call(name: str, count: int = 1) -> str:
    return f"{name}({', '.join(f'{{{n}}}' for n in range(count))})"


_FLOATS = "sqrt exp2 expm1 log log2 log10 log1p sin cos tan sinh cosh tanh floor ceil trunc rint"
_RENAMED = {**{f"a{name}": f"arc{name}" for name in ("sin", "cos", "tan", "sinh", "cosh", "tanh")}}
# C's and OpenCL's names with two arguments, and NumPy's.
_PAIRS = {"atan2": "arctan2", "hypot": "hypot", "fmod": "fmod", "copysign": "copysign"}


def _make_complex(real: Any, imag: Any) -> Any:
    return (np.complex128 if isinstance(real, np.float64) else np.complex64)(complex(real, imag))


def _lib(name: str) -> Callable[..., Any]:
    """Return a function of :mod:`math` that keeps the type of its argument."""
    native = getattr(math, name)

    def function(x: Any) -> Any:
        try:
            return type(x)(native(float(x)))
        except OverflowError:
            return type(x)(np.inf)

    return function


def _rows() -> dict[str, Row]:
    rows = [Row(name, 1, _call(name), getattr(np, name)) for name in _FLOATS.split()]
    rows += [Row(name, 1, _call(name), getattr(np, numpy)) for name, numpy in _RENAMED.items()]
    rows += [Row(name, 2, _call(name, 2), getattr(np, numpy)) for name, numpy in _PAIRS.items()]
    rows += [
        Row("cbrt", 1, _call("cbrt"), np.cbrt),
        Row("erf", 1, _call("erf"), _lib("erf")),
        Row("erfc", 1, _call("erfc"), _lib("erfc")),
        Row("exp", 1, "exp({0})", np.exp, complex="pa_exp_{T}({0})"),
        Row("abs", 1, "fabs({0})", np.abs, "part", "({0} < 0 ? -{0} : {0})", "pa_abs_{T}({0})"),
        Row("complex", 2, "pa_make_{R}({0}, {1})", _make_complex, "complex"),
        Row("real", 1, "{0}", np.real, "part", "{0}", "{0}.x"),
        Row("imag", 1, "0", np.imag, "part", "0", "{0}.y"),
        Row("conj", 1, "{0}", np.conj, whole="{0}", complex="pa_conj_{T}({0})"),
        Row("isnan", 1, "({0} != {0})", np.isnan, "bool", "false",
            "({0}.x != {0}.x || {0}.y != {0}.y)"),
        Row("isinf", 1, "pa_isinf({0})", np.isinf, "bool", "false",
            "(pa_isinf({0}.x) || pa_isinf({0}.y))"),
        Row("isfinite", 1, "pa_isfinite({0})", np.isfinite, "bool", "true",
            "(pa_isfinite({0}.x) && pa_isfinite({0}.y))"),
        Row("signbit", 1, "pa_signbit({0})", np.signbit, "bool"),
        Row("whole", 1, "{0}", int, "int", whole="{0}"),
        Row("whole_floor", 1, "floor({0})", lambda x: int(np.floor(x)), "int", whole="{0}"),
        Row("whole_ceil", 1, "ceil({0})", lambda x: int(np.ceil(x)), "int", whole="{0}"),
        Row("whole_round", 1, "rint({0})", _half_even, "int", whole="{0}"),
        # Python's own: the second where it is smaller, so NaN by its place.
        Row("min", 2, "({1} < {0} ? {1} : {0})", min, whole="({1} < {0} ? {1} : {0})"),
        Row("max", 2, "({1} > {0} ? {1} : {0})", max, whole="({1} > {0} ? {1} : {0})"),
        # The standard's: NaN where either is.
        Row("minimum", 2, "({0} < {1} || {0} != {0} ? {0} : {1})", np.minimum,
            whole="({0} < {1} ? {0} : {1})"),
        Row("maximum", 2, "({0} > {1} || {0} != {0} ? {0} : {1})", np.maximum,
            whole="({0} > {1} ? {0} : {1})"),
        # Intel's compiler takes the difference of two comparisons of a negated number for 0.
        Row("sign", 1, "pa_sign_{T}({0})", np.sign, whole="({0} > 0 ? 1 : {0} < 0 ? -1 : 0)"),
        Row("square", 1, "({0} * {0})", np.square, whole="({0} * {0})",
            complex="pa_mul_{T}({0}, {0})"),
        Row("floor_divide", 2, "pa_floor_divide_{T}({0}, {1})", _floor_divide),
        Row("reciprocal", 1, "(1 / {0})", lambda x: type(x)(1) / x,
            complex="pa_div_{T}(pa_make_{T}(1, 0), {0})"),
        Row("fma", 3, "fma({0}, {1}, {2})", lambda x, y, z: type(x)(_fma(x, y, z))),
        Row("logaddexp", 2, "pa_logaddexp_{T}({0}, {1})", np.logaddexp),
        Row("power", 2, "pow({0}, {1})", np.power),
        Row("gamma", 1, "tgamma({0})", _lib("gamma")),
        Row("lgamma", 1, "lgamma({0})", _lib("lgamma")),
        Row("degrees", 1, "({0} * ({T})57.29577951308232)", np.degrees),
        Row("radians", 1, "({0} * ({T})0.017453292519943295)", np.radians),
    ]  # fmt: skip
    return {row.name: row for row in rows}


def _fma(x: Any, y: Any, z: Any) -> Any:
    return np.longdouble(x) * np.longdouble(y) + np.longdouble(z)


FUNCTIONS: Mapping[str, Row] = _rows()

# What a user may write, and the row or the operator that it means.
_SAME = frozenset(_FLOATS.split()) | {"exp", "isnan", "isinf", "isfinite", *_PAIRS} - {"fmod"}
MATH: Mapping[str, str] = {
    **{name: name for name in (*_SAME, *_RENAMED, "fmod", "cbrt", "erf", "erfc", "fma", "gamma")},
    **{name: name for name in ("lgamma", "degrees", "radians")},
    "pow": "power", "fabs": "abs", "floor": "whole_floor", "ceil": "whole_ceil", "trunc": "whole",
}  # fmt: skip
"""Functions of the module ``math``; its ``floor``, ``ceil`` and ``trunc`` are integers."""

CMATH: Mapping[str, str] = {name: name for name in ("exp", "isnan", "isinf", "isfinite")}
"""Functions of the module ``cmath``, which convert their argument to a complex number."""

NAMESPACE: Mapping[str, str] = {
    **{name: name for name in (*_SAME, *_RENAMED, "abs", "sign", "square", "reciprocal")},
    **{name: name for name in ("minimum", "maximum", "signbit", "logaddexp")},
    **{name: name for name in ("conj", "real", "imag")},
    "round": "rint", "conjugate": "conj",
}  # fmt: skip
"""Elementwise functions of portarray (and of other namespaces of the standard)."""

OPERATORS: Mapping[str, str] = {
    "add": "+", "subtract": "-", "multiply": "*", "divide": "/", "floor_divide": "//",
    "remainder": "%", "pow": "**", "bitwise_and": "&", "bitwise_or": "|", "bitwise_xor": "^",
    "bitwise_left_shift": "<<", "bitwise_right_shift": ">>", "negative": "-x", "positive": "+x",
    "bitwise_invert": "~x",
}  # fmt: skip
"""Names of the standard for operators."""

COMPARISONS: Mapping[str, str] = {
    "equal": "==", "not_equal": "!=", "less": "<", "less_equal": "<=", "greater": ">",
    "greater_equal": ">=",
}  # fmt: skip

CONSTANTS: Mapping[str, float] = {
    "pi": math.pi, "e": math.e, "tau": math.tau, "inf": math.inf, "nan": math.nan,
}  # fmt: skip

BUILTINS: Mapping[str, str] = {"abs": "abs", "min": "min", "max": "max", "round": "whole_round"}
