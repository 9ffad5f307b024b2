"""Bits of JAX arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from portarray.backends.jax.namespace.promotion import Scalar, operands

_bitwise_and = jnp.bitwise_and
_bitwise_left_shift = jnp.bitwise_left_shift
_bitwise_or = jnp.bitwise_or
_bitwise_right_shift = jnp.bitwise_right_shift
_bitwise_xor = jnp.bitwise_xor

bitwise_invert = jnp.bitwise_invert


def bitwise_and(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return ``x1 & x2``."""
    return _bitwise_and(*operands(x1, x2))


def bitwise_left_shift(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return ``x1 << x2``; 0 where all bits are shifted out."""
    return _bitwise_left_shift(*operands(x1, x2))


def bitwise_or(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return ``x1 | x2``."""
    return _bitwise_or(*operands(x1, x2))


def bitwise_right_shift(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return ``x1 >> x2``, filling with the sign."""
    return _bitwise_right_shift(*operands(x1, x2))


def bitwise_xor(x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Return ``x1 ^ x2``."""
    return _bitwise_xor(*operands(x1, x2))
