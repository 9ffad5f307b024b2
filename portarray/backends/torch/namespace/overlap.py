"""In-place operators on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from torch import Tensor


def overlapping(name: str) -> Callable[[Tensor, Any], Tensor]:
    """Return an in-place operator that takes operands which share part of the tensor's memory.

    PyTorch refuses them where both are contiguous, before anything is written. Of others it does
    not see what they share, and reads what it has written.
    """
    function = getattr(operator, name)

    def inplace(x: Tensor, value: Any) -> Tensor:
        if (
            isinstance(value, Tensor)
            and not (x.is_contiguous() and value.is_contiguous())
            and x is not value
            and share_memory(x, value)
        ):
            value = value.clone()
        try:
            found: Tensor = function(x, value)
        except RuntimeError:
            if not (isinstance(value, Tensor) and share_memory(x, value)):
                raise
            found = function(x, value.clone())
        return found

    return inplace


def written(function: Callable[..., Tensor], with_scalar: Callable[..., Tensor]) -> Any:
    """Return an in-place operator where PyTorch's own differs from the standard's."""

    def inplace(x: Tensor, value: Any) -> Tensor:
        return x.copy_((function if isinstance(value, Tensor) else with_scalar)(x, value))

    return inplace


def share_memory(a: Tensor, b: Tensor) -> bool:
    """Tell whether two tensors are, or may be, views of one memory."""
    try:
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    except RuntimeError:  # without memory: a transformation's, or the compiler's
        return True
