"""Parts of complex tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.types import Rows


def conj(x: Tensor, /) -> Tensor:
    """Return complex conjugates in new memory; PyTorch's lazy ones cannot be exported."""
    return torch.conj_physical(x) if x.is_complex() else x.clone()


def _imag(x: Tensor) -> Tensor:
    return x.resolve_conj().imag


def _itself(x: Tensor) -> Tensor:
    return x


# Parts of complex tensors are views.
BY_DTYPE: Rows = {
    "imag": {"c": _imag, "iuf": torch.zeros_like},
    "real": {"c": torch.real, "iuf": _itself},
}
