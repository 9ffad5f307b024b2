"""Where in a tensor something is."""

from __future__ import annotations

from typing import Literal

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.promotion import Scalar, pair
from portarray.backends.torch.namespace.statistical import refuse_empty
from portarray.backends.torch.namespace.unsigned import UNSIGNED

Axes = int | tuple[int, ...]

_INTEGER_OF_WIDTH = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def _sortable(x: Tensor) -> Tensor:
    """Return what PyTorch's searches can compare."""
    if x.dtype in UNSIGNED:
        return unsigned.ordered(x)
    return x.to(torch.uint8) if x.dtype is torch.bool else x


def argmax(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first largest element; of the first NaN where there is one."""
    refuse_empty("argmax", x, tuple(range(x.ndim)) if axis is None else (axis,))
    return torch.argmax(_sortable(x), axis, keepdim=keepdims)


def argmin(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
    """Return the index of the first smallest element; of the first NaN where there is one."""
    refuse_empty("argmin", x, tuple(range(x.ndim)) if axis is None else (axis,))
    return torch.argmin(_sortable(x), axis, keepdim=keepdims)


def count_nonzero(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Count the elements that are not 0."""
    unequal = x if x.dtype is torch.bool else (unsigned.bits(x) if x.dtype in UNSIGNED else x) != 0
    axes = tuple(range(x.ndim)) if axis is None else (axis,) if isinstance(axis, int) else axis
    if not axes:
        return unequal.to(torch.int64)
    return torch.sum(unequal, axes, keepdim=keepdims, dtype=torch.int64)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of the elements that are not 0, a tensor for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero needs at least one axis; a 0-d tensor has no indices")
    bits = unsigned.bits(x) if x.dtype in UNSIGNED else x
    return tuple(torch.nonzero(bits, as_tuple=True))


def searchsorted(
    x1: Tensor,
    x2: Tensor | Scalar,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Return where elements would be inserted into a sorted tensor; NaN sorts last."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted's side must be 'left' or 'right', got {side!r}")
    x1, x2 = pair(x1, x2)
    if x1.dtype.is_floating_point:
        x1, x2 = _total_order(x1), _total_order(x2)
    else:
        x1, x2 = _sortable(x1), _sortable(x2)
    if sorter is not None:
        sorter = sorter.to(torch.int64)
    return torch.searchsorted(x1.contiguous(), x2.contiguous(), side=side, sorter=sorter)


def _total_order(x: Tensor) -> Tensor:
    """Return integers in the order of real numbers, with every NaN after the largest.

    PyTorch's search compares, and every comparison with NaN is false. The bits of positive
    numbers are in their order already; those of negative ones run backwards.
    """
    as_integer = _INTEGER_OF_WIDTH[x.dtype.itemsize]
    # Adding 0 makes -0 equal to 0.
    bits = (x.detach() + 0.0).contiguous().view(as_integer)
    limits = torch.iinfo(as_integer)
    key = torch.where(bits < 0, bits ^ limits.max, bits)
    return torch.where(torch.isnan(x), limits.max, key)


def where(condition: Tensor, x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Choose from x1 where the condition is true, else from x2."""
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        chosen = torch.where(condition, unsigned.bits(x1), unsigned.bits(x2))
        return chosen.view(x1.dtype)
    return torch.where(condition, x1, x2)
