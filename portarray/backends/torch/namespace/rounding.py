"""Rounding; integers are copied."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.types import Rows


def _round_parts(x: Tensor) -> Tensor:
    return torch.complex(torch.round(x.real), torch.round(x.imag))


BY_DTYPE: Rows = {
    "ceil": {"iu": torch.clone, "f": torch.ceil},
    "floor": {"iu": torch.clone, "f": torch.floor},
    "round": {"iu": torch.clone, "f": torch.round, "c": _round_parts},
    "trunc": {"iu": torch.clone, "f": torch.trunc},
}
