"""Sums, products, means and extremes of dpnp's arrays."""

from __future__ import annotations

from typing import Any

import dpnp

cumulative_prod = dpnp.cumulative_prod
max = dpnp.max
mean = dpnp.mean
min = dpnp.min
prod = dpnp.prod
std = dpnp.std
sum = dpnp.sum
var = dpnp.var


def cumulative_sum(
    x: dpnp.ndarray,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> dpnp.ndarray:
    """Return cumulative sums; float16 is summed in float32."""
    target = x.dtype if dtype is None else dtype
    is_half = target == dpnp.float16
    sums = dpnp.cumulative_sum(
        x, axis=axis, dtype=dpnp.float32 if is_half else dtype, include_initial=include_initial
    )
    return sums.astype(target) if is_half else sums
