"""PyTorch's own functions, for tensors of the dtypes on which they do right.

What they do wrong elsewhere, and why, stands with the function of the same name in this namespace.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import torch

from portarray.backends.torch.namespace.promotion import COMPLEX, FLOATING, SIGNED

__all__ = ["beside", "direct"]

Function = Callable[..., Any]

_COMPARISONS: dict[str, Function] = {
    "equal": torch.eq,
    "greater": torch.gt,
    "greater_equal": torch.ge,
    "less": torch.lt,
    "less_equal": torch.le,
    "not_equal": torch.ne,
}
_BITWISE: dict[str, Function] = {
    "bitwise_and": torch.bitwise_and,
    "bitwise_invert": torch.bitwise_not,
    "bitwise_or": torch.bitwise_or,
    "bitwise_xor": torch.bitwise_xor,
}
_REAL: dict[str, Function] = {
    "abs": torch.abs,
    "add": torch.add,
    "maximum": torch.maximum,
    "minimum": torch.minimum,
    "multiply": torch.multiply,
    "negative": torch.negative,
    "subtract": torch.subtract,
    **_COMPARISONS,
}

_FLOATING: dict[str, Function] = {
    **_REAL,
    "acos": torch.acos,
    "atan2": torch.atan2,
    "ceil": torch.ceil,
    "copysign": torch.copysign,
    "divide": torch.divide,
    "expm1": torch.expm1,
    "floor": torch.floor,
    "hypot": torch.hypot,
    "log1p": torch.log1p,
    "logaddexp": torch.logaddexp,
    "mean": torch.mean,
    "nextafter": torch.nextafter,
    "pow": torch.pow,
    "round": torch.round,
    "sum": torch.sum,
    "tanh": torch.tanh,
    "trunc": torch.trunc,
}
_COMPLEX: dict[str, Function] = {
    "abs": torch.abs,
    "conj": torch.conj_physical,
    "divide": torch.divide,
    "equal": torch.eq,
    "mean": torch.mean,
    "multiply": torch.multiply,
    "not_equal": torch.ne,
    "sum": torch.sum,
}
_UINT8: dict[str, Function] = {
    **_REAL,
    **_BITWISE,
    "bitwise_left_shift": torch.bitwise_left_shift,
    "bitwise_right_shift": torch.bitwise_right_shift,
}
_SIGNED: dict[str, Function] = {**_UINT8, "sum": torch.sum}
_BOOL: dict[str, Function] = {
    **_BITWISE,
    "all": torch.all,
    "any": torch.any,
    "equal": torch.eq,
    "logical_and": torch.logical_and,
    "logical_or": torch.logical_or,
    "logical_xor": torch.logical_xor,
    "not_equal": torch.ne,
}
_DIRECT: Mapping[torch.dtype, Mapping[str, Function]] = {
    **dict.fromkeys(FLOATING, _FLOATING),
    **dict.fromkeys(COMPLEX, _COMPLEX),
    **dict.fromkeys(SIGNED, _SIGNED),
    torch.uint8: _UINT8,
    torch.bool: _BOOL,
}

# As operators, comparisons take the scalar first, too.
_EQUALITY: dict[str, Function] = {"equal": operator.eq, "not_equal": operator.ne}
_COMPLEX_BESIDE: dict[str, Function] = {**_EQUALITY, "multiply": torch.multiply}
_REAL_BESIDE: dict[str, Function] = {
    **_COMPLEX_BESIDE,
    "add": torch.add,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "less": operator.lt,
    "less_equal": operator.le,
    "subtract": torch.subtract,
}
_BESIDE: Mapping[torch.dtype, Mapping[str, Function]] = {
    **dict.fromkeys((*FLOATING, *SIGNED, torch.uint8), _REAL_BESIDE),
    **dict.fromkeys(COMPLEX, _COMPLEX_BESIDE),
    torch.bool: _EQUALITY,
}


def direct(name: str, dtype: torch.dtype) -> Function | None:
    """Return PyTorch's own function for tensors of a dtype, None where it does not do right."""
    if name == "getitem":
        return operator.getitem  # PyTorch raises for the keys that it does not take
    return _DIRECT.get(dtype, {}).get(name)


def beside(name: str, dtype: torch.dtype) -> Function | None:
    """Return PyTorch's own function for a tensor of a dtype and a Python scalar, or None."""
    return _BESIDE.get(dtype, {}).get(name)
