"""Sums, products, means and extremes of arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.composed import manipulation
from portarray.backends.types import Rows

Axes = int | tuple[int, ...]
DType = np.dtype[Any]
Function = Callable[..., ndarray]

DIRECT: Rows = {
    "max": {"iuf": ndarray.max},
    "mean": {"fc": ndarray.mean},
    "min": {"iuf": ndarray.min},
    "prod": {"iufc": ndarray.prod},
    "std": {"f": ndarray.std},
    "sum": {"iufc": ndarray.sum},
    "var": {"f": ndarray.var},
}


def normalize_axes(x: ndarray, axis: Axes | None) -> tuple[int, ...]:
    """Return the axes to reduce, non-negative."""
    if axis is None:
        return tuple(range(x.ndim))
    return manipulation.normalize_axes((axis,) if isinstance(axis, int) else axis, x.ndim)


def _wide(x: ndarray, dtype: DType | None) -> DType:
    """Return the dtype of a sum or product: integers widen to the default of their kind."""
    wide = {"i": np.dtype(np.int64), "u": np.dtype(np.uint64)}
    return dtype or wide.get(x.dtype.kind, x.dtype)


def _running(function: Function, first: int) -> Function:
    """Return a cumulative sum or product, whose initial value is `first`."""

    def running(
        x: ndarray,
        /,
        *,
        axis: int | None = None,
        dtype: DType | None = None,
        include_initial: bool = False,
    ) -> ndarray:
        if axis is None and x.ndim != 1:
            raise ValueError(f"cumulative sums and products of {x.ndim} axes need axis=")
        (axis,) = normalize_axes(x, axis)
        dtype = _wide(x, dtype)
        # None for the only axis: CuPy is faster for flattened arrays.
        out = function(x, None if x.ndim == 1 else axis, dtype) if x.size else x.astype(dtype)
        if not include_initial:
            return out
        shape = (*out.shape[:axis], 1, *out.shape[axis + 1 :])
        return cupy.concatenate([cupy.full(shape, first, dtype), out], axis)

    return running


cumulative_prod = _running(cupy.cumprod, 1)
cumulative_sum = _running(cupy.cumsum, 0)


def _selecting(function: Function) -> Function:
    """Return a reduction that keeps the dtype; over no axes it copies."""

    def selecting(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
        axes = normalize_axes(x, axis)
        return function(x, axes, keepdims=keepdims) if axes else x.copy()

    return selecting


max = _selecting(ndarray.max)
mean = _selecting(ndarray.mean)
min = _selecting(ndarray.min)


def _total(function: Function) -> Function:
    def total(
        x: ndarray,
        /,
        *,
        axis: Axes | None = None,
        dtype: DType | None = None,
        keepdims: bool = False,
    ) -> ndarray:
        axes = normalize_axes(x, axis)
        dtype = _wide(x, dtype)
        return function(x, axes, dtype, keepdims=keepdims) if axes else x.astype(dtype)

    return total


prod = _total(ndarray.prod)
sum = _total(ndarray.sum)


def std(
    x: ndarray, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> ndarray:
    """Return standard deviations."""
    return cupy.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def var(
    x: ndarray, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> ndarray:
    """Return variances; NaN where no degrees of freedom are left."""
    axes = normalize_axes(x, axis)
    if axes:
        return x.var(axes, ddof=correction, keepdims=keepdims)
    zero = x - x  # 0, but NaN for what is not finite
    return zero / (1 - correction) if correction < 1 else zero * math.nan
