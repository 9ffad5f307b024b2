"""Reading parts of JAX arrays, and making arrays with other parts."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp

from portarray.backends.jax.namespace.promotion import Scalar

Key = tuple[Any, ...]


def getitem(x: jax.Array, key: Key, /) -> jax.Array:
    """Return part of an array."""
    return x[key]


def setitem(x: jax.Array, key: Key, value: Any, /) -> jax.Array:
    """Return a copy of an array in which a part has other values."""
    return x.at[key].set(value)


def item(x: jax.Array, /) -> Scalar:
    """Return the only element as Python scalar."""
    value: Scalar = x.item()
    return value


take = jnp.take
take_along_axis = jnp.take_along_axis
