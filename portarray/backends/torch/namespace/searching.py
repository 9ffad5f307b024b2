"""Searching functions on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal

import numpy as np
import torch
from torch import Tensor

from portarray.backends.torch.namespace import on_host, unsigned
from portarray.backends.torch.namespace.statistical import refuse_empty
from portarray.backends.torch.namespace.unsigned import comparing, zero_or_not
from portarray.backends.types import Rows

Axes = int | tuple[int, ...]

_INTEGER_OF_WIDTH = {2: torch.int16, 4: torch.int32, 8: torch.int64}


def _argument(name: str, function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return the index of the first extreme element, or of the first NaN."""

    def argument(x: Tensor, /, *, axis: int | None = None, keepdims: bool = False) -> Tensor:
        refuse_empty(name, x, axis)
        return function(x, axis, keepdim=keepdims)

    return argument


argmax = _argument("argmax", torch.argmax)
argmin = _argument("argmin", torch.argmin)


def count_nonzero(x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
    """Count the elements that are not 0."""
    if axis == ():
        return (x != 0).to(torch.int64)
    if keepdims:
        return torch.sum(x != 0, axis, keepdim=True, dtype=torch.int64)
    return torch.count_nonzero(x, axis)


def nonzero(x: Tensor, /) -> tuple[Tensor, ...]:
    """Return the indices of the elements that are not 0, a tensor for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero: needs at least 1 axis, got a 0-d tensor")
    return tuple(torch.nonzero(x, as_tuple=True))


def searchsorted(
    x1: Tensor,
    x2: Tensor,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Tensor | None = None,
) -> Tensor:
    """Return where elements would be inserted into a sorted tensor; NaN sorts last."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    if sorter is not None:
        sorter = sorter.to(torch.int64)
    if x1.dtype.is_floating_point:
        if sorter is None and x1.dtype is not torch.bfloat16:
            indices = on_host.computed(np.searchsorted, x1, x2, side=side)
            if indices is not None:
                return indices
        x1, x2 = _total_order(x1), _total_order(x2)
    return torch.searchsorted(x1.contiguous(), x2.contiguous(), side=side, sorter=sorter)


def _total_order(x: Tensor) -> Tensor:
    """Return integers in the order of real numbers, with NaN last.

    torch.searchsorted compares elements, and every comparison with NaN is false. The bits of
    positive numbers, read as integers, are in their order; those of negative ones are reversed.
    """
    as_integer = _INTEGER_OF_WIDTH[x.dtype.itemsize]
    # Adding 0 makes -0 equal to 0.
    bits = (x.detach() + 0.0).contiguous().view(as_integer)
    limits = torch.iinfo(as_integer)
    key = torch.where(bits < 0, bits ^ limits.max, bits)
    return torch.where(torch.isnan(x), limits.max, key)


def _unsigned_where(condition: Tensor, x1: Tensor, x2: Tensor) -> Tensor:
    return torch.where(condition, unsigned.bits(x1), unsigned.bits(x2)).view(x1.dtype)


BY_DTYPE: Rows = {
    "argmax": {unsigned.NAMES: comparing(argmax)},
    "argmin": {unsigned.NAMES: comparing(argmin)},
    "count_nonzero": {unsigned.NAMES: zero_or_not(count_nonzero)},
    "nonzero": {unsigned.NAMES: zero_or_not(nonzero)},
    "searchsorted": {unsigned.NAMES: comparing(searchsorted)},
    "where": {"biufc": torch.where, unsigned.NAMES: _unsigned_where},
}
WITH_PYTHON_SCALAR: Rows = {"where": {"bifc uint8": torch.where}}
