"""Sorting, searching, counting and quantiles."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np

from portarray._namespace import pa
from portarray._numpy_functions.common import (
    as_array,
    as_arrays,
    as_float,
    flat,
    index_array,
    is_float,
    last_axis,
    sums_at,
    with_axes,
)
from portarray._numpy_functions.table import category

serves = category("Sorting, searching, quantiles")


def _line(a: Any, axis: Any) -> tuple[Any, int]:
    return (flat(a), -1) if axis is None else (a, axis)


@serves(order="a axis kind order")
def sort(a: Any, axis: Any = -1, stable: Any = None) -> Any:
    x, axis = _line(a, axis)
    return pa.sort(x, axis=axis)


@serves(order="a axis kind order")
def argsort(a: Any, axis: Any = -1, stable: Any = None) -> Any:
    x, axis = _line(a, axis)
    return pa.argsort(x, axis=axis)


@serves()
def lexsort(keys: Any, axis: int = -1) -> Any:
    moved = [pa.moveaxis(key, axis, -1) for key in keys]
    order = pa.argsort(moved[0], axis=-1)
    for key in moved[1:]:
        again = pa.argsort(pa.take_along_axis(key, order, axis=-1), axis=-1)
        order = pa.take_along_axis(order, again, axis=-1)
    return pa.moveaxis(order, -1, axis)


@serves(order="a axis out")
def argmax(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return pa.argmax(a, axis=axis, keepdims=bool(keepdims))


@serves(order="a axis out")
def argmin(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return pa.argmin(a, axis=axis, keepdims=bool(keepdims))


@serves(order="a axis out")
def nanargmax(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    x = pa.where(pa.isnan(a), -pa.inf, a) if is_float(a) else a
    return pa.argmax(x, axis=axis, keepdims=bool(keepdims))


@serves(order="a axis out")
def nanargmin(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    x = pa.where(pa.isnan(a), pa.inf, a) if is_float(a) else a
    return pa.argmin(x, axis=axis, keepdims=bool(keepdims))


@serves()
def searchsorted(a: Any, v: Any, side: Any = "left", sorter: Any = None) -> Any:
    order = None if sorter is None else index_array(sorter, a)
    return pa.searchsorted(a, as_array(v, a, "searchsorted"), side=side, sorter=order)


@serves()
def digitize(x: Any, bins: Any, right: bool = False) -> Any:
    x, bins = as_arrays(x, bins, name="digitize")
    side: Literal["left", "right"] = "left" if right else "right"
    rising = pa.searchsorted(bins, x, side=side)
    falling = bins.shape[0] - pa.searchsorted(pa.flip(bins), x, side=side)
    return pa.where(bins[0] <= bins[-1], rising, falling)


@serves()
def bincount(x: Any, weights: Any = None, minlength: int = 0) -> Any:
    if x.dtype.kind not in "iu" or x.ndim != 1:
        raise TypeError(f"bincount: {x.dtype} of shape {x.shape} is not a vector of integers")
    if x.size and int(pa.min(x)) < 0:
        raise ValueError("bincount: an integer is negative")
    length = max(minlength, int(pa.max(x)) + 1 if x.size else 0)
    if weights is not None:
        weights = as_float(as_array(weights, x, "bincount"))
        return sums_at(x, weights, length)
    edges = pa.arange(length + 1, dtype=x.dtype, device=x.device)
    return pa.diff(pa.searchsorted(pa.sort(x), edges))


# --- quantiles ---------------------------------------------------------------------------------

_CONTINUOUS = {
    "linear": (1.0, 1.0),
    "weibull": (0.0, 0.0),
    "hazen": (0.5, 0.5),
    "median_unbiased": (1 / 3, 1 / 3),
    "normal_unbiased": (3 / 8, 3 / 8),
    "interpolated_inverted_cdf": (0.0, 1.0),
    "lower": (1.0, 1.0),
    "higher": (1.0, 1.0),
    "midpoint": (1.0, 1.0),
    "nearest": (1.0, 1.0),
    "inverted_cdf": (0.0, 1.0),
    "averaged_inverted_cdf": (0.0, 1.0),
}
"""Alpha and beta of Hyndman and Fan, by NumPy's names of methods."""


