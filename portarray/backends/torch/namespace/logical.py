"""Logic on boolean tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace.promotion import Scalar, pair

_logical_and = torch.logical_and
_logical_or = torch.logical_or
_logical_xor = torch.logical_xor
logical_not = torch.logical_not


def logical_and(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where both are true."""
    if getattr(x1, "dtype", None) is getattr(x2, "dtype", None):
        return _logical_and(x1, x2)  # type: ignore[arg-type]
    return _logical_and(*pair(x1, x2))


def logical_or(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where at least one is true."""
    if getattr(x1, "dtype", None) is getattr(x2, "dtype", None):
        return _logical_or(x1, x2)  # type: ignore[arg-type]
    return _logical_or(*pair(x1, x2))


def logical_xor(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where exactly one is true."""
    if getattr(x1, "dtype", None) is getattr(x2, "dtype", None):
        return _logical_xor(x1, x2)  # type: ignore[arg-type]
    return _logical_xor(*pair(x1, x2))
