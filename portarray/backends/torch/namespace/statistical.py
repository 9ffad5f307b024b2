"""Sums, products, means and extremes of tensors."""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.promotion import INTEGRAL, SIGNED, default_float
from portarray.backends.torch.namespace.unsigned import UNSIGNED

Axes = int | tuple[int, ...]


def _axes(x: Tensor, axis: Axes | None) -> tuple[int, ...]:
    """Return the axes to reduce, non-negative."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = (axis,) if isinstance(axis, int) else axis
    for one in axes:
        if not -x.ndim <= one < x.ndim:
            raise IndexError(f"axis {one} is out of bounds for a tensor of {x.ndim} axes")
    places = tuple(one % x.ndim for one in axes)
    if len(set(places)) < len(places):
        raise ValueError(f"an axis is named twice in {axes}")
    return places


def _sum_dtype(x: Tensor, dtype: torch.dtype | None) -> torch.dtype:
    """Return the dtype of a sum or product: integers widen to the default of their kind."""
    if dtype is not None:
        return dtype
    if x.dtype in SIGNED or x.dtype is torch.bool:
        return torch.int64
    return torch.uint64 if x.dtype in INTEGRAL else x.dtype


def _converted(x: Tensor, dtype: torch.dtype) -> Tensor:
    if x.dtype is dtype:
        return x
    if dtype in UNSIGNED and x.dtype.is_floating_point:
        return unsigned.from_float(x, dtype)
    return x.to(dtype)


def _in_ring(
    function: Callable[[Tensor, torch.dtype], Tensor], x: Tensor, dtype: torch.dtype
) -> Tensor:
    """Call a function of sums and products, which on the bits of unsigned integers is the same."""
    x = _converted(x, dtype)
    if dtype in UNSIGNED:
        as_signed = unsigned.signed[dtype]
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
    place = _running_axis(x, axis)
    return _in_ring(
        lambda y, kept: _with_initial(
            torch.cumprod(y, place, dtype=kept), place, 1, include_initial
        ),
        x,
        _sum_dtype(x, dtype),
    )


def cumulative_sum(
    x: Tensor,
    /,
    *,
    axis: int | None = None,
    dtype: torch.dtype | None = None,
    include_initial: bool = False,
) -> Tensor:
    """Return running sums along an axis."""
    place = _running_axis(x, axis)
    return _in_ring(
        lambda y, kept: _with_initial(
            torch.cumsum(y, place, dtype=kept), place, 0, include_initial
        ),
        x,
        _sum_dtype(x, dtype),
    )


def _running_axis(x: Tensor, axis: int | None) -> int:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"a running sum or product of {x.ndim} axes needs axis=")
        return 0
    return _axes(x, axis)[0]


def _with_initial(running: Tensor, axis: int, first: int, include_initial: bool) -> Tensor:
    if not include_initial:
        return running
    shape = list(running.shape)
    shape[axis] = 1
    return torch.concat([running.new_full(shape, first), running], axis)


def refuse_empty(name: str, x: Tensor, axes: tuple[int, ...]) -> None:
    """Refuse to look for an extreme among no elements, which PyTorch calls an IndexError."""
    if x.numel() == 0 and any(x.shape[place] == 0 for place in axes):
        raise ValueError(f"{name} of no elements does not exist; the shape is {tuple(x.shape)}")


def max(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the largest elements; NaN where there is one."""
    axes = _axes(x, axis)
    if not axes:
        return x.clone()
    refuse_empty("max", x, axes)
    if x.dtype in UNSIGNED:
        key = torch.amax(unsigned.ordered(x), axes, keepdim=keepdims)
        return unsigned.unordered(key, x.dtype)
    return torch.amax(x, axes, keepdim=keepdims)


def min(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return the smallest elements; NaN where there is one."""
    axes = _axes(x, axis)
    if not axes:
        return x.clone()
    refuse_empty("min", x, axes)
    if x.dtype in UNSIGNED:
        key = torch.amin(unsigned.ordered(x), axes, keepdim=keepdims)
        return unsigned.unordered(key, x.dtype)
    return torch.amin(x, axes, keepdim=keepdims)


def _inexact(x: Tensor) -> Tensor:
    if x.dtype.is_floating_point or x.dtype.is_complex:
        return x
    return x.to(default_float(x.device))


def mean(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Return arithmetic means."""
    x = _inexact(x)
    axes = _axes(x, axis)
    if not axes:
        return x.clone()
    return torch.mean(x, axes, keepdim=keepdims)


def prod(
    x: Tensor,
    /,
    *,
    axis: Axes | None = None,
    dtype: torch.dtype | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Return products; integers widen."""
    axes = _axes(x, axis)

    def product(y: Tensor, kept: torch.dtype) -> Tensor:
        # PyTorch multiplies along one axis only.
        for place in sorted(axes, reverse=True):
            y = torch.prod(y, place, keepdim=keepdims, dtype=kept)
        return y if axes else y.clone()

    return _in_ring(product, x, _sum_dtype(x, dtype))


def std(
    x: Tensor,
    /,
    *,
    axis: Axes | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """Return standard deviations."""
    return torch.sqrt(var(x, axis=axis, correction=correction, keepdims=keepdims))


def sum(
    x: Tensor,
    /,
    *,
    axis: Axes | None = None,
    dtype: torch.dtype | None = None,
    keepdims: bool = False,
) -> Tensor:
    """Return sums; integers widen."""
    if axis is None and dtype is None and not keepdims and x.dtype.is_floating_point:
        return torch.sum(x)
    axes = _axes(x, axis)
    target = _sum_dtype(x, dtype)
    if not axes:
        return _converted(x, target).clone()
    if target is x.dtype and target not in UNSIGNED:
        return torch.sum(x, axes, keepdim=keepdims, dtype=target)
    return _in_ring(
        lambda y, kept: torch.sum(y, axes, keepdim=keepdims, dtype=kept),
        x,
        target,
    )


def var(
    x: Tensor,
    /,
    *,
    axis: Axes | None = None,
    correction: float = 0.0,
    keepdims: bool = False,
) -> Tensor:
    """Return variances; NaN where no degrees of freedom are left."""
    x = _inexact(x)
    axes = _axes(x, axis)
    count = math.prod(x.shape[place] for place in axes)
    if not axes:
        # 0, but NaN for what is not finite.
        spread = torch.view_as_real(x - x).sum(-1) if x.dtype.is_complex else x - x
    elif count == 0:
        # PyTorch warns of an empty reduction.
        return torch.mean(x.real if x.dtype.is_complex else x, axes, keepdim=keepdims)
    else:
        spread = torch.var(x, axes, correction=0, keepdim=keepdims)
    if correction == 0:
        return spread
    left = count - correction
    return spread * (count / left if left > 0 else math.nan)
