"""Tests of whole JAX arrays, and differences."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from portarray.backends.jax.namespace.promotion import together

Axes = int | tuple[int, ...]


def all(x: jax.Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> jax.Array:
    """Tell whether all elements are true; NaN is."""
    return jnp.all(_truth(x), axis=axis, keepdims=keepdims)


def any(x: jax.Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> jax.Array:
    """Tell whether at least one element is true; NaN is."""
    return jnp.any(_truth(x), axis=axis, keepdims=keepdims)


def _truth(x: jax.Array) -> jax.Array:
    # JAX's own look at the real parts of complex numbers only.
    return x != 0 if x.dtype.kind == "c" else x


def diff(
    x: jax.Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: jax.Array | None = None,
    append: jax.Array | None = None,
) -> jax.Array:
    """Return n-th differences along an axis; of booleans, where neighbours differ."""
    parts = [part for part in (prepend, x, append) if part is not None]
    if len(parts) > 1 and n:
        x = jnp.concatenate(together(parts), axis=axis)
    return jnp.diff(x, n=n, axis=axis)
