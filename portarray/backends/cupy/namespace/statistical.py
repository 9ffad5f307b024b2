"""Sums, products, means and extremes of arrays."""

from __future__ import annotations

import math
from typing import Any

import cupy
import numpy as np
from cupy import ndarray

__all__ = [
    "cumulative_prod", "cumulative_sum", "max", "mean", "min", "prod", "std", "sum", "var",
]  # fmt: skip

Axes = int | tuple[int, ...]
DType = np.dtype[Any]


def places(x: ndarray, axis: Axes | None) -> tuple[int, ...]:
    """Return the axes to reduce, non-negative."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else tuple(axis)
    for one in axes:
        if not -x.ndim <= one < x.ndim:
            raise IndexError(f"axis {one} is out of bounds for an array of {x.ndim} axes")
    found = tuple(one % x.ndim for one in axes)
    if len(set(found)) < len(found):
        raise ValueError(f"an axis is named twice in {axes}")
    return found


def _sum_dtype(x: ndarray, dtype: DType | None) -> DType:
    """Return the dtype of a sum or product: integers widen to the default of their kind."""
    if dtype is not None:
        return dtype
    if x.dtype.kind in "bi":
        return np.dtype(np.int64)
    own: DType = x.dtype
    return np.dtype(np.uint64) if own.kind == "u" else own


def cumulative_prod(
    x: ndarray,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> ndarray:
    """Return running products along an axis."""
    axis = _running_axis(x, axis)
    dtype = _sum_dtype(x, dtype)
    running = cupy.cumprod(x, _whole(x, axis), dtype) if x.size else x.astype(dtype)
    return _with_initial(running, axis, 1) if include_initial else running


def cumulative_sum(
    x: ndarray,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> ndarray:
    """Return running sums along an axis."""
    axis = _running_axis(x, axis)
    dtype = _sum_dtype(x, dtype)
    running = cupy.cumsum(x, _whole(x, axis), dtype) if x.size else x.astype(dtype)
    return _with_initial(running, axis, 0) if include_initial else running


def _running_axis(x: ndarray, axis: int | None) -> int:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"a running sum or product of {x.ndim} axes needs axis=")
        return 0
    return places(x, axis)[0]


def _whole(x: ndarray, axis: int) -> int | None:
    """Return None for the only axis: CuPy has a faster way for arrays as a whole."""
    return None if x.ndim == 1 else axis


def _with_initial(running: ndarray, axis: int, first: int) -> ndarray:
    shape = (*running.shape[:axis], 1, *running.shape[axis + 1 :])
    return cupy.concatenate([cupy.full(shape, first, running.dtype), running], axis)


def max(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Return the largest elements; NaN where there is one."""
    axes = places(x, axis)
    return x.max(axes, keepdims=keepdims) if axes else x.copy()


def min(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Return the smallest elements; NaN where there is one."""
    axes = places(x, axis)
    return x.min(axes, keepdims=keepdims) if axes else x.copy()


def mean(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Return arithmetic means."""
    axes = places(x, axis)
    return x.mean(axes, keepdims=keepdims) if axes else _inexact(x).copy()


def _inexact(x: ndarray) -> ndarray:
    return x if x.dtype.kind in "fc" else x.astype(np.float64)


def prod(
    x: ndarray, /, *, axis: Axes | None = None, dtype: DType | None = None, keepdims: bool = False
) -> ndarray:
    """Return products; integers widen."""
    axes = places(x, axis)
    dtype = _sum_dtype(x, dtype)
    return x.prod(axes, dtype, keepdims=keepdims) if axes else x.astype(dtype)


def std(
    x: ndarray, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> ndarray:
    """Return standard deviations."""
    return cupy.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def sum(
    x: ndarray, /, *, axis: Axes | None = None, dtype: DType | None = None, keepdims: bool = False
) -> ndarray:
    """Return sums; integers widen."""
    axes = places(x, axis)
    dtype = _sum_dtype(x, dtype)
    return x.sum(axes, dtype, keepdims=keepdims) if axes else x.astype(dtype)


def var(
    x: ndarray, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> ndarray:
    """Return variances; NaN where no degrees of freedom are left."""
    axes = places(x, axis)
    if axes:
        return x.var(axes, ddof=correction, keepdims=keepdims)
    x = _inexact(x)
    spread = (x - x).real  # 0, but NaN for what is not finite
    return spread / (1 - correction) if correction < 1 else spread * math.nan
