"""The in-place operators that do right on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from portarray.backends.torch.namespace.indexing import share_memory
from portarray.backends.torch.namespace.unsigned import UNSIGNED

Function = Callable[[Any, Any], Any]

_INPLACE: dict[str, Function] = {
    "add": operator.iadd,
    "bitwise_and": operator.iand,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_or": operator.ior,
    "bitwise_right_shift": operator.irshift,
    "bitwise_xor": operator.ixor,
    "multiply": operator.imul,
    "subtract": operator.isub,
}


def inplace(name: str, dtype: torch.dtype) -> Function | None:
    """Return the in-place operator of a function, where PyTorch's own does right on a dtype.

    Floor division, remainder, power and complex sums differ from the standard's, and quotients of
    integers do not fit into them.
    """
    if dtype in UNSIGNED or (dtype.is_complex and name in ("add", "subtract")):
        return None
    if name == "divide" and (dtype.is_floating_point or dtype.is_complex):
        return _overlapping(operator.itruediv)
    return _overlapping(_INPLACE[name]) if name in _INPLACE else None


def _overlapping(function: Function) -> Function:
    """Let an in-place operator take an operand that shares part of the tensor's memory.

    PyTorch refuses it, before anything is written.
    """

    def inplace(x: Tensor, value: Any) -> Tensor:
        try:
            found: Tensor = function(x, value)
        except RuntimeError:
            if not (isinstance(value, Tensor) and share_memory(x, value)):
                raise
            found = function(x, value.clone())
        return found

    return inplace
