"""The extension ``linalg`` on JAX arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial, wraps
from typing import Any, Literal

import jax
import jax.numpy as jnp

from portarray._result_types import SlogdetResult
from portarray.backends.composed import linalg
from portarray.backends.jax.namespace.rows import compiled


def _square(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of square matrices; JAX accepts other empty ones."""

    @wraps(function)
    def square(x: jax.Array, /, **options: Any) -> Any:
        linalg.refuse_oblong(function.__name__, x)
        return function(x, **options)

    return square


# JAX's types lack norms of orders that are floats.
_plain_vector_norm: Callable[..., jax.Array] = jnp.linalg.vector_norm
_plain_matrix_norm: Callable[..., jax.Array] = jnp.linalg.matrix_norm

cholesky = _square(jnp.linalg.cholesky)
eigh = _square(jnp.linalg.eigh)
eigvalsh = _square(jnp.linalg.eigvalsh)


@_square
def slogdet(x: jax.Array, /) -> Any:
    """Return signs and logarithms of determinants."""
    return SlogdetResult(*_small_slogdet(x)) if x.shape[-1] == 2 else jnp.linalg.slogdet(x)


@jax.jit
def _small_slogdet(x: jax.Array) -> tuple[jax.Array, jax.Array]:
    # JAX subtracts products of the elements, which may leave the range.
    _, exponent = jnp.frexp(jnp.max(jnp.abs(x), axis=(-2, -1)))
    sign, logarithm = jnp.linalg.slogdet(x * jnp.ldexp(1.0, -exponent)[..., None, None])
    return sign, logarithm + 2 * math.log(2) * exponent


def matrix_rank(x: jax.Array, /, *, rtol: float | jax.Array | None = None) -> jax.Array:
    """Count singular values; JAX's own takes `rtol` as absolute, and refuses empty matrices."""
    return _matrix_rank(x, rtol) if x.ndim < 2 or x.size else jnp.count_nonzero(x, axis=(-2, -1))


def vector_norm(
    x: jax.Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> jax.Array:
    """Return norms over axes, whose powers neither overflow nor underflow."""
    if x.dtype.itemsize == 2:
        wide = _vector_norm(x.astype(jnp.float32), axis, keepdims, ord)
        narrow: jax.Array = wide.astype(x.dtype)
        return narrow
    norm: jax.Array = _vector_norm(x, axis, keepdims, ord)
    return norm


@partial(jax.jit, static_argnums=(1, 2, 3))
def _vector_norm(
    x: jax.Array, axis: int | tuple[int, ...] | None, keepdims: bool, ord: float
) -> jax.Array:
    if not 1 < ord < math.inf or x.ndim == 0 or axis == ():
        plain: jax.Array = _plain_vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
        return plain
    norm: jax.Array = linalg.vector_norm(jnp, x, axis=axis, keepdims=keepdims, ord=ord)
    return norm


def matrix_norm(
    x: jax.Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> jax.Array:
    """Return norms of matrices."""
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return _plain_matrix_norm(x, keepdims=keepdims, ord=ord)


@compiled
def _matrix_rank(x: jax.Array, rtol: Any) -> jax.Array:
    rank: jax.Array = linalg.matrix_rank(jnp, x, rtol=rtol)
    return rank
