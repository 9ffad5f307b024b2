"""Shapes of JAX arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.common import sizes
from portarray.backends.jax.tracing import is_traced


def broadcast_to(x: jax.Array, /, shape: Sequence[int]) -> jax.Array:
    """Return an array of a shape that x broadcasts to."""
    return jnp.broadcast_to(x, counted(tuple(shape), x.dtype))


def counted(shape: tuple[int, ...], dtype: Any) -> tuple[int, ...]:
    """Return a shape; raise MemoryError for more bytes than 64 bits count, where XLA aborts."""
    # Unknown sizes in traced functions are objects, which JAX checks.
    if all(type(size) is int for size in shape):
        sizes.counted(shape, np.dtype(dtype).itemsize)
    return shape


def permute_dims(x: jax.Array, /, axes: Sequence[int]) -> jax.Array:
    """Return an array with axes in another order; jnp.permute_dims cannot mix negative axes."""
    return jnp.permute_dims(x, tuple(axis % x.ndim for axis in axes))


def repeat(x: jax.Array, repeats: int | jax.Array, /, *, axis: int | None = None) -> jax.Array:
    """Repeat each element along an axis; jnp.repeat reads negative counts as 0."""
    if not is_traced(repeats):
        counts = np.asarray(repeats)
        if counts.ndim > 1:
            raise ValueError(f"repeat: repeats must be 0-d or 1-d, got shape {counts.shape}")
        if counts.size and counts.min() < 0:
            raise ValueError(f"repeat: repeats must not be negative, got {counts.min()}")
    return jnp.repeat(x, repeats, axis=axis)


def reshape(x: jax.Array, /, shape: Sequence[int], *, copy: bool | None = None) -> jax.Array:
    """Return the elements in another shape; ``copy=False`` raises, as JAX does not have views."""
    if copy is False:
        raise ValueError(
            "reshape: copy=False, but JAX's arrays do not have views\nHint: pass copy=None"
        )
    return jnp.reshape(x, tuple(shape))
