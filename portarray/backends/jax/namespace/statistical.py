"""Sums, products, means and extremes of JAX arrays."""

from __future__ import annotations

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.types import Rows

# Sums of integers widen as jax_enable_x64 allows.
DIRECT: Rows = {
    "max": {"iuf": jnp.max},
    "mean": {"fc": jnp.mean},
    "min": {"iuf": jnp.min},
    "prod": {"fc": jnp.prod},
    "sum": {"fc": jnp.sum},
    "var": {"f": jnp.var},
}


def std(
    x: jax.Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> jax.Array:
    """Return standard deviations; the squares neither overflow nor underflow."""
    deviation: jax.Array = _std(x, axis, correction, keepdims)
    return deviation


@partial(jax.jit, static_argnums=(1, 2, 3))
def _std(
    x: jax.Array, axis: int | tuple[int, ...] | None, correction: float, keepdims: bool
) -> jax.Array:
    if not x.size or axis == ():
        return jnp.std(x, axis=axis, correction=correction, keepdims=keepdims)
    wide = x.astype(jnp.float32) if x.dtype.itemsize == 2 else x
    largest = jnp.max(jnp.abs(wide), axis=axis, keepdims=True)
    _, exponent = jnp.frexp(jnp.where(jnp.isfinite(largest), largest, 1))
    scaled = jnp.ldexp(wide, -exponent)
    scaled_deviation = jnp.std(scaled, axis=axis, correction=correction, keepdims=keepdims)
    deviation: jax.Array = jnp.ldexp(
        scaled_deviation, jnp.reshape(exponent, scaled_deviation.shape)
    )
    return deviation.astype(x.dtype)


def cumulative_prod(
    x: jax.Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> jax.Array:
    """Return running products; jnp.cumulative_prod does not widen integers."""
    if dtype is None and x.dtype.kind in "iu":
        dtype = jax.dtypes.canonicalize_dtype(np.dtype(f"{x.dtype.kind}8"))
    return jnp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_sum(
    x: jax.Array, /, *, axis: int | None = None, dtype: Any = None, include_initial: bool = False
) -> jax.Array:
    """Return cumulative sums; float16 and bfloat16 are summed in float32."""
    target = x.dtype if dtype is None else np.dtype(dtype)
    is_half = target.itemsize == 2 and target.kind not in "iu"
    sums = jnp.cumulative_sum(
        x, axis=axis, dtype=jnp.float32 if is_half else dtype, include_initial=include_initial
    )
    return sums.astype(target) if is_half else sums
