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
    """Return a shape whose bytes 64 bits can count, for XLA ends the process at any other.

    Raises
    ------
    MemoryError
        With ``asked``, the bytes that it takes.
    """
    # While JAX traces a function for unknown sizes they are objects, which it looks after.
    if all(type(size) is int for size in shape):
        sizes.counted(shape, np.dtype(dtype).itemsize)
    return shape


def permute_dims(x: jax.Array, /, axes: Sequence[int]) -> jax.Array:
    """Return an array with axes in another order; JAX's own mixes no negative ones with others."""
    return jnp.permute_dims(x, tuple(axis % x.ndim for axis in axes))


def repeat(x: jax.Array, repeats: int | jax.Array, /, *, axis: int | None = None) -> jax.Array:
    """Repeat each element along an axis; JAX's own takes negative numbers for 0."""
    if not is_traced(repeats):
        counts = np.asarray(repeats)
        if counts.ndim > 1:
            raise ValueError(f"repeats has shape {counts.shape}; it must be one number or 1-d")
        if counts.size and counts.min() < 0:
            raise ValueError(f"repeats has {counts.min()}; it must not be negative")
    return jnp.repeat(x, repeats, axis=axis)


def reshape(x: jax.Array, /, shape: Sequence[int], *, copy: bool | None = None) -> jax.Array:
    """Return the elements in another shape; JAX's arrays have no views for ``copy=False``."""
    if copy is False:
        raise ValueError(
            "copy=False, but JAX's arrays never change and have no views: a change of the one "
            "array would not be seen in the other; pass copy=None"
        )
    return jnp.reshape(x, tuple(shape))
