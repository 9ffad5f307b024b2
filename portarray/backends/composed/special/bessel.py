"""Modified Bessel functions of order 0 and 1."""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from portarray.backends.composed.special.series import chebyshev


@cache
def _bessel_coefficients(order: int, near: bool) -> list[float]:
    """Return Chebyshev coefficients of a scaled Bessel function of x.

    They are those of ``exp(-x) I(x) / x**order`` in ``x / 4 - 1`` up to 8, and of
    ``sqrt(x) exp(-x) I(x)`` in ``16 / x - 1`` beyond it, at Chebyshev's points: there the trapezoid
    rule for ``I(x) = integral of exp(x cos(t)) cos(order t) / pi`` is exact to the last digits,
    and the asymptotic series beyond 40.
    """
    count = 32
    odd = 2 * np.arange(count) + 1
    cosines = np.cos(np.arange(28)[:, None] * odd % (4 * count) * (math.pi / (2 * count)))
    points = cosines[1]
    x = 4 * (points + 1) if near else 16 / (points + 1)
    t = np.linspace(0, math.pi, 65)[:, None]
    weights = np.full((65, 1), 1 / 64)
    weights[[0, -1]] = 1 / 128
    # By parts, I1(x) / x is an integral without cancellation.
    factor = np.sin(t) ** 2 if near and order else np.cos(order * t)
    kernel = np.exp(-2 * x * np.sin(t / 2) ** 2) * factor
    values = np.sum(weights * kernel, axis=0)
    if not near:
        term = series = np.full(count, 1 / math.sqrt(2 * math.pi))
        for k in range(1, 40):
            term = term * -(4 * order**2 - (2 * k - 1) ** 2) / (k * 8 * np.maximum(x, 40.0))
            series = series + term
        values = np.where(x > 40, series, np.sqrt(x) * values)
    coefficients = 2 / count * np.sum(cosines * values, axis=1)
    coefficients[0] /= 2
    return list(map(float, coefficients))


def _bessel(xp: Any, x: Any, order: int) -> Any:
    """Return exp(-abs(x)) times the modified Bessel function of an order, 0 or 1."""
    size = xp.abs(x)
    near = chebyshev(xp.minimum(size, 8.0) / 4 - 1, _bessel_coefficients(order, True))
    large = xp.maximum(size, 8.0)
    far = chebyshev(16 / large - 1, _bessel_coefficients(order, False)) / xp.sqrt(large)
    if not order:
        return xp.where(size <= 8, near, far)
    return xp.where(size <= 8, x * near, xp.copysign(far, x))


def i0e(xp: Any, x: Any) -> Any:
    return _bessel(xp, x, 0)


def i1e(xp: Any, x: Any) -> Any:
    return _bessel(xp, x, 1)


def i0(xp: Any, x: Any) -> Any:
    half = xp.exp(xp.abs(x) / 2)  # the power itself may overflow
    return xp.where(xp.isinf(x), math.inf, half * _bessel(xp, x, 0) * half)


def i1(xp: Any, x: Any) -> Any:
    half = xp.exp(xp.abs(x) / 2)
    return xp.where(xp.isinf(x), x, half * _bessel(xp, x, 1) * half)
