"""Logic on boolean tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace.promotion import Scalar, pair

logical_not = torch.logical_not


def logical_and(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where both are true."""
    return torch.logical_and(*pair(x1, x2))


def logical_or(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where at least one is true."""
    return torch.logical_or(*pair(x1, x2))


def logical_xor(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Tell where exactly one is true."""
    return torch.logical_xor(*pair(x1, x2))
