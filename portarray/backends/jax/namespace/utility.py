"""``all`` and ``any`` of JAX arrays."""

from __future__ import annotations

import jax
import jax.numpy as jnp

from portarray.backends.types import Rows

Axes = int | tuple[int, ...]

DIRECT: Rows = {"all": {"biuf": jnp.all}, "any": {"biuf": jnp.any}}


def all(x: jax.Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> jax.Array:
    """Return whether all elements are true."""
    return jnp.all(_truth(x), axis=axis, keepdims=keepdims)


def any(x: jax.Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> jax.Array:
    """Return whether any element is true."""
    return jnp.any(_truth(x), axis=axis, keepdims=keepdims)


def _truth(x: jax.Array) -> jax.Array:
    # jnp.all and jnp.any test only the real parts of complex numbers.
    return x != 0 if x.dtype.kind == "c" else x
