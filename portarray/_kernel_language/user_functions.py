"""Functions that users give to algorithms: what kernels call, and what they return."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import BuiltinFunctionType, CellType, FunctionType
from typing import Any

import numpy as np

from portarray._array import dispatch
from portarray._config import config
from portarray._devices.device import Device
from portarray._kernel_language import functions, source, tree, types
from portarray._kernel_language.errors import KernelSyntaxError

__all__ = ["Helper", "helper_of", "returned", "swapped"]

_MOST = 1024
"""Functions, and results of functions, that are remembered."""

_made: dict[Any, Helper] = {}
_results: dict[Any, tuple[Any, list[Any]]] = {}

# Functions of the module ``operator`` by the standard's names.
_OPERATORS = {
    "sub": "subtract", "mul": "multiply", "truediv": "divide", "floordiv": "floor_divide",
    "mod": "remainder", "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor",
    "lshift": "bitwise_left_shift", "rshift": "bitwise_right_shift", "lt": "less",
    "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
    "neg": "negative", "pos": "positive", "inv": "bitwise_invert", "invert": "bitwise_invert",
}  # fmt: skip


def standard_name(function: Any) -> str | None:
    """Return the standard's name of a function of portarray, NumPy, ``operator`` or Python."""
    name = getattr(function, "__name__", None)
    if isinstance(function, np.ufunc):
        return {"power": "pow", "absolute": "abs"}.get(name, name)
    if isinstance(function, BuiltinFunctionType):
        if function.__module__ == "_operator":
            return _OPERATORS.get(name, name)
        return None
