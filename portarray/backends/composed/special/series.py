"""Polynomials, Chebyshev series and other parts that special functions share."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

LOG_ROOT_2PI = math.log(2 * math.pi) / 2


def polynomial(x: Any, coefficients: Sequence[float]) -> Any:
    """Return a polynomial's values; the constant term comes first."""
    value: Any = coefficients[-1]
    for coefficient in coefficients[-2::-1]:
        value = value * x + coefficient
    return value


def chebyshev(t: Any, coefficients: Sequence[float]) -> Any:
    """Return the values of a Chebyshev series at t from -1 to 1, by Clenshaw's recurrence."""
    higher, value = 0.0, coefficients[-1] + 0.0 * t
    for coefficient in coefficients[-2:0:-1]:
        higher, value = value, coefficient + 2 * t * value - higher
    return coefficients[0] + t * value - higher


def is_single(xp: Any, x: Any) -> bool:
    """Return whether an array is of float32."""
    return bool(x.dtype == xp.float32)


def sin_pi(xp: Any, x: Any) -> Any:
    """Return sin(pi x) with its relative precision near its zeros, too."""
    nearest = xp.round(x)
    odd = nearest - 2 * xp.floor(nearest / 2)
    return xp.sin(math.pi * (x - nearest)) * (1 - 2 * odd)


def ratio(x: Any, rational: tuple[Sequence[float], Sequence[float]]) -> Any:
    """Return the quotient of two polynomials."""
    return polynomial(x, rational[0]) / polynomial(x, rational[1])
