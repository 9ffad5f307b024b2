"""Products of matrices and vectors of JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

matmul = jnp.matmul
matrix_transpose = jnp.matrix_transpose
tensordot = jnp.tensordot
vecdot = jnp.vecdot
