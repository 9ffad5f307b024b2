"""Sets of JAX arrays' elements; values come sorted."""

from __future__ import annotations

import jax.numpy as jnp

isin = jnp.isin
unique_all = jnp.unique_all
unique_counts = jnp.unique_counts
unique_inverse = jnp.unique_inverse
unique_values = jnp.unique_values
