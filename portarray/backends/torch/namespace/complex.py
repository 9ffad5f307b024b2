"""Parts of complex tensors."""

from __future__ import annotations

import torch
from torch import Tensor


def conj(x: Tensor, /) -> Tensor:
    """Return complex conjugates, computed at once: PyTorch's lazy ones cannot be exported."""
    return torch.conj_physical(x)


def imag(x: Tensor, /) -> Tensor:
    """Return imaginary parts, as a view; zeros for a real tensor."""
    if x.dtype.is_complex:
        return x.resolve_conj().imag
    return torch.zeros_like(x)


def real(x: Tensor, /) -> Tensor:
    """Return real parts, as a view; a real tensor itself."""
    return x.real if x.dtype.is_complex else x
