"""Trigonometric and hyperbolic functions of dpnp's arrays."""

from __future__ import annotations

import math
from functools import partial

import dpnp
from dpnp import ndarray

from portarray.backends.composed.trigonometric import (
    acos_parts,
    acosh_parts,
    asin_parts,
    asinh_parts,
    atan_parts,
    atanh_parts,
)
from portarray.backends.dpnp.namespace.complex import dense, exact
from portarray.backends.dpnp.namespace.scalars import constant, taking_scalars
from portarray.backends.types import Rows


def _acosh(x: ndarray) -> ndarray:
    # oneMKL returns NaN + NaN j at NaN j.
    out = exact(dpnp.acosh, acosh_parts, x)
    edge = dpnp.logical_and(x.real == 0, dpnp.isnan(x.imag))
    out.imag = dpnp.where(edge, constant(math.pi / 2, out.imag), out.imag)
    return out


def _tan(x: ndarray) -> ndarray:
    # As in tanh, since tan(z) is -j tanh(jz).
    out = dense(dpnp.tan, x)
    a, b = x.real, x.imag
    out.imag = dpnp.where((b == 0) & ~dpnp.isfinite(a), b, out.imag)
    out.real = dpnp.where(dpnp.isinf(b), dpnp.copysign(dpnp.zeros_like(a), a), out.real)
    return out


def _tanh(x: ndarray) -> ndarray:
    # oneMKL returns NaN + NaN j at 0 + inf j, where the standard keeps the 0, and at infinity the
    # zero of sin(2b), where the standard's zero has the sign of b.
    out = dense(dpnp.tanh, x)
    a, b = x.real, x.imag
    out.real = dpnp.where((a == 0) & ~dpnp.isfinite(b), a, out.real)
    out.imag = dpnp.where(dpnp.isinf(a), dpnp.copysign(dpnp.zeros_like(b), b), out.imag)
    return out


DIRECT: Rows = {"atan2": {"f": dpnp.atan2}, "hypot": {"f": dpnp.hypot}}

BY_DTYPE: Rows = {
    **taking_scalars(DIRECT),
    "acos": {"f": dpnp.acos, "c": partial(exact, dpnp.acos, acos_parts)},
    "acosh": {"f": dpnp.acosh, "c": _acosh},
    "asin": {"f": dpnp.asin, "c": partial(exact, dpnp.asin, asin_parts)},
    "asinh": {"f": dpnp.asinh, "c": partial(exact, dpnp.asinh, asinh_parts)},
    "atan": {"f": dpnp.atan, "c": partial(exact, dpnp.atan, atan_parts)},
    "atanh": {"f": dpnp.atanh, "c": partial(exact, dpnp.atanh, atanh_parts)},
    "cos": {"f": dpnp.cos, "c": partial(dense, dpnp.cos)},
    "cosh": {"f": dpnp.cosh, "c": partial(dense, dpnp.cosh)},
    "sin": {"f": dpnp.sin, "c": partial(dense, dpnp.sin)},
    "sinh": {"f": dpnp.sinh, "c": partial(dense, dpnp.sinh)},
    "tan": {"f": dpnp.tan, "c": _tan},
    "tanh": {"f": dpnp.tanh, "c": _tanh},
}
