"""Exponentials, logarithms, powers and roots of dpnp's arrays."""

from __future__ import annotations

import math
from functools import partial

import dpnp
from dpnp import ndarray

from portarray.backends.composed.exponential import expm1_parts, log1p_parts, log_parts
from portarray.backends.dpnp.namespace.complex import by_parts, dense, exact
from portarray.backends.dpnp.namespace.scalars import constant, taking_scalars
from portarray.backends.types import Rows

square = dpnp.square


def _scaled_log(scale: float, x: ndarray) -> ndarray:
    out = exact(dpnp.log, log_parts, x)
    # Part by part, which keeps infinities and NaN apart.
    re, im = out.real, out.imag
    out.real = dpnp.multiply(re, constant(scale, re))
    out.imag = dpnp.multiply(im, constant(scale, im))
    return out


PLAIN: Rows = {
    "logaddexp": {"f": dpnp.logaddexp},
    "pow": {"iufc": dpnp.pow},
}

ROWS: Rows = {
    **taking_scalars(PLAIN),
    "exp": {"f": dpnp.exp, "c": partial(dense, dpnp.exp)},
    # dpnp.expm1 gives NaN where the exponential overflows, and -0 at -0.
    "expm1": {"f": dpnp.expm1, "c": partial(by_parts, expm1_parts)},
    "log": {"f": dpnp.log, "c": partial(exact, dpnp.log, log_parts)},
    "log10": {"f": dpnp.log10, "c": partial(_scaled_log, 1 / math.log(10))},
    # dpnp.log1p loses the imaginary part, or the real one, where the other is tiny.
    "log1p": {"f": dpnp.log1p, "c": partial(by_parts, log1p_parts)},
    # dpnp.log2 loses digits near 1.
    "log2": {"f": dpnp.log2, "c": partial(_scaled_log, 1 / math.log(2))},
    "sqrt": {"f": dpnp.sqrt, "c": partial(dense, dpnp.sqrt)},
}
