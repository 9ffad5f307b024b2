"""Reductions that ignore NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from portarray._namespace import pa
from portarray._numpy_functions.common import is_float
from portarray._numpy_functions.reductions import (
    cumprod,
    cumsum,
    keeps_all,
    masked,
    max_,
    mean,
    min_,
    prod,
    reducing,
    sum_,
    var,
)
from portarray._numpy_functions.table import category

serves = category("Reductions")

_ORDER = "a axis dtype out keepdims initial where"


def _not_nan(a: Any, where: Any = None) -> Any:
    """Return a mask of the elements that are not NaN, None for all."""
    mask = pa.logical_not(pa.isnan(a)) if is_float(a) else None
    if keeps_all(where):
        return mask
    if mask is None:
        return where
    return pa.logical_and(mask, where)


@serves(order=_ORDER)
def nansum(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    return sum_(a, axis, dtype, keepdims, initial, _not_nan(a, where))


@serves(order=_ORDER)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    return prod(a, axis, dtype, keepdims, initial, _not_nan(a, where))


@serves(order="a axis dtype out")
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumsum(masked(a, _not_nan(a), 0), axis, dtype)


@serves(order="a axis dtype out")
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumprod(masked(a, _not_nan(a), 1), axis, dtype)


@serves(order="a axis dtype out keepdims")
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, where: Any = None
) -> Any:
    return mean(a, axis, dtype, keepdims, _not_nan(a, where))


@serves(order="a axis dtype out ddof keepdims")
def nanvar(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    variance = var(a, axis, dtype, ddof, keepdims, _not_nan(a, where), mean, correction)
    # Without degrees of freedom NumPy's nanvar is NaN, and its var infinite.
    return pa.where(pa.isinf(variance), pa.nan, variance) if is_float(a) else variance


@serves(order="a axis dtype out ddof keepdims")
def nanstd(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    return pa.sqrt(nanvar(a, axis, dtype, ddof, keepdims, where, mean, correction))


def _nan_extreme(
    plain: Callable[..., Any],
    worst: float,
    a: Any,
    axis: Any,
    keepdims: Any,
    *options: Any,
) -> Any:
    if not is_float(a):
        return plain(a, axis, keepdims, *options)
    initial, where = options
    mask = _not_nan(a)
    result = plain(masked(a, mask, worst), axis, keepdims, initial, where)
    if initial is not None:
        return result
    return pa.where(pa.any(mask, **reducing(axis, keepdims)), result, pa.nan)


@serves(order="a axis out keepdims initial where")
def nanmax(
    a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    return _nan_extreme(max_, -math.inf, a, axis, keepdims, initial, where)


@serves(order="a axis out keepdims initial where")
def nanmin(
    a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    return _nan_extreme(min_, math.inf, a, axis, keepdims, initial, where)
