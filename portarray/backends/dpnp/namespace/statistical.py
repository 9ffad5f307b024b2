"""Sums, products, means and extremes of dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import dpnp

from portarray.backends.dpnp.namespace.scaling import in_range

cumulative_prod = dpnp.cumulative_prod
max = dpnp.max
min = dpnp.min
sum = dpnp.sum


def _in_float32(function: Callable[..., dpnp.ndarray]) -> Callable[..., dpnp.ndarray]:
    """Return a reduction of float16 in float32: dpnp's sums and squares leave the range."""

    @wraps(function)
    def reduction(x: dpnp.ndarray, /, **options: Any) -> dpnp.ndarray:
        if x.dtype != dpnp.float16 or options.get("dtype") not in (None, x.dtype):
            return function(x, **options)
        options.pop("dtype", None)
        return function(x.astype(dpnp.float32), **options).astype(x.dtype)

    return reduction


mean = _in_float32(dpnp.mean)
prod = _in_float32(dpnp.prod)
var = _in_float32(dpnp.var)


@_in_float32
def std(
    x: dpnp.ndarray, /, *, axis: Any = None, correction: float = 0.0, keepdims: bool = False
) -> dpnp.ndarray:
    """Return standard deviations; the squares may leave the range."""
    deviation = dpnp.std(x, axis=axis, correction=correction, keepdims=keepdims)
    if axis == () or not x.size or x.dtype.kind != "f":
        return deviation
    return in_range(deviation, dpnp.std, x, axis=axis, keepdims=keepdims, correction=correction)


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