def _quantile(
    a: Any, q: Any, axis: Any, method: str, keepdims: Any, *, skip_nan: bool, share: float = 1.0
) -> Any:
    if method not in _CONTINUOUS:
        raise TypeError(
            f"quantile: unsupported method {method!r}; supported: {', '.join(_CONTINUOUS)}"
        )
    x, axes = last_axis(as_float(a), axis)
    if not x.shape[-1]:
        return pa.full(np.shape(q) + x.shape[:-1], pa.nan, dtype=x.dtype, device=x.device)
    x = pa.sort(x, axis=-1)
    nans = pa.isnan(x)
    q = q if type(q) is pa.Array else pa.asarray(q, dtype=x.dtype, device=x.device)
    outer = q.shape
    q = pa.reshape(q, (-1,)).astype(x.dtype) * share
    full = x.shape[-1]
    count: Any = full
    if skip_nan:
        count = (full - pa.count_nonzero(nans, axis=-1, keepdims=True)).astype(x.dtype)
    alpha, beta = _CONTINUOUS[method]
    at = count * q + (alpha + q * (1 - alpha - beta)) - 1
    at = pa.broadcast_to(at, (*x.shape[:-1], q.shape[0]))
    low = pa.floor(at)
    weight = at - low
    last = pa.maximum(count - 1, 0) if skip_nan else full - 1
    if method == "lower":
        weight = pa.zeros_like(weight)
    elif method == "higher":
        weight = pa.ceil(weight)
    elif method == "midpoint":
        weight = pa.where(weight > 0, 0.5, 0.0).astype(x.dtype)
    elif method == "nearest":
        weight = pa.round(at) - low
    elif method == "inverted_cdf":
        weight = pa.where(weight == 0, 0.0, 1.0).astype(x.dtype)
    elif method == "averaged_inverted_cdf":
        weight = pa.where(weight == 0, 0.5, 1.0).astype(x.dtype)
    first, second = (
        pa.take_along_axis(
            x, pa.minimum(pa.maximum(position, 0), last).astype(_index_dtype(x)), axis=-1
        )
        for position in (low, low + 1)
    )
    step = second - first
    quantiles = pa.where(weight < 0.5, first + step * weight, second - step * (1 - weight))
    quantiles = pa.where(weight == 0, first, pa.where(weight == 1, second, quantiles))
    if not skip_nan:
        quantiles = pa.where(pa.any(nans, axis=-1, keepdims=True), pa.nan, quantiles)
    quantiles = pa.moveaxis(quantiles, -1, 0)
    parts = [with_axes(part, axes) for part in quantiles] if keepdims else list(quantiles)
    return pa.reshape(pa.stack(parts), (*outer, *parts[0].shape)) if parts else quantiles


def _index_dtype(x: Any) -> Any:
    return pa.__array_namespace_info__().default_dtypes(device=x.device)["indexing"]


@serves(order="a q axis out overwrite_input method keepdims")
def quantile(
    a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: Any = False
) -> Any:
    return _quantile(a, q, axis, method, keepdims, skip_nan=False)


@serves(order="a q axis out overwrite_input method keepdims")
def percentile(
    a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: Any = False
) -> Any:
    return _quantile(a, q, axis, method, keepdims, skip_nan=False, share=0.01)


@serves(order="a q axis out overwrite_input method keepdims")
def nanquantile(
    a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: Any = False
) -> Any:
    return _quantile(a, q, axis, method, keepdims, skip_nan=True)


@serves(order="a q axis out overwrite_input method keepdims")
def nanpercentile(
    a: Any, q: Any, axis: Any = None, method: str = "linear", keepdims: Any = False
) -> Any:
    return _quantile(a, q, axis, method, keepdims, skip_nan=True, share=0.01)


