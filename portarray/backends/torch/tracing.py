"""Detection of traced tensors."""

from __future__ import annotations

import torch
from torch import Tensor

__all__ = ["is_traced"]


def is_traced(x: Tensor) -> bool:
    """Return whether a tensor has no values: the compiler's, or ``torch.func``'s."""
    is_plain = type(x) is Tensor or type(x) is torch.nn.Parameter
    return not is_plain or torch._C._functorch.is_functorch_wrapped_tensor(x)
