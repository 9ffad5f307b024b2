"""Parts of complex JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

conj = jnp.conj
imag = jnp.imag
real = jnp.real
