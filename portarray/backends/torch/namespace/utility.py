"""Tests of whole tensors, and differences."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.promotion import together
from portarray.backends.torch.namespace.unsigned import UNSIGNED

Axes = int | tuple[int, ...]


def _truth(x: Tensor) -> Tensor:
    if x.dtype is torch.bool:
        return x
    return (unsigned.bits(x) if x.dtype in UNSIGNED else x) != 0


def all(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Tell whether all elements are true; NaN is."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    truth = _truth(x)
    return torch.all(truth, axes, keepdim=keepdims) if axes else truth.clone()


def any(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Tell whether at least one element is true; NaN is."""
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    truth = _truth(x)
    return torch.any(truth, axes, keepdim=keepdims) if axes else truth.clone()


def diff(
    x: Tensor,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Tensor | None = None,
    append: Tensor | None = None,
) -> Tensor:
    """Return n-th differences along an axis."""
    if n == 0:
        return x
    parts = together([part for part in (prepend, x, append) if part is not None])
    joined = torch.concat(parts, axis) if len(parts) > 1 else parts[0]
    if joined.dtype in UNSIGNED:
        return torch.diff(unsigned.bits(joined), n=n, dim=axis).view(joined.dtype)
    return torch.diff(joined, n=n, dim=axis)
