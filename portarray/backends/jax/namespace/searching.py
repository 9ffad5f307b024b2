"""Where in a JAX array something is."""

from __future__ import annotations

import jax.numpy as jnp

argmax = jnp.argmax
argmin = jnp.argmin
count_nonzero = jnp.count_nonzero
nonzero = jnp.nonzero
searchsorted = jnp.searchsorted
where = jnp.where
