"""Detection of NaN in tensors."""

from __future__ import annotations

import math

import torch
from torch import Tensor

__all__ = ["has_nan"]

_FEW = 2048
"""Elements up to which ``torch.equal`` is faster than a sum, which uses vector instructions."""

_nan = torch.tensor(math.nan)
_equal_finds_nan = not torch.equal(_nan, _nan)  # PyTorch had an error for the same tensor


def has_nan(*tensors: Tensor) -> bool:
    """Return whether tensors with values contain NaN."""
    for x in tensors:
        if not x.is_cpu:  # read the device once
            return bool(torch.stack([x.isnan().any() for x in tensors]).any())
        if x.numel() <= _FEW and _equal_finds_nan:
            if not torch.equal(x, x):
                return True
        else:
            total = x.sum().item()
            if total != total and bool(x.isnan().any()):
                return True
    return False
