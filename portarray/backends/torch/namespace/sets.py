"""Set functions on real tensors; PyTorch's do not support complex numbers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from portarray._result_types import UniqueCountsResult, UniqueInverseResult
from portarray.backends.torch.namespace.searching import searchsorted
from portarray.backends.torch.namespace.unsigned import NAMES, ordered, unordered, zero_or_not
from portarray.backends.types import Rows

_FEW = 4096
"""Number of elements from which searching is faster than ``torch.isin``, which sorts both."""

# PyTorch has no types for this.
_unique: Callable[..., Any] = torch.unique


def _isin(x1: Tensor, x2: Tensor, /, *, invert: bool = False) -> Tensor:
    size = x2.numel()
    if not size or x1.numel() + size < _FEW:
        return torch.isin(x1, x2.contiguous(), invert=invert)  # isin calls view on x2
    ordered = torch.sort(x2.reshape(-1))[0]
    nearest = ordered[searchsorted(ordered, x1).clamp_(max=size - 1)]
    return nearest != x1 if invert else nearest == x1


def _values(x: Tensor, /) -> Tensor:
    return _inverse(x)[0] if x.requires_grad else _unique(x)


def _counts(x: Tensor, /) -> UniqueCountsResult[Tensor]:
    values, counts = _unique(x.detach(), return_counts=True)
    return UniqueCountsResult(_inverse(x)[0] if x.requires_grad else values, counts)


def _inverse(x: Tensor, /) -> UniqueInverseResult[Tensor]:
    values, inverse = _unique(x.detach(), return_inverse=True)
    if x.requires_grad:
        # torch.unique has no gradient: gather the values from x.
        places = inverse.reshape(-1)
        numbers = torch.arange(len(places), device=x.device)
        values = x.reshape(-1)[places.new_zeros(len(values)).scatter_(0, places, numbers)]
    return UniqueInverseResult(values, inverse)


def _unsigned_values(x: Tensor, /) -> Tensor:
    return unordered(_unique(ordered(x)), x.dtype)


def _unsigned_counts(x: Tensor, /) -> UniqueCountsResult[Tensor]:
    values, counts = _counts(ordered(x))
    return UniqueCountsResult(unordered(values, x.dtype), counts)


def _unsigned_inverse(x: Tensor, /) -> UniqueInverseResult[Tensor]:
    values, inverse = _inverse(ordered(x))
    return UniqueInverseResult(unordered(values, x.dtype), inverse)


BY_DTYPE: Rows = {
    "isin": {"iuf": _isin, NAMES: zero_or_not(_isin)},
    "unique_counts": {"biuf": _counts, NAMES: _unsigned_counts},
    "unique_inverse": {"biuf": _inverse, NAMES: _unsigned_inverse},
    "unique_values": {"biuf": _values, NAMES: _unsigned_values},
}
