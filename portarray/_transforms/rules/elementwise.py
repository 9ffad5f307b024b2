"""Gradients of elementwise functions."""

from __future__ import annotations

import math
from typing import Any

from portarray._array.array import Array
from portarray._namespace import pa
from portarray._transforms.rules.table import (
    along,
    conj,
    define,
    divided,
    in_single,
    over,
    scaled,
    times,
)

_LN2, _LN10 = math.log(2), math.log(10)


def _zero(g: Any, y: Any, *operands: Any) -> Any:
    return pa.zeros_like(g)


@times
def _power_base(y: Any, x: Any, p: Any) -> Any:
    if not isinstance(p, Array):
        return 0 if p == 0 else p * x ** (p - 1)
    # An exponent of zero has a derivative of zero everywhere; 1 / x is its derivative by p.
    power = x ** (p - 1)
    return p * pa.where((p == 0) & ~pa.isfinite(power), 0, power)


@times
def _power_exponent(y: Any, x: Any, p: Any) -> Any:
    if not isinstance(x, Array):
        if x == 0:
            return 0
        return y * (math.log(x) if not isinstance(x, complex) and x > 0 else pa.log(y / y * x))
    # 0**p is 0 for every p > 0, and so is inf**p for every p < 0.
    is_zero = (x == 0) | (y == 0)
    return pa.where(is_zero, 0, y * pa.log(pa.where(is_zero, 1, x)))


def _imaginary(g: Any, y: Any, x: Any) -> Any:
    return g * 1j if pa.isdtype(x.dtype, "complex floating") else pa.zeros_like(g)


def _share(g: Any, beyond: Any, first: Any, second: Any) -> Any:
    """Return g where ``first`` is the result, and half of it where both are equal."""
    return pa.where(beyond(first, second), g, pa.where(pa.equal(first, second), g * 0.5, 0))


def _cosine(y: Any, a: Any, b: Any) -> Any:
    """Return ``a / hypot(a, b)``, 0 at the origin; the squares and the sum may leave the range."""
    a = a if isinstance(a, Array) else pa.full_like(b, a)
    b = b if isinstance(b, Array) else pa.full_like(a, b)
    larger = pa.stop_gradient(pa.maximum(pa.abs(a), pa.abs(b)))
    is_inf = pa.isinf(larger)
    a, b = (pa.where(is_inf, pa.where(pa.isinf(x), pa.sign(x), 0), x) for x in (a, b))
    scale = pa.where((larger == 0) | is_inf, 1, larger)
    a, b = a / scale, b / scale
    radius = pa.sqrt(a * a + b * b)
    return a / pa.where(radius == 0, 1, radius)


def _turning(g: Any, y: Any, a: Any, b: Any) -> Any:
    """Return ``g * a / (a**2 + b**2)``, 0 at the origin; the squares may over- or underflow."""
    radius = pa.hypot(a, b)
    return divided(scaled(g, _cosine(y, a, b)), pa.where(radius == 0, 1, radius))


def _sign(g: Any, y: Any, x: Any) -> Any:
    if not pa.isdtype(x.dtype, "complex floating"):
        return pa.zeros_like(g)
    # z/|z|: the component of g perpendicular to y, divided by |z|.
    size = pa.abs(x)
    across = pa.imag(scaled(g, conj(y)))
    return scaled(divided(across, pa.where(size == 0, 1, size)), 1j * y)


def _sum_of_square(x: Any) -> Any:
    """Return ``sqrt(1 + x**2)``, whose square may overflow."""
    if pa.isdtype(x.dtype, "complex floating"):
        return pa.sqrt(1 + 1j * x) * pa.sqrt(1 - 1j * x)
    return pa.hypot(x, 1.0)


def _weight(y: Any, x: Any, second: Any) -> Any:
    """Return ``exp(x) / (exp(x) + exp(second))``; equal infinities share the gradient."""
    # Not exp(x - y), which is inaccurate for large numbers.
    equal = pa.isinf(y) & (x == second)
    return 1 / (1 + pa.exp(pa.where(equal, 0, second - x)))


