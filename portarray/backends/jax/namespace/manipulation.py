"""Shapes of JAX arrays: joining, splitting, repeating, reordering."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends import sizes

broadcast_arrays = jnp.broadcast_arrays
broadcast_shapes = jnp.broadcast_shapes
concat = jnp.concat
expand_dims = jnp.expand_dims
flip = jnp.flip
moveaxis = jnp.moveaxis
repeat = jnp.repeat
roll = jnp.roll
squeeze = jnp.squeeze
stack = jnp.stack
tile = jnp.tile
unstack = jnp.unstack


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
    """Return an array with axes in another order."""
    return jnp.permute_dims(x, tuple(axis % x.ndim for axis in axes))


def reshape(x: jax.Array, /, shape: Sequence[int], *, copy: bool | None = None) -> jax.Array:
    """Return the elements in another shape.

    Raises
    ------
    ValueError
        If ``copy=False``: JAX's arrays never change, so that no view shows what another writes.
    """
    if copy is False:
        raise ValueError(
            "copy=False, but JAX's arrays never change and have no views: a change of the one "
            "array would not be seen in the other; pass copy=None"
        )
    return jnp.reshape(x, tuple(shape))
