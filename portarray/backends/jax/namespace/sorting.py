"""Sorting JAX arrays: stable both ways, NaN last in ascending and first in descending order."""

from __future__ import annotations

import jax.numpy as jnp

argsort = jnp.argsort
sort = jnp.sort
