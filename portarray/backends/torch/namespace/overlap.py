"""In-place operators on tensors.

Floor division, remainder, power and complex sums differ from the standard's and have no rows.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from torch import Tensor


def overlapping(name: str) -> Callable[[Tensor, Any], Tensor]:
    """Return an in-place operator that takes operands which share part of the tensor's memory.

    PyTorch refuses them, before anything is written.
    """
    function = getattr(operator, name)

    def inplace(x: Tensor, value: Any) -> Tensor:
        try:
            found: Tensor = function(x, value)
        except RuntimeError:
            if not (isinstance(value, Tensor) and share_memory(x, value)):
                raise
            found = function(x, value.clone())
        return found

    return inplace


def share_memory(a: Tensor, b: Tensor) -> bool:
    """Tell whether two tensors are views of one memory."""
    return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
