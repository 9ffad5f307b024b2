"""Small CPU tensors computed by NumPy in one call, where PyTorch needs several.

One call of PyTorch costs as much as NumPy's loop over a few hundred elements.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from portarray.backends.common.silence import silently

_MOST = 4096
"""Elements up to which NumPy was faster for every function that uses it."""


def computed(function: Callable[..., Any], *operands: Any, **options: Any) -> Tensor | None:
    """Return a NumPy function's result; None if operands are large or have no NumPy view.

    Operands are tensors or Python scalars. NumPy has no bfloat16.
    """
    arrays = []
    for x in operands:
        if isinstance(x, Tensor):
            if not x.is_cpu or x.numel() > _MOST:
                return None
            try:
                x = x.numpy()
            except (RuntimeError, TypeError):
                # Tensors that autograd or torch.func tracks, and lazily negated ones.
                return None
        arrays.append(x)
    return torch.from_numpy(np.asarray(silently(function, *arrays, **options)))
