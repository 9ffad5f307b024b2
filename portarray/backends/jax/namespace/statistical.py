"""Sums, products, means and extremes of JAX arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.jax.namespace.promotion import (
    default_integer,
    default_unsigned,
    inexact,
    kind_of,
)

Axes = int | tuple[int, ...]
DType = np.dtype[Any]


def sum_dtype(x: jax.Array, dtype: Any) -> DType:
    """Return the dtype of a sum or product: integers widen to the default of their kind."""
    if dtype is not None:
        wanted: DType = np.dtype(dtype)
        return wanted
    kind = kind_of(x.dtype)
    if kind in "bi":
        return default_integer()
    own: DType = x.dtype
    return default_unsigned() if kind == "u" else own


def cumulative_prod(
    x: jax.Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> jax.Array:
    """Return running products along an axis."""
    return jnp.cumulative_prod(
        x, axis=axis, dtype=sum_dtype(x, dtype), include_initial=include_initial
    )


def cumulative_sum(
    x: jax.Array,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> jax.Array:
    """Return running sums along an axis."""
    return jnp.cumulative_sum(
        x, axis=axis, dtype=sum_dtype(x, dtype), include_initial=include_initial
    )


def max(x: jax.Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> jax.Array:
    """Return the largest elements; NaN where there is one."""
    return jnp.max(x, axis=axis, keepdims=keepdims)


def min(x: jax.Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> jax.Array:
    """Return the smallest elements; NaN where there is one."""
    return jnp.min(x, axis=axis, keepdims=keepdims)


def mean(x: jax.Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> jax.Array:
    """Return arithmetic means."""
    return jnp.mean(inexact(x), axis=axis, keepdims=keepdims)


def prod(
    x: jax.Array,
    /,
    *,
    axis: Axes | None = None,
    dtype: Any = None,
    keepdims: bool = False,
) -> jax.Array:
    """Return products; integers widen."""
    return jnp.prod(x, axis=axis, dtype=sum_dtype(x, dtype), keepdims=keepdims)


def std(
    x: jax.Array,
    /,
    *,
    axis: Axes | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> jax.Array:
    """Return standard deviations."""
    return jnp.std(inexact(x), axis=axis, correction=correction, keepdims=keepdims)


def sum(
    x: jax.Array,
    /,
    *,
    axis: Axes | None = None,
    dtype: Any = None,
    keepdims: bool = False,
) -> jax.Array:
    """Return sums; integers widen."""
    return jnp.sum(x, axis=axis, dtype=sum_dtype(x, dtype), keepdims=keepdims)


def var(
    x: jax.Array,
    /,
    *,
    axis: Axes | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> jax.Array:
    """Return variances; NaN where no degrees of freedom are left."""
    return jnp.var(inexact(x), axis=axis, correction=correction, keepdims=keepdims)
