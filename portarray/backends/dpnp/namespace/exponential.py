"""Exponentials, logarithms, powers and roots of dpnp's arrays."""

from __future__ import annotations

import math

import dpnp
from dpnp import ndarray

from portarray.backends.composed.exponential import expm1_parts, log1p_parts, log_parts
from portarray.backends.dpnp.namespace.complex import by_parts, dense, exact
from portarray.backends.dpnp.namespace.promotion import Scalar, pair

_exp = dpnp.exp
_expm1 = dpnp.expm1
_log = dpnp.log
_log10 = dpnp.log10
_log1p = dpnp.log1p
_log2 = dpnp.log2
_logaddexp = dpnp.logaddexp
_pow = dpnp.pow
_sqrt = dpnp.sqrt

square = dpnp.square


def exp(x: ndarray, /) -> ndarray:
    """Return e to the power of x."""
    return _exp(x) if x.dtype.kind != "c" else dense(_exp, x)


def expm1(x: ndarray, /) -> ndarray:
    """Return ``exp(x) - 1``, exact near 0."""
    # dpnp's own gives NaN where the exponential overflows, and -0 at -0.
    return _expm1(x) if x.dtype.kind != "c" else by_parts(expm1_parts, x)


def log(x: ndarray, /) -> ndarray:
    """Return natural logarithms."""
    return _log(x) if x.dtype.kind != "c" else exact(_log, log_parts, x)


def log10(x: ndarray, /) -> ndarray:
    """Return logarithms to base 10."""
    return _log10(x) if x.dtype.kind != "c" else _scaled_log(x, 1 / math.log(10))


def log1p(x: ndarray, /) -> ndarray:
    """Return ``log(1 + x)``, exact near 0."""
    # dpnp's own loses the imaginary part, or the real one, where the other is tiny.
    return _log1p(x) if x.dtype.kind != "c" else by_parts(log1p_parts, x)


def log2(x: ndarray, /) -> ndarray:
    """Return logarithms to base 2."""
    if x.dtype.kind != "c":
        return _log2(x)
    # dpnp's own loses digits near 1.
    return _scaled_log(x, 1 / math.log(2))


def _scaled_log(x: ndarray, scale: float) -> ndarray:
    out = exact(_log, log_parts, x)
    # Part by part, which keeps infinities and NaN apart.
    out.real *= scale
    out.imag *= scale
    return out


def logaddexp(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``log(exp(x1) + exp(x2))``."""
    return _logaddexp(*pair(x1, x2))


def pow(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return x1 to the power of x2."""
    return _pow(*pair(x1, x2))


def sqrt(x: ndarray, /) -> ndarray:
    """Return square roots."""
    return _sqrt(x) if x.dtype.kind != "c" else dense(_sqrt, x)
