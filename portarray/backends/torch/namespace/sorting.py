"""Stable sorting of tensors; NaN is last in ascending and first in descending order."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace.unsigned import NAMES, choosing, comparing
from portarray.backends.types import Rows


def argsort(
    x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> Tensor:
    """Return the indices that sort a tensor."""
    return torch.argsort(x, dim=axis, descending=descending, stable=stable)


def sort(x: Tensor, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Tensor:
    """Return a sorted copy."""
    return torch.sort(x, dim=axis, descending=descending, stable=stable)[0]


BY_DTYPE: Rows = {"argsort": {NAMES: comparing(argsort)}, "sort": {NAMES: choosing(sort)}}
