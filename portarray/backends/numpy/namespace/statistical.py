"""Statistics of NumPy arrays.

They call the ufuncs' reductions: ``np.sum`` takes three times as long for small ones. NumPy's sums
are pairwise along the axis of the smallest stride alone; along others, and in cumulative sums, it
adds one number after another.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np

from portarray.backends.common.blocks import (
    FEW,
    blocked_sum,
    least_exact_norm,
    normalize_axes,
    rescaled_norm,
)
from portarray.backends.composed.statistical import count

Array = np.ndarray[Any, Any]
Axis = int | tuple[int, ...] | None
DType = np.dtype[Any]

# Without NumPy's own signatures, whose overloads do not take a bool for keepdims.
_Reduce = Callable[..., Array]
_maximum: _Reduce = np.maximum.reduce
_minimum: _Reduce = np.minimum.reduce
_multiply: _Reduce = np.multiply.reduce
_add: _Reduce = np.add.reduce


def max(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the largest value; NaN if there is one."""
    return _maximum(x, axis, None, None, keepdims)


def min(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the smallest value; NaN if there is one."""
    return _minimum(x, axis, None, None, keepdims)


def mean(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Return the mean."""
    size = x.size if axis is None else count(x, axis)
    if not size:
        with np.errstate(invalid="ignore"):
            return _add(x, axis, None, None, keepdims) / size
    if x.dtype.kind in "biu":
        out: Array = x.mean(axis, keepdims=keepdims)
        return out
    if x.dtype.itemsize == 2:
        wide = accurate_sum(x.astype(np.float32), axis, keepdims) / size
        return wide.astype(x.dtype)
    if x.size <= FEW:
        return _add(x, axis, None, None, keepdims) / size  # twice as fast as x.mean
    return accurate_sum(x, axis, keepdims) / size


def prod(
    x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """Return the product; small integers become the default integer."""
    return _multiply(x, axis, dtype, None, keepdims)


def std(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the standard deviation; the squares may leave the range."""
    wide = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    with np.errstate(over="ignore", invalid="ignore"):
        deviation = np.sqrt(var(wide, axis=axis, correction=correction, keepdims=keepdims))
    if wide.dtype.kind == "f" and x.size and not is_exact_norm(deviation):
        axes = normalize_axes(axis, x.ndim)
        largest = np.max(np.abs(wide), axis=axes, keepdims=True)

        def plain(y: Array) -> Array:
            return np.sqrt(var(y, axis=axes, correction=correction, keepdims=True))

        deviation = rescaled_norm(plain, largest, np.where, wide)
        deviation = deviation if keepdims else deviation.squeeze(axes)[()]
    return deviation if wide is x else deviation.astype(x.dtype)


def is_exact_norm(norm: Array, ord: float = 2) -> bool:
    """Return whether no power has overflowed or lost digits."""
    lowest = _lowest(norm.dtype, ord)
    if norm.ndim and norm.size <= FEW:  # Python's own comparisons take a third of the time
        few = norm.ravel().tolist()
        return all([lowest < x < math.inf for x in few])  # noqa: C419  (a generator takes longer)
    if norm.ndim:
        return bool(((norm > lowest) & (norm < math.inf)).all())
    return bool(lowest < norm < math.inf)


@cache
def _lowest(dtype: DType, ord: float) -> float:
    """Return the smallest norm whose powers have all digits."""
    return least_exact_norm(np.finfo(dtype), ord)


def sum(
    x: Array, /, *, axis: Axis = None, dtype: DType | None = None, keepdims: bool = False
) -> Array:
    """Return the sum; small integers become the default integer."""
    target = x.dtype if dtype is None else dtype
    if target.kind in "biu":
        return _add(x, axis, dtype, None, keepdims)
    if target.itemsize == 2:
        return accurate_sum(x.astype(np.float32), axis, keepdims).astype(target)
    if x.size <= FEW:
        return _add(x, axis, dtype, None, keepdims)
    return accurate_sum(x if dtype is None else x.astype(dtype, copy=False), axis, keepdims)


def accurate_sum(x: Array, axis: Axis, keepdims: bool) -> Array:
    """Return the sum of floating-point numbers in blocks, except where NumPy's is pairwise."""
    if x.ndim < 2 or x.size <= FEW:
        return _add(x, axis, None, None, keepdims)
    if x.flags.forc if axis is None else isinstance(axis, int) and x.shape[axis] <= FEW:
        return _add(x, axis, None, None, keepdims)
    axes = normalize_axes(axis, x.ndim)
    out: Array = blocked_sum(_sum_over, x, axes, _is_innermost)
    return out if keepdims else out.squeeze(axes)[()]


def _sum_over(x: Array, axes: tuple[int, ...]) -> Array:
    return _add(x, axes, None, None, True)


def _is_innermost(x: Array, axis: int) -> bool:
    """Return whether NumPy's loops are along this axis: it has the smallest stride."""
    stride = abs(x.strides[axis])
    return all(
        stride < abs(step) or size == 1 or at == axis
        for at, (step, size) in enumerate(zip(x.strides, x.shape, strict=True))
    )


def var(
    x: Array, /, *, axis: Axis = None, correction: float = 0.0, keepdims: bool = False
) -> Array:
    """Return the variance; NaN without a warning if the correction leaves nothing."""
    size = count(x, axis)
    if size <= correction:  # the sum only shapes the result
        return np.full_like(sum(x, axis=axis, keepdims=keepdims), np.nan)
    is_half = x.dtype.itemsize == 2
    if not x.ndim:
        out: Array = np.var(x, correction=correction, keepdims=keepdims)
        return out
    wide = x.astype(np.float32) if is_half else x
    deviations = wide - accurate_sum(wide, axis, True) / size
    np.square(deviations, out=deviations)
    variance = accurate_sum(deviations, axis, keepdims) / (size - correction)
    return variance.astype(x.dtype, copy=False)


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DType | None = None,
    include_initial: bool = False,
) -> Array:
    """Return cumulative sums; small integers become the default integer."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(
                f"cumulative_sum: x has {x.ndim} axes and axis is None\nHint: pass axis="
            )
        axis = 0
    if dtype is None and not include_initial and x.shape[axis] <= FEW and x.dtype.itemsize > 2:
        return np.add.accumulate(x, axis)
    axis = axis % x.ndim
    if x.dtype.kind in "biu" and dtype is None:
        dtype = _add(x[:0].reshape(-1)).dtype
    target = x.dtype if dtype is None else dtype
    shape = list(x.shape)
    shape[axis] += include_initial
    out = np.empty(shape, target)
    moved = _with_last(out, axis)
    if include_initial:
        moved[..., :1] = 0
        moved = moved[..., 1:]
    terms = _with_last(x, axis)
    if target.kind in "biu":
        np.add.accumulate(terms, -1, dtype, moved)
    elif target.itemsize == 2:
        wide = np.empty(terms.shape, np.float32)
        _accumulate(terms.astype(np.float32), wide)
        moved[...] = wide
    else:
        _accumulate(terms, moved)
    return out


def _with_last(x: Array, axis: int) -> Array:
    """Return a view with an axis moved behind the others."""
    return x if axis == x.ndim - 1 else np.moveaxis(x, axis, -1)


_WIDE = 4096
"""Numbers up to which sums in double precision are faster than blocks."""


def _accumulate(x: Array, out: Array) -> None:
    """Write cumulative sums along the last axis in blocks of 8.

    Adding 8 columns takes a fifth of the time of ``np.add.accumulate``.
    """
    size = x.shape[-1]
    if size <= FEW:
        np.add.accumulate(x, -1, out.dtype, out)
        return
    if size <= _WIDE and out.dtype.char in "fF":
        out[...] = np.add.accumulate(x, -1, np.float64 if out.dtype.char == "f" else np.complex128)
        return
    blocks, remainder = divmod(size, 8)
    terms = x[..., : size - remainder].reshape(*x.shape[:-1], blocks, 8)
    sums = out[..., : size - remainder].reshape(terms.shape)  # a view: one axis is split
    sums[..., 0] = terms[..., 0]
    for column in range(1, 8):
        np.add(sums[..., column - 1], terms[..., column], out=sums[..., column])
    ends = np.empty((*x.shape[:-1], blocks), out.dtype)
    _accumulate(sums[..., 7], ends)
    sums[..., 1:, :] += ends[..., :-1, None]
    if remainder:
        np.add.accumulate(x[..., size - remainder :], -1, out.dtype, out[..., size - remainder :])
        out[..., size - remainder :] += ends[..., -1:]
