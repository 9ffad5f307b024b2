"""Exponentials, logarithms, powers and roots of JAX arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from portarray.backends.composed.exponential import (
    exp_parts,
    expm1_parts,
    log1p_parts,
    log_parts,
    sqrt_parts,
)
from portarray.backends.jax.namespace.parts import by_parts
from portarray.backends.jax.namespace.promotion import Scalar, operands

_logaddexp = jnp.logaddexp
_pow = jnp.pow
complex_exp = by_parts(exp_parts)
complex_expm1 = by_parts(expm1_parts)
complex_log = by_parts(log_parts)
complex_log1p = by_parts(log1p_parts)
complex_sqrt = by_parts(sqrt_parts)


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
    """Return x1 to the power of x2."""
    return _pow(*operands(x1, x2))


square = jnp.square
log10 = jnp.log10
log2 = jnp.log2
