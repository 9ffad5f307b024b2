"""The in-place operators: the array object gets new values, as with item assignment.

MLX computes them in the old values' memory where nothing else uses it.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from portarray.backends.mlx.namespace import arithmetic, bitwise, exponential

__all__ = ["inplace"]

Function = Callable[[Any, Any], Any]

_FUNCTIONS: dict[str, Function] = {
    "add": arithmetic.add,
    "bitwise_and": bitwise.bitwise_and,
    "bitwise_left_shift": bitwise.bitwise_left_shift,
    "bitwise_or": bitwise.bitwise_or,
    "bitwise_right_shift": bitwise.bitwise_right_shift,
    "bitwise_xor": bitwise.bitwise_xor,
    "divide": arithmetic.divide,
    "floor_divide": arithmetic.floor_divide,
    "multiply": arithmetic.multiply,
    "pow": exponential.pow,
    "remainder": arithmetic.remainder,
    "subtract": arithmetic.subtract,
}


def inplace(name: str, dtype: mx.Dtype) -> Function | None:
    """Return the in-place operator of a function."""
    function = _FUNCTIONS.get(name)
    return None if function is None else _writing(function)


def _writing(function: Function) -> Function:
    def inplace(x: mx.array, value: Any) -> mx.array:
        x[...] = function(x, value)
        return x

    return inplace