define(
    {
        "abs": lambda g, y, x: scaled(g, pa.sign(x)),
        "acos": over(lambda y, x: -(pa.sqrt(1 - x) * pa.sqrt(1 + x))),
        "acosh": over(lambda y, x: pa.sqrt(x - 1) * pa.sqrt(x + 1)),
        "add": (lambda g, y, a, b: g, lambda g, y, a, b: g),
        "asin": over(lambda y, x: pa.sqrt(1 - x) * pa.sqrt(1 + x)),
        "asinh": over(lambda y, x: _sum_of_square(x)),
        "atan": in_single(over(lambda y, x: 1 + x * x)),
        "atan2": (
            lambda g, y, a, b: _turning(g, y, b, a),
            lambda g, y, a, b: -_turning(g, y, a, b),
        ),
        "atanh": over(lambda y, x: (1 - x) * (1 + x)),
        "ceil": _zero,
        "conj": lambda g, y, x: pa.conj(g),
        "copysign": (
            times(lambda y, a, b: pa.sign(y) * pa.sign(a)),
            lambda g, y, a, b: pa.zeros_like(g),
        ),
        "cos": times(lambda y, x: -pa.sin(x)),
        "cosh": times(lambda y, x: pa.sinh(x)),
        "divide": (over(lambda y, a, b: b), times(lambda y, a, b: -(y / b))),
        "exp": times(lambda y, x: y),
        "expm1": times(lambda y, x: y + 1),
        "floor": _zero,
        "floor_divide": (_zero, _zero),
        "hypot": (times(_cosine), times(lambda y, a, b: _cosine(y, b, a))),
        "imag": _imaginary,
        "log": over(lambda y, x: x),
        "log10": lambda g, y, x: divided(g / _LN10, conj(x)),
        "log1p": over(lambda y, x: 1 + x),
        "log2": over(lambda y, x: x * _LN2),
        "logaddexp": (
            in_single(times(lambda y, a, b: _weight(y, a, b))),
            in_single(times(lambda y, a, b: _weight(y, b, a))),
        ),
        "maximum": (
            lambda g, y, a, b: _share(g, pa.greater, a, b),
            lambda g, y, a, b: _share(g, pa.greater, b, a),
        ),
        "minimum": (
            lambda g, y, a, b: _share(g, pa.less, a, b),
            lambda g, y, a, b: _share(g, pa.less, b, a),
        ),
        "multiply": (lambda g, y, a, b: along(g, b), lambda g, y, a, b: along(g, a)),
        "negative": lambda g, y, x: -g,
        "nextafter": (lambda g, y, a, b: g, lambda g, y, a, b: pa.zeros_like(g)),
        "positive": lambda g, y, x: g,
        "pow": (_power_base, _power_exponent),
        "real": lambda g, y, x: pa.astype(g, x.dtype),
        "reciprocal": times(lambda y, x: -(y * y)),
        "remainder": (lambda g, y, a, b: g, times(lambda y, a, b: -pa.floor_divide(a, b))),
        "round": _zero,
        "sign": _sign,
        "sin": times(lambda y, x: pa.cos(x)),
        "sinh": times(lambda y, x: pa.cosh(x)),
        "sqrt": over(lambda y, x: 2 * y),
        "square": times(lambda y, x: 2 * x),
        "subtract": (lambda g, y, a, b: g, lambda g, y, a, b: -g),
        "tan": times(lambda y, x: 1 + y * y),
        "tanh": times(lambda y, x: 1 - y * y),
        "trunc": _zero,
        "where": (
            None,
            lambda g, y, condition, a, b: pa.where(condition, g, 0),
            lambda g, y, condition, a, b: pa.where(condition, 0, g),
        ),
    }
)
