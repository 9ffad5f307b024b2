"""Small tensors on the CPU computed by NumPy, where PyTorch needs a chain of calls.

Starting a call of PyTorch costs as much as NumPy's loop over a few hundred elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

_MOST = 4096
"""Elements up to which NumPy's one call was faster for every function that comes here."""


def computed(function: Callable[..., Any], *operands: Any, **options: Any) -> Tensor | None:
    """Return a NumPy function's result, None where it cannot see the operands or they are large.

    Operands are tensors or Python scalars; bfloat16 is none of NumPy's dtypes.
    """
    arrays = []
    for x in operands:
        if isinstance(x, Tensor):
            if not x.is_cpu or x.numel() > _MOST:
                return None
            try:
                x = x.numpy()
            except (RuntimeError, TypeError):
                # Tensors that autograd or torch.func follows, and lazily negated ones.
                return None
        arrays.append(x)
    with np.errstate(all="ignore"):
        return torch.from_numpy(np.asarray(function(*arrays, **options)))
