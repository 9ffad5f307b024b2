"""Exponentials, logarithms, powers and roots of JAX arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from portarray.backends.composed.exponential import (
    exp_parts,
    expm1_parts,
    log1p_parts,
    log_parts,
    pow_of_zero,
    sqrt_parts,
)
from portarray.backends.jax import tracing
from portarray.backends.jax.namespace.compiled import by_parts, compiled
from portarray.backends.jax.namespace.promotion import Scalar, kind_of, operands, pair

_logaddexp = jnp.logaddexp

log10 = jnp.log10
log2 = jnp.log2
square = jnp.square
complex_exp = by_parts(exp_parts)
complex_log = by_parts(log_parts)
complex_log1p = by_parts(log1p_parts)
complex_sqrt = by_parts(sqrt_parts)


def _expm1_parts(xp: Any, a: jax.Array, b: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Return the parts of ``exp(a + bj) - 1``; XLA leaves a ``+ 0.0`` out that makes 0 of -0."""
    real, imag = expm1_parts(xp, a, b)
    return jnp.where(real == 0, 0, real), imag


complex_expm1 = by_parts(_expm1_parts)


def exp(x: jax.Array, /) -> jax.Array:
    """Return exponentials."""
    return complex_exp(x) if x.dtype.kind == "c" else jnp.exp(x)


def expm1(x: jax.Array, /) -> jax.Array:
    """Return ``exp(x) - 1``, exact near 0."""
    return complex_expm1(x) if x.dtype.kind == "c" else jnp.expm1(x)


def log(x: jax.Array, /) -> jax.Array:
    """Return natural logarithms."""
    return complex_log(x) if x.dtype.kind == "c" else jnp.log(x)


def log1p(x: jax.Array, /) -> jax.Array:
    """Return ``log(1 + x)``, exact near 0."""
    return complex_log1p(x) if x.dtype.kind == "c" else jnp.log1p(x)


def sqrt(x: jax.Array, /) -> jax.Array:
    """Return square roots."""
    return complex_sqrt(x) if x.dtype.kind == "c" else jnp.sqrt(x)


def logaddexp(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return ``log(exp(x1) + exp(x2))``."""
    return _logaddexp(*operands(x1, x2))


def pow(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return x1 to the power of x2.

    Raises
    ------
    ValueError
        For integers to a negative power; under ``jax.jit``, where values are not known, the result
        there is not defined.
    """
    x1, x2 = pair(x1, x2)
    kind = kind_of(x1.dtype)
    if kind == "c":
        return complex_pow(x1, x2)
    if kind == "i" and not tracing.is_traced(x2) and bool(jnp.any(x2 < 0)):
        raise ValueError("integers have no negative powers; convert x1 to a floating-point dtype")
    return jnp.power(x1, x2)


@compiled
def complex_pow(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return powers of complex numbers of one dtype."""
    power: jax.Array = pow_of_zero(jnp, x1, x2, jnp.power(x1, x2))
    return power
