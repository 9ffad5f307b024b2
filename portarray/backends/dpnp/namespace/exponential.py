"""Exponentials, logarithms, powers and roots of dpnp's arrays."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import Scalar, pair

_logaddexp = dpnp.logaddexp
_pow = dpnp.pow

exp = dpnp.exp
expm1 = dpnp.expm1
log = dpnp.log
log10 = dpnp.log10
log1p = dpnp.log1p
log2 = dpnp.log2
sqrt = dpnp.sqrt
square = dpnp.square


def logaddexp(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``log(exp(x1) + exp(x2))``."""
    return _logaddexp(*pair(x1, x2))


def pow(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return x1 to the power of x2."""
    return _pow(*pair(x1, x2))
