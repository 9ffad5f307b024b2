"""Logic on boolean JAX arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from portarray.backends.jax.namespace.promotion import Scalar, operands

_logical_and = jnp.logical_and
_logical_or = jnp.logical_or
_logical_xor = jnp.logical_xor

logical_not = jnp.logical_not


def logical_and(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where both are true."""
    return _logical_and(*operands(x1, x2))


def logical_or(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where at least one is true."""
    return _logical_or(*operands(x1, x2))


def logical_xor(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Tell where exactly one is true."""
    return _logical_xor(*operands(x1, x2))
