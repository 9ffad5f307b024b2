"""Exponentials, logarithms, powers and roots of dpnp's arrays."""

from __future__ import annotations

import math
from functools import partial

import dpnp
from dpnp import ndarray

from portarray._dtypes.promotion import Scalar
from portarray.backends.composed.exponential import expm1_parts, log1p_parts, log_parts
from portarray.backends.dpnp.namespace.complex import as_real_pairs, dense, exact, packed
from portarray.backends.dpnp.namespace.scalars import constant, pair, taking_scalars
from portarray.backends.types import Rows

square = dpnp.square


def _scaled_log(scale: float, x: ndarray) -> ndarray:
    out = exact(dpnp.log, log_parts, x)
    # Part by part, which keeps infinities and NaN apart.
    re, im = out.real, out.imag
    out.real = dpnp.multiply(re, constant(scale, re))
    out.imag = dpnp.multiply(im, constant(scale, im))
    return out


def check_power(exponent: ndarray | Scalar) -> None:
    """Raise for negative powers of integers, which dpnp computes as 0; waits for an array."""
    if isinstance(exponent, ndarray):
        exponent = bool(dpnp.any(dpnp.less(exponent, constant(0, exponent)))) and -1
    if exponent < 0:  # type: ignore[operator]  # a whole number here
        raise ValueError("integers have no negative powers; convert x1 to a floating-point dtype")


def _signed_pow(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    check_power(x2)
    return dpnp.pow(*pair(x1, x2))


def _complex_pow(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    x1, x2 = pair(x1, x2)
    # dpnp returns NaN for 0 and non-finite numbers, even to the power 0, and reads reversed views
    # from the wrong end.
    is_zero = dpnp.equal(x2, constant(0, x2))
    power = dpnp.pow(packed(x1), packed(x2))
    return dpnp.where(is_zero, constant(1, x1), power)


DIRECT: Rows = {"logaddexp": {"f": dpnp.logaddexp}, "pow": {"uf": dpnp.pow}}

_OF_TWO = taking_scalars(DIRECT)
BY_DTYPE: Rows = {
    **_OF_TWO,
    "pow": {**_OF_TWO["pow"], "i": _signed_pow, "c": _complex_pow},
    "exp": {"f": dpnp.exp, "c": partial(dense, dpnp.exp)},
    # dpnp.expm1 returns NaN where the exponential overflows, and -0 at -0.
    "expm1": {"f": dpnp.expm1, "c": partial(as_real_pairs, expm1_parts)},
    "log": {"f": dpnp.log, "c": partial(exact, dpnp.log, log_parts)},
    "log10": {"f": dpnp.log10, "c": partial(_scaled_log, 1 / math.log(10))},
    # dpnp.log1p loses the imaginary part, or the real one, where the other is tiny.
    "log1p": {"f": dpnp.log1p, "c": partial(as_real_pairs, log1p_parts)},
    # dpnp.log2 loses digits near 1.
    "log2": {"f": dpnp.log2, "c": partial(_scaled_log, 1 / math.log(2))},
    "sqrt": {"f": dpnp.sqrt, "c": partial(dense, dpnp.sqrt)},
}
