"""Comparisons, what is finite, and limits."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import Scalar, pair

_equal = dpnp.equal
_greater = dpnp.greater
_greater_equal = dpnp.greater_equal
_less = dpnp.less
_less_equal = dpnp.less_equal
_maximum = dpnp.maximum
_minimum = dpnp.minimum
_not_equal = dpnp.not_equal

isfinite = dpnp.isfinite
isinf = dpnp.isinf
isnan = dpnp.isnan
clip = dpnp.clip


def equal(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where x1 equals x2."""
    return _equal(*pair(x1, x2))


def greater(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where ``x1 > x2``."""
    return _greater(*pair(x1, x2))


def greater_equal(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where ``x1 >= x2``."""
    return _greater_equal(*pair(x1, x2))


def less(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where ``x1 < x2``."""
    return _less(*pair(x1, x2))


def less_equal(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where ``x1 <= x2``."""
    return _less_equal(*pair(x1, x2))


def maximum(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return the larger of each two; NaN where one is NaN."""
    return _maximum(*pair(x1, x2))


def minimum(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return the smaller of each two; NaN where one is NaN."""
    return _minimum(*pair(x1, x2))


def not_equal(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Tell where x1 differs from x2."""
    return _not_equal(*pair(x1, x2))
