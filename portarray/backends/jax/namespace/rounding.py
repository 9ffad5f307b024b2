"""Rounding of JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

ceil = jnp.ceil
floor = jnp.floor
round = jnp.round
trunc = jnp.trunc
