"""The in-place operators that do right on dpnp's arrays."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
from dpnp import ndarray

from portarray.backends.dpnp.namespace.indexing import settle
from portarray.backends.dpnp.namespace.promotion import constant

__all__ = ["inplace"]

Function = Callable[[Any, Any], Any]

_INPLACE: dict[str, Function] = {
    "add": operator.iadd,
    "bitwise_and": operator.iand,
    "bitwise_left_shift": operator.ilshift,
    "bitwise_or": operator.ior,
    "bitwise_right_shift": operator.irshift,
    "bitwise_xor": operator.ixor,
    "multiply": operator.imul,
    "remainder": operator.imod,
    "subtract": operator.isub,
}


def inplace(name: str, dtype: np.dtype[Any]) -> Function | None:
    """Return the function that writes its result into its first operand, where it fits there."""
    if name == "divide" and dtype.kind in "fc":
        return _into_first(operator.itruediv)
    return _into_first(_INPLACE[name]) if name in _INPLACE else None


def _into_first(function: Function) -> Function:
    def inplace(x: ndarray, value: Any) -> ndarray:
        if not isinstance(value, ndarray):
            value = constant(value, x.dtype, x)
        return settle(function(x, value))

    return inplace