@serves(order="a axis out overwrite_input keepdims")
def median(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _quantile(a, 0.5, axis, "midpoint", keepdims, skip_nan=False)


@serves(order="a axis out overwrite_input keepdims")
def nanmedian(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return _quantile(a, 0.5, axis, "midpoint", keepdims, skip_nan=True)


# --- sets --------------------------------------------------------------------------------------


@serves(order="ar return_index return_inverse return_counts axis")
def unique(
    ar: Any,
    return_index: bool = False,
    return_inverse: bool = False,
    return_counts: bool = False,
    *,
    equal_nan: bool = True,
    sorted: bool = True,
) -> Any:
    x = flat(ar)
    if x.dtype.kind == "c":
        all_of = pa.unique_all(x)
        parts = (all_of[0], all_of[1], pa.reshape(all_of[2], ar.shape), all_of[3])
    else:
        order = pa.argsort(x)
        values = pa.take(x, order, axis=0)
        first = _first_of_each(values, equal_nan=equal_nan)
        distinct = values[first]
        if not (return_index or return_inverse or return_counts):
            return distinct
        (positions,) = pa.nonzero(first)
        group = pa.cumulative_sum(first.astype(order.dtype)) - 1
        inverse = pa.take(group, pa.argsort(order), axis=0)
        ends = pa.concat(
            [positions, pa.full((1,), x.shape[0], dtype=positions.dtype, device=x.device)]
        )
        parts = (
            distinct,
            pa.take(order, positions, axis=0),
            pa.reshape(inverse, ar.shape),
            pa.diff(ends),
        )
    requested = (True, return_index, return_inverse, return_counts)
    results = tuple(
        part for part, is_requested in zip(parts, requested, strict=True) if is_requested
    )
    return results[0] if len(results) == 1 else results


def _first_of_each(values: Any, *, equal_nan: bool) -> Any:
    """Return a mask of the first of each group of equal, sorted values."""
    new = values[1:] != values[:-1]
    if equal_nan and is_float(values):
        both = pa.logical_and(pa.isnan(values[1:]), pa.isnan(values[:-1]))
        new = pa.logical_and(new, pa.logical_not(both))
    first = pa.ones((min(1, values.shape[0]),), dtype=pa.bool, device=values.device)
    return pa.concat([first, new])


@serves()
def isin(
    element: Any, test_elements: Any, assume_unique: bool = False, invert: bool = False
) -> Any:
    return pa.isin(element, test_elements, invert=bool(invert))


@serves(order="ar1 ar2 assume_unique return_indices")
def intersect1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first, second = (flat(ar1), flat(ar2)) if assume_unique else (unique(ar1), unique(ar2))
    both = pa.sort(pa.concat([first, second]))
    return both[:-1][both[1:] == both[:-1]]


@serves()
def setdiff1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first = flat(ar1) if assume_unique else unique(ar1)
    return first[pa.isin(first, flat(ar2), invert=True)]


@serves()
def setxor1d(ar1: Any, ar2: Any, assume_unique: bool = False) -> Any:
    first, second = (flat(ar1), flat(ar2)) if assume_unique else (unique(ar1), unique(ar2))
    both = pa.sort(pa.concat([first, second]))
    true = pa.ones((1,), dtype=pa.bool, device=both.device)
    edge = pa.concat([true, both[1:] != both[:-1], true]) if both.size else true
    return both[pa.logical_and(edge[1:], edge[:-1])]


# Functions of one expression.
serves("partition", order="a kth axis kind order")(lambda a, kth, axis=-1: sort(a, axis))
serves("argpartition", order="a kth axis kind order")(lambda a, kth, axis=-1: argsort(a, axis))
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "union1d": lambda ar1, ar2: unique(pa.concat([flat(ar1), flat(ar2)])),
    "unique_all": lambda x: pa.unique_all(x),
    "unique_counts": lambda x: pa.unique_counts(x),
    "unique_inverse": lambda x: pa.unique_inverse(x),
    "unique_values": lambda x: pa.unique_values(x),
}
for _name, _function in _FUNCTIONS.items():
    serves(_name)(_function)
