"""The in-place operators that do right on tensors."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import torch

from portarray.backends.torch.namespace.unsigned import UNSIGNED

_INPLACE: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.iadd,
    "bitwise_and": operator.iand,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_or": operator.ior,
    "bitwise_right_shift": operator.irshift,
    "bitwise_xor": operator.ixor,
    "multiply": operator.imul,
    "subtract": operator.isub,
}


def inplace(name: str, dtype: torch.dtype) -> Callable[[Any, Any], Any] | None:
    """Return the in-place operator of a function, where PyTorch's own does right on a dtype.

    Floor division, remainder, power and complex sums differ from the standard's, and quotients of
    integers do not fit into them.
    """
    if dtype in UNSIGNED or (dtype.is_complex and name in ("add", "subtract")):
        return None
    if name == "divide" and (dtype.is_floating_point or dtype.is_complex):
        return operator.itruediv
    return _INPLACE.get(name)
