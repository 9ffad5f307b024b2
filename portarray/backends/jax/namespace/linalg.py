"""The extension ``linalg`` on JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import jax
import jax.numpy as jnp

from portarray.backends.composed import linalg
from portarray.backends.jax.namespace.rows import compiled


def _square(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function of square matrices; JAX accepts other empty ones."""

    @wraps(function)
    def square(x: jax.Array, /, **options: Any) -> Any:
        linalg.refuse_oblong(function.__name__, x)
        return function(x, **options)

    return square


cholesky = _square(jnp.linalg.cholesky)
eigh = _square(jnp.linalg.eigh)
eigvalsh = _square(jnp.linalg.eigvalsh)


def matrix_rank(x: jax.Array, /, *, rtol: float | jax.Array | None = None) -> jax.Array:
    """Count singular values; JAX's own takes `rtol` as absolute, and refuses empty matrices."""
    return _matrix_rank(x, rtol) if x.ndim < 2 or x.size else jnp.count_nonzero(x, axis=(-2, -1))


@compiled
def _matrix_rank(x: jax.Array, rtol: Any) -> jax.Array:
    rank: jax.Array = linalg.matrix_rank(jnp, x, rtol=rtol)
    return rank
