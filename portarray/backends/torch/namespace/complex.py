"""Parts of complex tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.types import Rows

# PyTorch's lazy conjugates cannot be exported.
conj = torch.conj_physical


def _imag(x: Tensor) -> Tensor:
    return x.resolve_conj().imag


def _itself(x: Tensor) -> Tensor:
    return x


# Parts of complex tensors are views.
BY_DTYPE: Rows = {
    "imag": {"c": _imag, "iuf": torch.zeros_like},
    "real": {"c": torch.real, "iuf": _itself},
}
