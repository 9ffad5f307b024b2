"""Sums, products, extremes and moments, with ``where=`` and ``initial=``, and those without NaN."""

from __future__ import annotations

import math
from typing import Any

from portarray._namespace import pa
from portarray._numpy_functions.common import as_array, as_float, axes_of, cast, flat
from portarray._numpy_functions.table import category

serves = category("Reductions")

_ORDER = "a axis dtype out keepdims initial where"


def keeps_all(where: Any) -> bool:
    """Return whether no mask is given, or True."""
    return where is None or where is True


def masked(x: Any, where: Any, value: Any) -> Any:
    """Return an array with another value where a mask is false."""
    if keeps_all(where):
        return x
    mask = as_array(where, x, "where=").astype(pa.bool, copy=False)
    fill = pa.asarray(value, dtype=x.dtype, device=x.device)
    return pa.where(mask, x, fill)


def _counted(x: Any, axis: Any, where: Any, *, keepdims: bool) -> Any:
    """Return the number of unmasked elements in each reduction."""
    if keeps_all(where):
        return math.prod(x.shape[i] for i in axes_of(x, axis))
    mask = pa.broadcast_to(as_array(where, x).astype(pa.bool, copy=False), x.shape)
    counts = pa.count_nonzero(mask, axis=axis, keepdims=keepdims)
    return counts.astype(_real(x).dtype)


def _real(x: Any) -> Any:
    return pa.real(x) if x.dtype.kind == "c" else x


def reducing(axis: Any, keepdims: Any) -> dict[str, Any]:
    """Return the options of a reduction; NumPy accepts any truth value for keepdims."""
    return {"axis": axis, "keepdims": bool(keepdims)}


