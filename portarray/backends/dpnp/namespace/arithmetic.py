"""Arithmetic on dpnp's arrays."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import Scalar, pair

_add = dpnp.add
_copysign = dpnp.copysign
_divide = dpnp.divide
_floor_divide = dpnp.floor_divide
_multiply = dpnp.multiply
_nextafter = dpnp.nextafter
_remainder = dpnp.remainder
_sign = dpnp.sign
_subtract = dpnp.subtract

abs = dpnp.abs
negative = dpnp.negative
reciprocal = dpnp.reciprocal
signbit = dpnp.signbit


def add(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Add."""
    return _add(*pair(x1, x2))


def copysign(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return x1's magnitude with x2's sign."""
    return _copysign(*pair(x1, x2))


def divide(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Divide."""
    return _divide(*pair(x1, x2))


def floor_divide(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Divide and round down; infinite operands give ``floor(x1 / x2)``."""
    x1, x2 = pair(x1, x2)
    quotient = _floor_divide(x1, x2)
    if quotient.dtype.kind != "f":
        return quotient
    # dpnp rounds the quotient before it rounds down. Where that made it whole from below, the
    # remainder is nearly the divisor.
    above = (_remainder(x1, x2) / x2 > 0.5) & (quotient == x1 / x2)
    return dpnp.where(above, quotient - 1, quotient)


def multiply(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Multiply."""
    return _multiply(*pair(x1, x2))


def nextafter(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return the next representable number after x1 towards x2."""
    return _nextafter(*pair(x1, x2))


def positive(x: ndarray, /) -> ndarray:
    """Return a copy; dpnp's own refuses booleans."""
    return dpnp.copy(x)


def remainder(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return the remainder, with the divisor's sign."""
    return _remainder(*pair(x1, x2))


def sign(x: ndarray, /) -> ndarray:
    """Return the sign: -1, 0 or 1, NaN for NaN, and ``x / abs(x)`` for complex numbers."""
    if x.dtype.kind != "c":
        return _sign(x)
    # Of an infinite number the direction of its infinite part; NaN where both are infinite.
    a, b = x.real, x.imag
    infinite = (dpnp.isinf(a) ^ dpnp.isinf(b)) & ~dpnp.isnan(x)
    out = _sign(x)
    for part, own in ((a, "real"), (b, "imag")):
        direction = dpnp.where(dpnp.isinf(part), _sign(part), dpnp.zeros_like(part))
        setattr(out, own, dpnp.where(infinite, direction, getattr(out, own)))
    return out


def subtract(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Subtract."""
    return _subtract(*pair(x1, x2))
