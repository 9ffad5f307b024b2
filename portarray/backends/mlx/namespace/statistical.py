"""Sums, products, means and extremes of MLX's arrays."""

from __future__ import annotations

import math
from collections.abc import Callable

import mlx.core as mx

from portarray.backends.composed.statistical import count
from portarray.backends.mlx.namespace.reducing import Axes, Reduction, filled, reduced
from portarray.backends.mlx.namespace.scalars import UNSIGNED
from portarray.backends.types import Rows, composed

_HALF = (mx.float16, mx.bfloat16)


_EXACT = (mx.float32, mx.float64, mx.complex64)


def _sum_dtype(x: mx.array, dtype: mx.Dtype | None) -> mx.Dtype:
    """Return the dtype of a sum or product: integers widen to the default of their kind."""
    own = x.dtype
    if dtype is not None or own in _EXACT or own in _HALF:
        return dtype or own
    return mx.uint64 if own in UNSIGNED else mx.int64


def _running(function: Callable[..., mx.array], first: int) -> Callable[..., mx.array]:
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
                raise ValueError(f"a running sum or product of {x.ndim} axes needs axis=")
            axis = 0
        dtype = _sum_dtype(x, dtype)
        found = function(x.astype(dtype), axis) if x.size else mx.zeros(x.shape, dtype=dtype)
        if not include_initial:
            return found
        shape = list(x.shape)
        shape[axis] = 1
        return mx.concatenate([mx.full(shape, first, dtype=dtype), found], axis)

    return running


cumulative_prod = _running(mx.cumprod, 1)
cumulative_sum = _running(mx.cumsum, 0)


def _extreme(name: str, own: Reduction) -> Reduction:
    """Return max or min, which are NaN where there is one."""

    def found(x: mx.array, /, *, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
        if x.size == 0 and count(x, axis) == 0:
            raise ValueError(f"{name} of no elements does not exist; the shape is {x.shape}")
        return reduced(own, x, axis, keepdims, none=0, dtype=x.dtype)

    return found


max = _extreme("max", mx.max)
min = _extreme("min", mx.min)


def _wide(x: mx.array) -> mx.array:
    """Return numbers of a precision to compute means in."""
    return x.astype(mx.float32) if x.dtype in _HALF else x


def _result(x: mx.array, wide: mx.array) -> mx.array:
    return wide.astype(x.dtype) if x.dtype in _HALF else wide


def mean(x: mx.array, /, *, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
    """Return arithmetic means."""
    wide = _wide(x)
    none = complex(math.nan, math.nan) if wide.dtype == mx.complex64 else math.nan
    return _result(x, reduced(mx.mean, wide, axis, keepdims, none=none, dtype=wide.dtype))


def _total(own: Reduction, none: int) -> Reduction:
    """Return sum or prod, of which integers widen."""

    def found(
        x: mx.array,
        /,
        *,
        axis: Axes | None = None,
        dtype: mx.Dtype | None = None,
        keepdims: bool = False,
    ) -> mx.array:
        dtype = _sum_dtype(x, dtype)
        return reduced(own, x.astype(dtype), axis, keepdims, none=none, dtype=dtype)

    return found


prod = _total(mx.prod, 1)
sum = _total(mx.sum, 0)


@composed
def std(
    x: mx.array, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> mx.array:
    """Return standard deviations."""
    return _result(x, mx.sqrt(_variance(_wide(x), axis, correction, keepdims)))


@composed
def var(
    x: mx.array, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> mx.array:
    """Return variances; NaN where no degrees of freedom are left."""
    return _result(x, _variance(_wide(x), axis, correction, keepdims))


def _variance(x: mx.array, axis: Axes | None, correction: float, keepdims: bool) -> mx.array:
    # MLX adds one number after the other, so that the mean of many far from 0 has few digits, and
    # mx.var as few: the mean of what is left after the first subtraction is small and exact.
    apart = x - mean(x, axis=axis, keepdims=True)
    apart = apart - mean(apart, axis=axis, keepdims=True)
    left = count(x, axis) - correction
    total = sum(mx.square(apart), axis=axis, keepdims=keepdims)
    return total / left if left > 0 else total * math.nan


PLAIN: Rows = {
    "max": {"iuf": filled(mx.max, max)},
    "mean": {"float32 float64": filled(mx.mean, mean)},
    "min": {"iuf": filled(mx.min, min)},
    "prod": {"float32 float64 complex64": filled(mx.prod, prod)},
    "sum": {"float32 float64 complex64": filled(mx.sum, sum)},
}
