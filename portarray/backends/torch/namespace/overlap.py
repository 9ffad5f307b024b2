"""In-place operators on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

from torch import Tensor


def overlapping(name: str) -> Callable[[Tensor, Any], Tensor]:
    """Return an in-place operator that accepts operands sharing part of the tensor's memory.

    PyTorch refuses them before writing if both are contiguous. Otherwise it does not detect the
    overlap, and reads elements that it has already written.
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
            result: Tensor = function(x, value)
        except RuntimeError:
            if not (isinstance(value, Tensor) and share_memory(x, value)):
                raise
            result = function(x, value.clone())
        return result

    return inplace


def written(function: Callable[..., Tensor], with_scalar: Callable[..., Tensor]) -> Any:
    """Return an in-place operator where PyTorch's differs from the standard."""

    def inplace(x: Tensor, value: Any) -> Tensor:
        return x.copy_((function if isinstance(value, Tensor) else with_scalar)(x, value))

    return inplace


def share_memory(a: Tensor, b: Tensor) -> bool:
    """Return whether two tensors are, or may be, views of the same memory."""
    try:
        return a.untyped_storage().data_ptr() == b.untyped_storage().data_ptr()
    except RuntimeError:  # tensors of transformations and of the compiler have no memory
        return True
