"""Logic on boolean JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "logical_and": {"b": jnp.logical_and},
    "logical_not": {"b": jnp.logical_not},
    "logical_or": {"b": jnp.logical_or},
    "logical_xor": {"b": jnp.logical_xor},
}
