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
_subtract = dpnp.subtract

abs = dpnp.abs
negative = dpnp.negative
positive = dpnp.positive
reciprocal = dpnp.reciprocal
sign = dpnp.sign
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
    """Divide and round down."""
    return _floor_divide(*pair(x1, x2))


def multiply(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Multiply."""
    return _multiply(*pair(x1, x2))


def nextafter(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return the next representable number after x1 towards x2."""
    return _nextafter(*pair(x1, x2))


def remainder(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return the remainder, with the divisor's sign."""
    return _remainder(*pair(x1, x2))


def subtract(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Subtract."""
    return _subtract(*pair(x1, x2))
