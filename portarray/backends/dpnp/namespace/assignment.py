"""The in-place operators that do right on dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray

from portarray.backends.dpnp.namespace.indexing import settle
from portarray.backends.dpnp.namespace.promotion import constant

__all__ = ["inplace"]

Function = Callable[[Any, Any], Any]

_INPLACE: dict[str, Callable[..., Any]] = {
    "add": dpnp.add,
    "bitwise_and": dpnp.bitwise_and,
    "bitwise_left_shift": dpnp.bitwise_left_shift,
    "bitwise_or": dpnp.bitwise_or,
    "bitwise_right_shift": dpnp.bitwise_right_shift,
    "bitwise_xor": dpnp.bitwise_xor,
    "multiply": dpnp.multiply,
    "remainder": dpnp.remainder,
    "subtract": dpnp.subtract,
}


def inplace(name: str, dtype: np.dtype[Any]) -> Function | None:
    """Return the function that writes its result into its first operand, where it fits there."""
    if name == "divide" and dtype.kind in "fc":
        return _into_first(dpnp.divide)
    return _into_first(_INPLACE[name]) if name in _INPLACE else None


def _into_first(function: Callable[..., Any]) -> Function:
    def inplace(x: ndarray, value: Any) -> ndarray:
        if not isinstance(value, ndarray):
            value = constant(value, x.dtype, x)
        function(x, value, out=x)
        return settle(x)

    return inplace
