"""Sums, products, means and extremes of MLX's arrays.

On CPUs MLX adds one number after another; float16 and bfloat16 are summed in float32.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

import mlx.core as mx

from portarray.backends.common.blocks import (
    FEW,
    blocked_sum,
    cumulative_in_blocks,
    normalize_axes,
    rescaled_norm,
)
from portarray.backends.composed.statistical import count
from portarray.backends.mlx.namespace.reducing import Axes, Reduction, filled, reduced
from portarray.backends.mlx.namespace.scalars import (
    HALF,
    INTEGRAL,
    UNSIGNED,
    on_cpu,
    wide,
)
from portarray.backends.types import Rows, composed

_EXACT = (mx.float32, mx.float64, mx.complex64)


def _sum_dtype(x: mx.array, dtype: mx.Dtype | None) -> mx.Dtype:
    """Return the dtype of a sum or product: integers widen to the default of their kind."""
    operand_dtype = x.dtype
    if dtype is not None or operand_dtype in _EXACT or operand_dtype in HALF:
        return dtype or operand_dtype
    return mx.uint64 if operand_dtype in UNSIGNED else mx.int64


WIDENED = 1 << 14
"""Numbers up to which float32 is summed in float64 on CPUs."""


def _narrow(x: mx.array, result: mx.array) -> mx.array:
    return result.astype(x.dtype) if x.dtype in HALF else result


def accurate_sum(x: mx.array, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
    """Return sums, in blocks where there are many terms."""
    if x.size <= FEW or x.dtype in INTEGRAL:
        if x.dtype == mx.float32:
            return mx.sum(x, axis, keepdims)
        return _narrow(x, mx.sum(wide(x), axis, keepdims))
    if _is_widened(x):
        return mx.sum(x.astype(mx.float64), axis, keepdims).astype(mx.float32)
    ndim = x.ndim
    if axis is None:
        # One long axis. Its order matters to rounding alone.
        flat = blocked_sum(_sum_over, wide(x).reshape(-1), (0,))
        return _narrow(x, flat.reshape((1,) * ndim if keepdims else ()))
    axes = normalize_axes(axis, ndim)
    out = blocked_sum(_sum_over, wide(x), axes)
    return _narrow(x, out if keepdims else mx.squeeze(out, axes))


def _is_widened(x: mx.array) -> bool:
    """Return whether sums in float64 are faster than blocks: they take fewer calls."""
    return x.size <= WIDENED and x.dtype == mx.float32 and on_cpu()


def _sum_over(x: mx.array, axes: tuple[int, ...]) -> mx.array:
    return mx.sum(x, axes, True)


def _average(x: mx.array, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
    return accurate_sum(x, axis, keepdims) / count(x, axis)


def _running(name: str, function: Callable[..., mx.array], first: int) -> Callable[..., mx.array]:
    def running(
        x: mx.array,
        /,
        *,
        axis: int | None = None,
        dtype: mx.Dtype | None = None,
        include_initial: bool = False,
    ) -> mx.array:
        if axis is None:
            if x.ndim != 1:
                raise ValueError(f"{name}: x has {x.ndim} axes and axis is None\nHint: pass axis=")
            axis = 0
        dtype = _sum_dtype(x, dtype)
        totals = function(x.astype(dtype), axis % x.ndim) if x.size else mx.zeros(x.shape, dtype)
        if not include_initial:
            return totals
        shape = list(x.shape)
        shape[axis] = 1
        return mx.concatenate([mx.full(shape, first, dtype=dtype), totals], axis)

    return running


cumulative_prod = _running("cumulative_prod", mx.cumprod, 1)


def _cumsum(x: mx.array, axis: int) -> mx.array:
    if x.shape[axis] <= FEW or x.dtype in INTEGRAL:
        return _narrow(x, mx.cumsum(wide(x), axis))
    if _is_widened(x):
        return mx.cumsum(x.astype(mx.float64), axis).astype(mx.float32)
    terms = wide(x)
    full = functools.partial(mx.full, dtype=terms.dtype)
    return _narrow(x, cumulative_in_blocks(mx.cumsum, mx.concatenate, full, terms, axis))


cumulative_sum = _running("cumulative_sum", _cumsum, 0)


def _extreme(name: str, mlx_function: Reduction) -> Reduction:
    """Return max or min, which are NaN where there is one."""

    def reduce(x: mx.array, /, *, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
        if x.size == 0 and count(x, axis) == 0:
            raise ValueError(f"{name}: an array of shape {x.shape} has no elements")
        return reduced(mlx_function, x, axis, keepdims, empty_value=0, dtype=x.dtype)

    return reduce


max = _extreme("max", mx.max)
min = _extreme("min", mx.min)


def mean(x: mx.array, /, *, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
    """Return arithmetic means."""
    x32 = wide(x)
    nan = complex(math.nan, math.nan) if x32.dtype == mx.complex64 else math.nan
    return _narrow(x, reduced(_average, x32, axis, keepdims, empty_value=nan, dtype=x32.dtype))


def _total(mlx_function: Reduction, empty_value: int) -> Reduction:
    """Return sum or prod, of which integers widen."""

    def reduce(
        x: mx.array,
        /,
        *,
        axis: Axes | None = None,
        dtype: mx.Dtype | None = None,
        keepdims: bool = False,
    ) -> mx.array:
        dtype = _sum_dtype(x, dtype)
        return reduced(
            mlx_function, x.astype(dtype), axis, keepdims, empty_value=empty_value, dtype=dtype
        )

    return reduce


prod = _total(mx.prod, 1)
sum = _total(accurate_sum, 0)


@composed
def std(
    x: mx.array, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> mx.array:
    """Return standard deviations."""
    if on_cpu() or not x.size:  # squares of float32 numbers are in the range of float64
        values = x.astype(mx.float64) if on_cpu() else x
        return mx.sqrt(_variance(values, axis, correction, keepdims)).astype(x.dtype)

    def plain(y: mx.array) -> mx.array:
        return mx.sqrt(_variance(y, axis, correction, True))

    axes = normalize_axes(axis, x.ndim)
    values = wide(x)
    deviation = rescaled_norm(plain, mx.max(mx.abs(values), axes, True), mx.where, values)
    return (deviation if keepdims else mx.squeeze(deviation, axes)).astype(x.dtype)


@composed
def var(
    x: mx.array, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> mx.array:
    """Return variances; NaN without degrees of freedom."""
    return _narrow(x, _variance(wide(x), axis, correction, keepdims))


def _variance(x: mx.array, axis: Axes | None, correction: float, keepdims: bool) -> mx.array:
    # mx.var loses digits for values far from 0.
    deviations = x - mean(x, axis=axis, keepdims=True)
    freedom = count(x, axis) - correction
    total = sum(mx.square(deviations), axis=axis, keepdims=keepdims)
    return total / freedom if freedom > 0 else total * math.nan


DIRECT: Rows = {
    "max": {"iuf": filled(mx.max, max)},
    "mean": {"float32 float64": filled(_average, mean)},
    "min": {"iuf": filled(mx.min, min)},
    "prod": {"float32 float64 complex64": filled(mx.prod, prod)},
    "sum": {"float32 float64 complex64": filled(accurate_sum, sum)},
}
