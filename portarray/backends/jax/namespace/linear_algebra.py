"""Products of JAX arrays."""

from __future__ import annotations

from functools import partial

import jax
import jax.numpy as jnp

from portarray.backends.common.blocks import FEW_TERMS, blocked_matmul


def matmul(x1: jax.Array, x2: jax.Array, /) -> jax.Array:
    """Return the matrix product; the sums of many terms are computed in blocks."""
    if x1.ndim == 0 or x1.shape[-1] <= 4 * FEW_TERMS or x2.ndim == 0 or x1.dtype.kind in "biu":
        plain: jax.Array = jnp.matmul(x1, x2)
        return plain
    blocked: jax.Array = _blocked(x1, x2)
    return blocked


@jax.jit
def _blocked(x1: jax.Array, x2: jax.Array) -> jax.Array:
    if x1.ndim == 1 == x2.ndim and x1.shape == x2.shape and x1.dtype.itemsize > 2:
        return jnp.sum(x1 * x2)
    product: jax.Array = blocked_matmul(jnp.matmul, partial(jnp.sum, axis=0), jnp.moveaxis, x1, x2)
    return product
