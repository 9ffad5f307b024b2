"""Sorting tensors: stable both ways, NaN last in ascending and first in descending order."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.unsigned import UNSIGNED


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the indices that sort a tensor."""
    key = unsigned.ordered(x) if x.dtype in UNSIGNED else x
    return torch.argsort(key, dim=axis, descending=descending, stable=stable)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return a sorted copy."""
    if x.dtype in UNSIGNED:
        key = torch.sort(unsigned.ordered(x), dim=axis, descending=descending, stable=stable)[0]
        return unsigned.unordered(key, x.dtype)
    return torch.sort(x, dim=axis, descending=descending, stable=stable)[0]
