"""Sums, products, means and extremes of dpnp's arrays."""

from __future__ import annotations

from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import inexact

Axes = int | tuple[int, ...]
DType = np.dtype[Any]


def cumulative_prod(
    x: ndarray,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> ndarray:
    """Return running products along an axis."""
    return dpnp.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)


def cumulative_sum(
    x: ndarray,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> ndarray:
    """Return running sums along an axis."""
    return dpnp.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


def max(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Return the largest elements; NaN where there is one."""
    return dpnp.max(x, axis=axis, keepdims=keepdims)


def min(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Return the smallest elements; NaN where there is one."""
    return dpnp.min(x, axis=axis, keepdims=keepdims)


def mean(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Return arithmetic means."""
    return dpnp.mean(inexact(x), axis=axis, keepdims=keepdims)


def prod(
    x: ndarray, /, *, axis: Axes | None = None, dtype: DType | None = None, keepdims: bool = False
) -> ndarray:
    """Return products; integers widen."""
    return dpnp.prod(x, axis=axis, dtype=dtype, keepdims=keepdims)


def std(
    x: ndarray, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> ndarray:
    """Return standard deviations."""
    return dpnp.std(inexact(x), axis=axis, correction=correction, keepdims=keepdims)


def sum(
    x: ndarray, /, *, axis: Axes | None = None, dtype: DType | None = None, keepdims: bool = False
) -> ndarray:
    """Return sums; integers widen."""
    return dpnp.sum(x, axis=axis, dtype=dtype, keepdims=keepdims)


def var(
    x: ndarray, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> ndarray:
    """Return variances; NaN where no degrees of freedom are left."""
    return dpnp.var(inexact(x), axis=axis, correction=correction, keepdims=keepdims)
