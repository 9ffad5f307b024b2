"""Gradients of elementwise functions."""

from __future__ import annotations

import math
from typing import Any

from portarray._array.array import Array
from portarray._namespace import pa
from portarray._transforms.rules.table import conj, define

_LN2, _LN10 = math.log(2), math.log(10)


def _zero(g: Any, y: Any, *operands: Any) -> Any:
    return pa.zeros_like(g)


def _power_base(g: Any, y: Any, x: Any, p: Any) -> Any:
    if not isinstance(p, Array):
        return pa.zeros_like(x) if p == 0 else g * conj(p * x ** (p - 1))
    is_zero = p == 0
    return pa.where(is_zero, 0, g * conj(p * x ** pa.where(is_zero, 1, p - 1)))


def _power_exponent(g: Any, y: Any, x: Any, p: Any) -> Any:
    if not isinstance(x, Array):
        if x == 0:
            return pa.zeros_like(g)
        logarithm = math.log(x) if not isinstance(x, complex) and x > 0 else pa.log(y / y * x)
        return g * conj(y * logarithm)
    # 0**p is 0 for every p > 0.
    is_zero = x == 0
    return pa.where(is_zero, 0, g * conj(y * pa.log(pa.where(is_zero, 1, x))))


def _imaginary(g: Any, y: Any, x: Any) -> Any:
    return g * 1j if pa.isdtype(x.dtype, "complex floating") else pa.zeros_like(g)


def _absolute(g: Any, y: Any, x: Any) -> Any:
    return g * pa.sign(x)


def _share(g: Any, beyond: Any, first: Any, second: Any) -> Any:
    """Return g where ``first`` is the result, and half of it where both are equal."""
    whole = pa.astype(beyond(first, second), g.dtype)
    return g * (whole + pa.astype(pa.equal(first, second), g.dtype) * 0.5)


def _turning(a: Any, b: Any) -> tuple[Any, Any]:
    """Return a and b divided by a**2 + b**2, 0 at the origin."""
    square = a * a + b * b
    square = pa.where(square == 0, 1, square)
    return a / square, b / square


def _sign(g: Any, y: Any, x: Any) -> Any:
    if not pa.isdtype(x.dtype, "complex floating"):
        return pa.zeros_like(g)
    # z/|z|: the component of g perpendicular to y, divided by |z|.
    size = pa.abs(x)
    size = pa.where(size == 0, 1, size)
    return 1j * y * pa.imag(conj(y) * g) / size


define(
    {
        "abs": _absolute,
        "acos": lambda g, y, x: -g / conj(pa.sqrt(1 - x) * pa.sqrt(1 + x)),
        "acosh": lambda g, y, x: g / conj(pa.sqrt(x - 1) * pa.sqrt(x + 1)),
        "add": (lambda g, y, a, b: g, lambda g, y, a, b: g),
        "asin": lambda g, y, x: g / conj(pa.sqrt(1 - x) * pa.sqrt(1 + x)),
        "asinh": lambda g, y, x: g / conj(pa.sqrt(1 + x * x)),
        "atan": lambda g, y, x: g / conj(1 + x * x),
        "atan2": (
            lambda g, y, a, b: g * _turning(a, b)[1],
            lambda g, y, a, b: -g * _turning(a, b)[0],
        ),
        "atanh": lambda g, y, x: g / conj((1 - x) * (1 + x)),
        "ceil": _zero,
        "conj": lambda g, y, x: pa.conj(g),
        "copysign": (
            lambda g, y, a, b: g * pa.sign(y) * pa.sign(a),
            lambda g, y, a, b: pa.zeros_like(g),
        ),
        "cos": lambda g, y, x: -g * conj(pa.sin(x)),
        "cosh": lambda g, y, x: g * conj(pa.sinh(x)),
        "divide": (lambda g, y, a, b: g / conj(b), lambda g, y, a, b: -g * conj(y / b)),
        "exp": lambda g, y, x: g * conj(y),
        "expm1": lambda g, y, x: g * conj(y + 1),
        "floor": _zero,
        "floor_divide": (_zero, _zero),
        "hypot": (
            lambda g, y, a, b: g * a / pa.where(y == 0, 1, y),
            lambda g, y, a, b: g * b / pa.where(y == 0, 1, y),
        ),
        "imag": _imaginary,
        "log": lambda g, y, x: g / conj(x),
        "log10": lambda g, y, x: g / conj(x * _LN10),
        "log1p": lambda g, y, x: g / conj(1 + x),
        "log2": lambda g, y, x: g / conj(x * _LN2),
        "logaddexp": (
            lambda g, y, a, b: g * pa.exp(a - y),
            lambda g, y, a, b: g * pa.exp(b - y),
        ),
        "maximum": (
            lambda g, y, a, b: _share(g, pa.greater, a, b),
            lambda g, y, a, b: _share(g, pa.greater, b, a),
        ),
        "minimum": (
            lambda g, y, a, b: _share(g, pa.less, a, b),
            lambda g, y, a, b: _share(g, pa.less, b, a),
        ),
        "multiply": (lambda g, y, a, b: g * conj(b), lambda g, y, a, b: g * conj(a)),
        "negative": lambda g, y, x: -g,
        "nextafter": (lambda g, y, a, b: g, lambda g, y, a, b: pa.zeros_like(g)),
        "positive": lambda g, y, x: g,
        "pow": (_power_base, _power_exponent),
        "real": lambda g, y, x: pa.astype(g, x.dtype),
        "reciprocal": lambda g, y, x: -g * conj(y * y),
        "remainder": (lambda g, y, a, b: g, lambda g, y, a, b: -g * pa.floor_divide(a, b)),
        "round": _zero,
        "sign": _sign,
        "sin": lambda g, y, x: g * conj(pa.cos(x)),
        "sinh": lambda g, y, x: g * conj(pa.cosh(x)),
        "sqrt": lambda g, y, x: g / conj(2 * y),
        "square": lambda g, y, x: g * conj(2 * x),
        "subtract": (lambda g, y, a, b: g, lambda g, y, a, b: -g),
        "tan": lambda g, y, x: g * conj(1 + y * y),
        "tanh": lambda g, y, x: g * conj(1 - y * y),
        "trunc": _zero,
        "where": (
            None,
            lambda g, y, condition, a, b: pa.where(condition, g, 0),
            lambda g, y, condition, a, b: pa.where(condition, 0, g),
        ),
    }
)
