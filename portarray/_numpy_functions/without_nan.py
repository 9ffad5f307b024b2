"""Reductions that pass over NaN."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import portarray as pa
from portarray._numpy_functions.common import is_float
from portarray._numpy_functions.reductions import (
    cumprod,
    cumsum,
    keeps_all,
    kept,
    max_,
    mean,
    min_,
    prod,
    reducing,
    sum_,
    var,
)
from portarray._numpy_functions.table import chapter

serves = chapter("Reductions")

_ORDER = "a axis dtype out keepdims initial where"


def _present(a: Any, where: Any = None) -> Any:
    """Return a mask of what is a number, None for all."""
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
    return sum_(a, axis, dtype, keepdims, initial, _present(a, where))


@serves(order=_ORDER)
def nanprod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    return prod(a, axis, dtype, keepdims, initial, _present(a, where))


@serves(order="a axis dtype out")
def nancumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumsum(kept(a, _present(a), 0), axis, dtype)


@serves(order="a axis dtype out")
def nancumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return cumprod(kept(a, _present(a), 1), axis, dtype)


@serves(order="a axis dtype out keepdims")
def nanmean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, where: Any = None
) -> Any:
    return mean(a, axis, dtype, keepdims, _present(a, where))


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
    found = var(a, axis, dtype, ddof, keepdims, _present(a, where), mean, correction)
    # With no degrees of freedom left NumPy's nanvar is NaN where its var is infinite.
    return pa.where(pa.isinf(found), pa.nan, found) if is_float(a) else found


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
    plain: Callable[..., Any], worst: float, a: Any, axis: Any, keepdims: Any, *rest: Any
) -> Any:
    if not is_float(a):
        return plain(a, axis, keepdims, *rest)
    initial, where = rest
    mask = _present(a)
    found = plain(kept(a, mask, worst), axis, keepdims, initial, where)
    if initial is not None:
        return found
    return pa.where(pa.any(mask, **reducing(axis, keepdims)), found, pa.nan)


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
