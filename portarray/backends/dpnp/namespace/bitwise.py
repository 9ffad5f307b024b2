"""Bitwise operations on dpnp's arrays of integers and booleans."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import Scalar, pair

_bitwise_and = dpnp.bitwise_and
_bitwise_left_shift = dpnp.bitwise_left_shift
_bitwise_or = dpnp.bitwise_or
_bitwise_right_shift = dpnp.bitwise_right_shift
_bitwise_xor = dpnp.bitwise_xor

bitwise_invert = dpnp.bitwise_invert


def bitwise_and(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``x1 & x2``."""
    return _bitwise_and(*pair(x1, x2))


def bitwise_left_shift(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``x1 << x2``; 0 where all bits are shifted out."""
    return _bitwise_left_shift(*pair(x1, x2))


def bitwise_or(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``x1 | x2``."""
    return _bitwise_or(*pair(x1, x2))


def bitwise_right_shift(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``x1 >> x2``, filling with the sign."""
    return _bitwise_right_shift(*pair(x1, x2))


def bitwise_xor(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``x1 ^ x2``."""
    return _bitwise_xor(*pair(x1, x2))
