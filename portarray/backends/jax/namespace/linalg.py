"""The extension ``linalg`` on JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

cholesky = jnp.linalg.cholesky
cross = jnp.linalg.cross
det = jnp.linalg.det
diagonal = jnp.linalg.diagonal
eig = jnp.linalg.eig
eigh = jnp.linalg.eigh
eigvals = jnp.linalg.eigvals
eigvalsh = jnp.linalg.eigvalsh
inv = jnp.linalg.inv
matmul = jnp.linalg.matmul
matrix_norm = jnp.linalg.matrix_norm
matrix_power = jnp.linalg.matrix_power
matrix_transpose = jnp.linalg.matrix_transpose
outer = jnp.linalg.outer
pinv = jnp.linalg.pinv
qr = jnp.linalg.qr
slogdet = jnp.linalg.slogdet
solve = jnp.linalg.solve
svd = jnp.linalg.svd
svdvals = jnp.linalg.svdvals
tensordot = jnp.linalg.tensordot
trace = jnp.linalg.trace
vecdot = jnp.linalg.vecdot
vector_norm = jnp.linalg.vector_norm
