"""Rounding; integers stay as they are."""

from __future__ import annotations

import torch
from torch import Tensor


def ceil(x: Tensor, /) -> Tensor:
    """Round up."""
    return torch.ceil(x) if x.dtype.is_floating_point else x.clone()


def floor(x: Tensor, /) -> Tensor:
    """Round down."""
    return torch.floor(x) if x.dtype.is_floating_point else x.clone()


def round(x: Tensor, /) -> Tensor:
    """Round to the nearest integer, halves to even; both parts of complex numbers."""
    if x.dtype.is_floating_point:
        return torch.round(x)
    if x.dtype.is_complex:
        return torch.complex(torch.round(x.real), torch.round(x.imag))
    return x.clone()


def trunc(x: Tensor, /) -> Tensor:
    """Round towards zero."""
    return torch.trunc(x) if x.dtype.is_floating_point else x.clone()
