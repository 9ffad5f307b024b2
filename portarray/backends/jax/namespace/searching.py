"""Where in a JAX array something is."""

from __future__ import annotations

from typing import Literal

import jax
import jax.numpy as jnp

from portarray.backends.jax import tracing, transfer
from portarray.backends.jax.namespace.promotion import Scalar, default_integer, operands, pair

Axes = int | tuple[int, ...]


def argmax(x: jax.Array, /, *, axis: int | None = None, keepdims: bool = False) -> jax.Array:
    """Return the index of the first largest element; of the first NaN where there is one."""
    return jnp.argmax(x, axis=axis, keepdims=keepdims)


def argmin(x: jax.Array, /, *, axis: int | None = None, keepdims: bool = False) -> jax.Array:
    """Return the index of the first smallest element; of the first NaN where there is one."""
    return jnp.argmin(x, axis=axis, keepdims=keepdims)


def count_nonzero(
    x: jax.Array, /, *, axis: Axes | None = None, keepdims: bool = False
) -> jax.Array:
    """Count the elements that are not 0."""
    return jnp.count_nonzero(x, axis=axis, keepdims=keepdims)


def nonzero(x: jax.Array, /) -> tuple[jax.Array, ...]:
    """Return the indices of the elements that are not 0, an array for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero needs at least one axis; a 0-d array has no indices")
    places = jnp.nonzero(x)
    if tracing.is_traced(x):
        return tuple(places)
    # Where there are none, JAX makes them on its default device.
    (device,) = x.devices()
    return tuple(transfer.move(place, device, copy=None) for place in places)


def searchsorted(
    x1: jax.Array,
    x2: jax.Array | Scalar,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: jax.Array | None = None,
) -> jax.Array:
    """Return where elements would be inserted into a sorted array; NaN sorts last."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted's side must be 'left' or 'right', got {side!r}")
    x1, x2 = pair(x1, x2)
    found = jnp.searchsorted(x1, x2, side=side, sorter=sorter)
    return found.astype(default_integer())


def where(condition: jax.Array, x1: jax.Array | Scalar, x2: jax.Array | Scalar, /) -> jax.Array:
    """Choose from x1 where the condition is true, else from x2."""
    return jnp.where(condition, *operands(x1, x2))
