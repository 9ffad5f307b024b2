"""Logical operations on dpnp's arrays of booleans."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import Scalar, pair

_logical_and = dpnp.logical_and
_logical_or = dpnp.logical_or
_logical_xor = dpnp.logical_xor

logical_not = dpnp.logical_not


def logical_and(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where both are true."""
    return _logical_and(*pair(x1, x2))


def logical_or(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where at least one is true."""
    return _logical_or(*pair(x1, x2))


def logical_xor(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where exactly one is true."""
    return _logical_xor(*pair(x1, x2))
