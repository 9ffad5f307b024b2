"""Where in a JAX array something is."""

from __future__ import annotations

from functools import partial
from typing import Any, Literal

import jax
import jax.numpy as jnp

from portarray.backends.jax import tracing, transfer


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
    x2: jax.Array,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: jax.Array | None = None,
) -> jax.Array:
    """Return where elements would be inserted, as the default integer dtype."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted's side must be 'left' or 'right', got {side!r}")
    places: jax.Array = _searchsorted(x1, x2, sorter, side)
    return places


@partial(jax.jit, static_argnames="side")
def _searchsorted(x1: jax.Array, x2: jax.Array, sorter: jax.Array | None, side: Any) -> Any:
    # JAX's own answers in 32 bits where they hold the size.
    return jnp.searchsorted(x1, x2, side=side, sorter=sorter).astype(int)
