"""Sums, products, means and extremes of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from portarray.backends.torch.namespace.data_type import astype
from portarray.backends.torch.namespace.unsigned import NAMES, UNSIGNED, choosing, signed
from portarray.backends.types import Rows

Axes = int | tuple[int, ...]

_UNSIGNED = UNSIGNED | {torch.uint8}


def _in_ring(
    function: Callable[[Tensor, torch.dtype], Tensor], x: Tensor, dtype: torch.dtype | None
) -> Tensor:
    """Call a function of sums and products in the dtype of its result; integers widen.

    On the bits of unsigned integers it is the same.
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


def cumulative_prod(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: torch.dtype | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return running products along an axis."""
    return _running(torch.cumprod, 1, x, axis, dtype, include_initial)


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: torch.dtype | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return running sums along an axis."""
    return _running(torch.cumsum, 0, x, axis, dtype, include_initial)


def _running(
    function: Callable[..., Tensor],
    first: int,
    x: Tensor,
    axis: int | None,
    dtype: torch.dtype | None,
    include_initial: bool,
) -> Tensor:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"a running sum or product of {x.ndim} axes needs axis=")
        axis = 0

    def running(y: Tensor, kept: torch.dtype) -> Tensor:
        found = function(y, axis, dtype=kept)
        if not include_initial:
            return found
        shape = list(found.shape)
        shape[axis] = 1
        return torch.concat([found.new_full(shape, first), found], axis)

    return _in_ring(running, x, dtype)


def refuse_empty(name: str, x: Tensor, axis: Axes | None) -> None:
    """Refuse to look for an extreme among no elements, which PyTorch calls an IndexError."""
    if x.numel():
        return
    axes = range(x.ndim) if axis is None else (axis,) if isinstance(axis, int) else axis
    if any(x.shape[place] == 0 for place in axes):
        raise ValueError(f"{name} of no elements does not exist; the shape is {tuple(x.shape)}")


# Here PyTorch takes () for all axes.


def max(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the largest elements; NaN where there is one."""
    refuse_empty("max", x, axis)
    if axis == ():
        return x.clone()
    return torch.amax(x, () if axis is None else axis, keepdim=keepdims)


def min(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the smallest elements; NaN where there is one."""
    refuse_empty("min", x, axis)
    if axis == ():
        return x.clone()
    return torch.amin(x, () if axis is None else axis, keepdim=keepdims)


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

    def product(y: Tensor, kept: torch.dtype) -> Tensor:
        if isinstance(axis, int):
            return torch.prod(y, axis, keepdim=keepdims, dtype=kept)
        # PyTorch multiplies along one axis only.
        axes = range(x.ndim) if axis is None else [place % x.ndim for place in axis]
        for place in sorted(axes, reverse=True):
            y = torch.prod(y, place, keepdim=keepdims, dtype=kept)
        return y if axes else y.to(kept, copy=True)

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
        return _in_ring(lambda y, kept: y.to(kept, copy=True), x, dtype)
    return _in_ring(lambda y, kept: torch.sum(y, axis, keepdim=keepdims, dtype=kept), x, dtype)


def std(
    x: Tensor, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return standard deviations; NaN where no degrees of freedom are left."""
    square = var(x, axis=axis, correction=correction, keepdims=keepdims)
    if x.requires_grad:  # of equal elements they are 0
        none = square == 0
        return torch.where(none, 0, torch.sqrt(torch.where(none, 1, square)))
    return torch.sqrt(square)


def var(
    x: Tensor, /, *, axis: Axes | None = None, correction: float = 0.0, keepdims: bool = False
) -> Tensor:
    """Return variances; NaN where no degrees of freedom are left."""
    if axis is None:
        count = x.numel()
    else:
        axes = (axis,) if isinstance(axis, int) else axis
        count = math.prod([x.shape[place] for place in axes])
    left = count - correction
    if axis == ():
        spread = x - x  # 0, but NaN for what is not finite
    elif count == 0:
        # PyTorch's own warns of an empty reduction.
        return torch.mean(x, axis, keepdim=keepdims)
    else:
        spread = torch.var(x, axis, correction=0, keepdim=keepdims)
    if correction == 0:
        return spread
    return spread * (count / left if left > 0 else math.nan)


ROWS: Rows = {"max": {NAMES: choosing(max)}, "min": {NAMES: choosing(min)}}
PLAIN: Rows = {"mean": {"fc": torch.mean}, "sum": {"ifc": torch.sum}}
