"""Sums, products, means and extremes of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch
from torch import Tensor

from portarray.backends.common.blocks import FEW, cumulative_in_blocks, least_exact_norm
from portarray.backends.torch.gradients import HALVES
from portarray.backends.torch.namespace.data_type import astype
from portarray.backends.torch.namespace.unsigned import NAMES, UNSIGNED, choosing, signed
from portarray.backends.torch.tracing import is_traced
from portarray.backends.types import Rows

Axes = int | tuple[int, ...]

_UNSIGNED = UNSIGNED | {torch.uint8}


def _in_ring(
    function: Callable[[Tensor, torch.dtype], Tensor], x: Tensor, dtype: torch.dtype | None
) -> Tensor:
    """Call a function of sums and products in the dtype of its result; integers widen.

    Sums and products of unsigned integers are computed on their bits.
    """
    if dtype is None:
        if x.dtype.is_floating_point or x.dtype.is_complex:
            return function(x, x.dtype)
        if x.dtype not in _UNSIGNED:
            return function(x, torch.int64)
        dtype = torch.uint64
    if x.dtype is not dtype:
        x = astype(x, dtype)
    if dtype in UNSIGNED:
        as_signed = signed[dtype]
        return function(x.view(as_signed), as_signed).view(dtype)
    return function(x, dtype)


def _cumulative(function: Callable[..., Tensor], first: int) -> Callable[..., Tensor]:
    """Return a cumulative sum or product, whose initial value is `first`."""

    def cumulative(
        x: Tensor,
        /,
        *,
        axis: int | None = None,
        dtype: torch.dtype | None = None,
        include_initial: bool = False,
    ) -> Tensor:
        if axis is None:
            if x.ndim != 1:
                raise ValueError(f"cumulative sums and products of {x.ndim} axes need axis=")
            axis = 0

        def running(y: Tensor, result_dtype: torch.dtype) -> Tensor:
            sums = function(y, axis, dtype=result_dtype)
            if not include_initial:
                return sums
            shape = list(sums.shape)
            shape[axis] = 1
            return torch.concat([sums.new_full(shape, first), sums], axis)

        return _in_ring(running, x, dtype)

    return cumulative


cumulative_prod = _cumulative(torch.cumprod, 1)


def _cumsum(x: Tensor, axis: int, dtype: torch.dtype) -> Tensor:
    # On CPUs PyTorch adds one number after another: float32 in float64, but float64 in float64.
    if dtype not in (torch.float64, torch.complex128) or not x.is_cpu:
        return torch.cumsum(x, axis, dtype=dtype)
    x = x.to(dtype)
    sums: Tensor = cumulative_in_blocks(torch.cumsum, torch.concat, x.new_full, x, axis % x.ndim)
    return sums


cumulative_sum = _cumulative(_cumsum, 0)


def refuse_empty(name: str, x: Tensor, axis: Axes | None) -> None:
    """Raise ValueError for the extreme of no elements; PyTorch raises IndexError."""
    if x.numel():
        return
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if any(x.shape[position] == 0 for position in axes):
        raise ValueError(f"{name}: undefined for an empty array of shape {tuple(x.shape)}")


# For PyTorch () means all axes.


def _extreme(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    def extreme(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        refuse_empty(name, x, axis)
        if axis == ():
            return x.clone()
        return function(x, () if axis is None else axis, keepdim=keepdims)

    return extreme


max = _extreme("max", torch.amax)
min = _extreme("min", torch.amin)


def mean(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return arithmetic means."""
    return x.clone() if axis == () else torch.mean(x, axis, keepdim=keepdims)