@serves("sum", order=_ORDER)
def sum_(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    total = pa.sum(masked(a, where, 0), dtype=dtype, **reducing(axis, keepdims))
    return total if initial is None else total + initial


@serves("prod", order=_ORDER)
def prod(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    keepdims: Any = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    product = pa.prod(masked(a, where, 1), dtype=dtype, **reducing(axis, keepdims))
    return product if initial is None else product * initial


def _extreme(
    reduce: Any, meet: Any, a: Any, axis: Any, keepdims: Any, initial: Any, where: Any
) -> Any:
    if not keeps_all(where) and initial is None:
        raise ValueError("max, min: where= needs initial=, the result for no elements")
    if initial is None:
        return reduce(a, **reducing(axis, keepdims))
    shape = [1 if i in axes_of(a, axis) else n for i, n in enumerate(a.shape)]
    more = pa.full(shape, initial, dtype=a.dtype, device=a.device)
    if a.size:
        more = meet(reduce(masked(a, where, initial), axis=axis, keepdims=True), more)
    return more if keepdims else pa.squeeze(more, axes_of(a, axis))


@serves("max", "amax", order="a axis out keepdims initial where")
def max_(
    a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    return _extreme(pa.max, pa.maximum, a, axis, keepdims, initial, where)


@serves("min", "amin", order="a axis out keepdims initial where")
def min_(
    a: Any, axis: Any = None, keepdims: Any = False, initial: Any = None, where: Any = None
) -> Any:
    return _extreme(pa.min, pa.minimum, a, axis, keepdims, initial, where)


@serves(order="a axis out keepdims")
def ptp(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    options = reducing(axis, keepdims)
    return pa.max(a, **options) - pa.min(a, **options)


@serves("all", order="a axis out keepdims")
def all_(a: Any, axis: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    return pa.all(masked(a.astype(pa.bool, copy=False), where, True), **reducing(axis, keepdims))


@serves("any", order="a axis out keepdims")
def any_(a: Any, axis: Any = None, keepdims: Any = False, where: Any = None) -> Any:
    return pa.any(masked(a.astype(pa.bool, copy=False), where, False), **reducing(axis, keepdims))


@serves()
def count_nonzero(a: Any, axis: Any = None, keepdims: Any = False) -> Any:
    return pa.count_nonzero(a, **reducing(axis, keepdims))


# --- moments -----------------------------------------------------------------------------------


@serves(order="a axis dtype out keepdims")
def mean(
    a: Any, axis: Any = None, dtype: Any = None, keepdims: Any = False, where: Any = None
) -> Any:
    x = cast(a, dtype)
    if keeps_all(where) and x.dtype.kind != "c":
        return pa.mean(x, **reducing(axis, keepdims))
    x = as_float(x)
    total = pa.sum(masked(x, where, 0), **reducing(axis, keepdims))
    return total / _counted(x, axis, where, keepdims=bool(keepdims))


@serves(order="a axis dtype out ddof keepdims")
def var(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    x = as_float(cast(a, dtype))
    less = ddof if correction is None else correction
    if keeps_all(where) and mean is None and x.dtype.kind != "c":
        return pa.var(x, correction=less, **reducing(axis, keepdims))
    count = _counted(x, axis, where, keepdims=True)
    if mean is None:
        mean = pa.sum(masked(x, where, 0), axis=axis, keepdims=True) / count
    deviation = masked(x - mean, where, 0)
    square = _real(deviation * pa.conj(deviation))
    total = pa.sum(square, axis=axis, keepdims=True)
    variance = total / (
        pa.maximum(count - less, 0) if type(count) is pa.Array else max(count - less, 0)
    )
    return variance if keepdims else pa.squeeze(variance, axes_of(a, axis))


@serves(order="a axis dtype out ddof keepdims")
def std(
    a: Any,
    axis: Any = None,
    dtype: Any = None,
    ddof: Any = 0,
    keepdims: Any = False,
    where: Any = None,
    mean: Any = None,
    correction: Any = None,
) -> Any:
    return pa.sqrt(var(a, axis, dtype, ddof, keepdims, where, mean, correction))


@serves()
def average(
    a: Any, axis: Any = None, weights: Any = None, returned: bool = False, keepdims: Any = False
) -> Any:
    options = reducing(axis, keepdims)
    if weights is None:
        averages = mean(a, axis, keepdims=keepdims)
        total = pa.full_like(averages, _counted(a, axis, None, keepdims=False))
    else:
        if weights.shape != a.shape:
            axes = axes_of(a, axis)
            if axis is None or weights.shape != tuple(a.shape[i] for i in axes):
                raise ValueError(
                    f"average: weights of shape {weights.shape} do not fit axis={axis} of {a.shape}"
                )
            order = sorted(range(len(axes)), key=axes.__getitem__)
            weights = pa.permute_dims(weights, tuple(order))
            weights = pa.reshape(
                weights, tuple(n if i in axes else 1 for i, n in enumerate(a.shape))
            )
            weights = pa.broadcast_to(weights, a.shape)
        total = pa.sum(as_float(weights), **options)
        averages = pa.sum(as_float(a) * weights, **options) / total
    return (averages, total) if returned else averages


@serves()
def cov(
    m: Any,
    y: Any = None,
    rowvar: bool = True,
    bias: bool = False,
    ddof: Any = None,
    fweights: Any = None,
    aweights: Any = None,
    *,
    dtype: Any = None,
) -> Any:
    rows = [_rows(cast(m, dtype), rowvar=rowvar)]
    if y is not None:
        rows.append(_rows(cast(y, dtype), rowvar=rowvar))
    x = as_float(pa.concat(rows, axis=0))
    less = (0 if bias else 1) if ddof is None else ddof
    weights = None
    for factors in (fweights, aweights):
        if factors is not None:
            weights = as_float(factors) if weights is None else weights * factors
    count: Any = x.shape[1]
    if weights is None:
        x = (
            x - pa.mean(x, axis=1, keepdims=True)
            if x.dtype.kind != "c"
            else x - mean(x, 1, keepdims=True)
        )
        weighted, factor = x, count - less
    else:
        total = pa.sum(weights)
        x = x - pa.sum(x * weights, axis=1, keepdims=True) / total
        weighted = x * weights
        apart = total if aweights is None else pa.sum(weights * aweights) / total
        factor = total - less * (apart if aweights is not None else 1.0)
    covariance = pa.matmul(weighted, pa.conj(x).T) / factor
    return pa.squeeze(covariance, (0, 1)) if covariance.shape == (1, 1) else covariance


def _rows(m: Any, *, rowvar: bool) -> Any:
    if m.ndim > 2:
        raise ValueError(f"cov: the array has {m.ndim} axes, not 1 or 2")
    m = pa.reshape(m, (1, -1)) if m.ndim < 2 else m
    return m if rowvar or m.shape[0] == 1 else m.T


@serves()
def corrcoef(x: Any, y: Any = None, rowvar: bool = True, *, dtype: Any = None) -> Any:
    matrix = cov(x, y, rowvar, dtype=dtype)
    if not matrix.ndim:
        return matrix / matrix
    scale = pa.sqrt(_real(pa.linalg.diagonal(matrix)))
    matrix = matrix / scale[:, None] / scale[None, :]
    return matrix if matrix.dtype.kind == "c" else pa.clip(matrix, -1, 1)


# --- cumulative --------------------------------------------------------------------------------


def _running(function: Any, a: Any, axis: Any, dtype: Any) -> Any:
    x = flat(a) if axis is None else a
    return function(x, axis=-1 if axis is None else axis, dtype=dtype)


@serves(order="a axis dtype out")
def cumsum(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _running(pa.cumulative_sum, a, axis, dtype)


@serves(order="a axis dtype out")
def cumprod(a: Any, axis: Any = None, dtype: Any = None) -> Any:
    return _running(pa.cumulative_prod, a, axis, dtype)


@serves(order="x")
def cumulative_sum(
    x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    return pa.cumulative_sum(x, axis=axis, dtype=dtype, include_initial=include_initial)


@serves(order="x")
def cumulative_prod(
    x: Any, *, axis: Any = None, dtype: Any = None, include_initial: bool = False
) -> Any:
    return pa.cumulative_prod(x, axis=axis, dtype=dtype, include_initial=include_initial)
