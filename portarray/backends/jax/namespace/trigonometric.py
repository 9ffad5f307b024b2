"""Trigonometric and hyperbolic functions of JAX arrays."""

from __future__ import annotations

import math

import jax
import jax.numpy as jnp

from portarray.backends.composed.trigonometric import (
    acos_parts,
    acosh_parts,
    asin_parts,
    asinh_parts,
    atan_parts,
    atanh_parts,
    cos_parts,
    cosh_parts,
    sin_parts,
    sinh_parts,
    tan_parts,
    tanh_parts,
)
from portarray.backends.jax.namespace.compiled import by_parts, compiled
from portarray.backends.jax.namespace.data_type import finfo
from portarray.backends.jax.namespace.promotion import Scalar, operands

_atan2 = jnp.atan2
_hypot = jnp.hypot
complex_acos = by_parts(acos_parts)
complex_acosh = by_parts(acosh_parts)
complex_asin = by_parts(asin_parts)
complex_asinh = by_parts(asinh_parts)
complex_atan = by_parts(atan_parts)
complex_atanh = by_parts(atanh_parts)
complex_cos = by_parts(cos_parts)
complex_cosh = by_parts(cosh_parts)
complex_sin = by_parts(sin_parts)
complex_sinh = by_parts(sinh_parts)
complex_tan = by_parts(tan_parts)
complex_tanh = by_parts(tanh_parts)


def acos(x: jax.Array, /) -> jax.Array:
    """Return arc cosines."""
    return complex_acos(x) if x.dtype.kind == "c" else jnp.acos(x)


def acosh(x: jax.Array, /) -> jax.Array:
    """Return inverse hyperbolic cosines."""
    return complex_acosh(x) if x.dtype.kind == "c" else jnp.acosh(x)


def asin(x: jax.Array, /) -> jax.Array:
    """Return arc sines."""
    return complex_asin(x) if x.dtype.kind == "c" else jnp.asin(x)


def asinh(x: jax.Array, /) -> jax.Array:
    """Return inverse hyperbolic sines."""
    return complex_asinh(x) if x.dtype.kind == "c" else jnp.asinh(x)


def atan(x: jax.Array, /) -> jax.Array:
    """Return arc tangents."""
    return complex_atan(x) if x.dtype.kind == "c" else jnp.atan(x)


def atanh(x: jax.Array, /) -> jax.Array:
    """Return inverse hyperbolic tangents."""
    return complex_atanh(x) if x.dtype.kind == "c" else jnp.atanh(x)


def cos(x: jax.Array, /) -> jax.Array:
    """Return cosines."""
    return complex_cos(x) if x.dtype.kind == "c" else jnp.cos(x)


def cosh(x: jax.Array, /) -> jax.Array:
    """Return hyperbolic cosines."""
    return complex_cosh(x) if x.dtype.kind == "c" else real_cosh(x)


def sin(x: jax.Array, /) -> jax.Array:
    """Return sines."""
    return complex_sin(x) if x.dtype.kind == "c" else jnp.sin(x)


def sinh(x: jax.Array, /) -> jax.Array:
    """Return hyperbolic sines."""
    return complex_sinh(x) if x.dtype.kind == "c" else real_sinh(x)


def tan(x: jax.Array, /) -> jax.Array:
    """Return tangents."""
    return complex_tan(x) if x.dtype.kind == "c" else jnp.tan(x)


def tanh(x: jax.Array, /) -> jax.Array:
    """Return hyperbolic tangents."""
    return complex_tanh(x) if x.dtype.kind == "c" else jnp.tanh(x)


def atan2(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return the angle of the point (x2, x1)."""
    return _atan2(*operands(x1, x2))


def hypot(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return ``sqrt(x1**2 + x2**2)`` without overflow on the way."""
    return _hypot(*operands(x1, x2))


@compiled
def real_cosh(x: jax.Array, /) -> jax.Array:
    """Return hyperbolic cosines of real numbers."""
    far, half, near = _halves(x)
    return jnp.where(far, half / 2 * half, jnp.cosh(near))


@compiled
def real_sinh(x: jax.Array, /) -> jax.Array:
    """Return hyperbolic sines of real numbers."""
    far, half, near = _halves(x)
    return jnp.where(far, jnp.copysign(half / 2 * half, x), jnp.sinh(near))


def _halves(x: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Return where x is so far from 0 that one exponential is all, its root there, and x elsewhere.

    JAX takes the exponential of ``x - log(2)``, whose rounding costs as many ULP as x is large.
    """
    size = jnp.abs(x)
    far = size > -0.4 * math.log2(finfo(x.dtype).eps)
    return far, jnp.exp(jnp.where(far, size, 0) / 2), jnp.where(far, 0, x)
