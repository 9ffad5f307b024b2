"""The extension ``linalg`` on JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import jax
import jax.numpy as jnp

from portarray.backends.composed.results import SVDResult

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
matrix_power = jnp.linalg.matrix_power
matrix_transpose = jnp.linalg.matrix_transpose
outer = jnp.linalg.outer
pinv = jnp.linalg.pinv
qr = jnp.linalg.qr
slogdet = jnp.linalg.slogdet
solve = jnp.linalg.solve
svdvals = jnp.linalg.svdvals
tensordot = jnp.linalg.tensordot
trace = jnp.linalg.trace
vecdot = jnp.linalg.vecdot

# JAX's own types take fewer orders than its functions.
_matrix_norm: Callable[..., jax.Array] = jnp.linalg.matrix_norm
_vector_norm: Callable[..., jax.Array] = jnp.linalg.vector_norm

Axes = int | tuple[int, ...]


def matrix_norm(
    x: jax.Array,
    /,
    *,
    keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] | None = "fro",
) -> jax.Array:
    """Return norms of matrices."""
    return _matrix_norm(x, keepdims=keepdims, ord="fro" if ord is None else ord)


def svd(x: jax.Array, /, *, full_matrices: bool = True) -> SVDResult[jax.Array]:
    """Return singular vectors and singular values, descending."""
    u, s, vh = jnp.linalg.svd(x, full_matrices=full_matrices, compute_uv=True)
    return SVDResult(u, s, vh)


def vector_norm(
    x: jax.Array,
    /,
    *,
    axis: Axes | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> jax.Array:
    """Return norms over axes, all of them for None."""
    return _vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