def prod(
    x: Tensor,
    /,
    *,
    axis: Axes | None = None,
    dtype: torch.dtype | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Return products; integers widen."""

    def product(y: Tensor, result_dtype: torch.dtype) -> Tensor:
        if result_dtype in HALVES:  # products of two may leave the range
            return product(y, torch.float32).to(result_dtype)
        if isinstance(axis, int):
            return torch.prod(y, axis, keepdim=keepdims, dtype=result_dtype)
        # PyTorch multiplies along one axis only.
        axes = range(x.ndim) if axis is None else [position % x.ndim for position in axis]
        for position in sorted(axes, reverse=True):
            y = torch.prod(y, position, keepdim=keepdims, dtype=result_dtype)
        return y if axes else y.to(result_dtype, copy=True)

    return _in_ring(product, x, dtype)


def sum(
    x: Tensor,
    /,
    *,
    axis: Axes | None = None,
    dtype: torch.dtype | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Return sums; integers widen."""
    if axis == ():
        return _in_ring(lambda y, result_dtype: y.to(result_dtype, copy=True), x, dtype)
    return _in_ring(
        lambda y, result_dtype: torch.sum(y, axis, keepdim=keepdims, dtype=result_dtype), x, dtype
    )


def std(
    x: Tensor, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return standard deviations; NaN where no degrees of freedom are left."""
    if x.dtype.itemsize == 2:
        return std(x.float(), axis=axis, correction=correction, keepdims=keepdims).to(x.dtype)
    is_known = x.is_cpu and not (x.requires_grad or is_traced(x) or torch.compiler.is_compiling())
    has_no_sum = axis == () or not x.numel()
    if is_known or has_no_sum:
        deviation = torch.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))
        if has_no_sum or not is_out_of_range(deviation, 2):
            return deviation
    axes = tuple(range(x.ndim)) if axis is None else axis
    unit = unit_of(x, axes)
    square = var(x / unit, axis=axes, correction=correction, keepdims=True)
    is_zero = square == 0  # gradients for equal elements are 0
    deviation = torch.where(is_zero, 0, torch.sqrt(torch.where(is_zero, 1, square))) * unit
    return deviation if keepdims else deviation.squeeze(axes)


def unit_of(x: Tensor, axes: Axes) -> Tensor:
    """Return the power of two near the largest element, by which divisions are exact."""
    largest = x.detach().abs()
    if axes != ():
        largest = torch.amax(largest, axes, keepdim=True)
    unit = torch.exp2(torch.floor(torch.log2(largest)))
    return torch.where((unit == 0) | ~torch.isfinite(unit), 1, unit)


def is_out_of_range(norm: Tensor, ord: float) -> bool:
    """Return whether powers may have overflowed or lost digits."""
    if not norm.numel():
        return False
    least = _least_exact_norm(norm.dtype, ord)
    if not norm.ndim:
        return not least < norm.item() < math.inf
    if norm.is_cpu and norm.numel() <= FEW:  # Python's own comparisons take a third of the time
        few = norm.detach().reshape(-1).tolist()
        return not all([least < x < math.inf for x in few])  # noqa: C419
    low, high = torch.aminmax(norm.detach())
    return not (least < low.item() and high.item() < math.inf)


@cache
def _least_exact_norm(dtype: torch.dtype, ord: float) -> float:
    return least_exact_norm(torch.finfo(dtype), ord)


def var(
    x: Tensor, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return variances; NaN where no degrees of freedom are left."""
    if axis is None:
        count = x.numel()
    else:
        axes = (axis,) if isinstance(axis, int) else axis
        count = math.prod([x.shape[position] for position in axes])
    degrees = count - correction
    if axis == ():
        variance = x - x  # 0, but NaN for what is not finite
    elif count == 0:
        # torch.var warns about empty reductions.
        return torch.mean(x, axis, keepdim=keepdims)
    else:
        variance = torch.var(x, axis, correction=0, keepdim=keepdims)
    if correction == 0:
        return variance
    return variance * (count / degrees if degrees > 0 else math.nan)


BY_DTYPE: Rows = {"max": {NAMES: choosing(max)}, "min": {NAMES: choosing(min)}}
DIRECT: Rows = {"mean": {"fc": torch.mean}, "sum": {"ifc": torch.sum}}
