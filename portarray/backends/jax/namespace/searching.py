"""Searching JAX arrays."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp

from portarray.backends.jax import tracing, transfer


def nonzero(x: jax.Array, /) -> tuple[jax.Array, ...]:
    """Return the indices of the elements that are not 0, an array for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero: a 0-d array has no indices\nHint: reshape it to (1,)")
    indices = jnp.nonzero(x)
    if tracing.is_traced(x):
        return tuple(indices)
    # JAX creates empty ones on its default device.
    (device,) = x.devices()
    return tuple(transfer.move(axis_indices, device, copy=None) for axis_indices in indices)


def searchsorted(
    x1: jax.Array,
    x2: jax.Array,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: jax.Array | None = None,
) -> jax.Array:
    """Return where elements would be inserted, as the default integer dtype."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    positions: jax.Array = _searchsorted(x1, x2, sorter, side)
    return positions


@partial(jax.jit, static_argnames="side")
def _searchsorted(x1: jax.Array, x2: jax.Array, sorter: jax.Array | None, side: Any) -> Any:
    # jnp.searchsorted returns 32-bit indices if they can hold the size.
    return jnp.searchsorted(x1, x2, side=side, sorter=sorter).astype(int)
