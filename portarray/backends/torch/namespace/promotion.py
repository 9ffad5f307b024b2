"""Which dtype operands meet in, and Python scalars made into tensors.

The rule is :mod:`portarray.backends.promotion`'s. PyTorch's own differs (a 0-d tensor yields to a
tensor with axes), and its default dtype is the user's to change: nothing here reads it.
"""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np
import torch
from torch import Tensor

from portarray.backends import promotion
from portarray.backends.torch.devices import DTYPES

__all__ = [
    "COMPLEX",
    "FLOATING",
    "INTEGRAL",
    "SCALARS",
    "TAKES",
    "Scalar",
    "default_complex",
    "default_float",
    "pair",
    "promote",
    "promote_types",
    "scalar_dtype",
    "together",
]

Scalar = builtins.bool | int | float | complex

SCALARS = frozenset({builtins.bool, int, float, complex})

SIGNED = (torch.int8, torch.int16, torch.int32, torch.int64)
UNSIGNED = (torch.uint8, torch.uint16, torch.uint32, torch.uint64)
INTEGRAL = frozenset(SIGNED + UNSIGNED)
FLOATING = frozenset({torch.float16, torch.bfloat16, torch.float32, torch.float64})
COMPLEX = frozenset({torch.complex64, torch.complex128})

# PyTorch's own elementwise functions take a Python scalar of a type beside a tensor of these
# dtypes and do right; uint16, uint32 and uint64 are not among them.
_PLAIN_INTEGRAL = frozenset({*SIGNED, torch.uint8})
TAKES: dict[type, frozenset[torch.dtype]] = {
    builtins.bool: frozenset({torch.bool}),
    int: _PLAIN_INTEGRAL | FLOATING | COMPLEX,
    float: FLOATING | COMPLEX,
    complex: COMPLEX,
}


_RULE = promotion.Native(DTYPES)
promote = _RULE.promote
promote_types = _RULE.promote_two


def default_float(device: torch.device) -> torch.dtype:
    """Return a device's default real dtype: float64 but on Metal, which has none."""
    return torch.float32 if device.type == "mps" else torch.float64


def default_complex(device: torch.device) -> torch.dtype:
    """Return a device's default complex dtype."""
    return torch.complex64 if device.type == "mps" else torch.complex128


_WIDEST: dict[str, np.dtype[Any]] = {
    "i": np.dtype(np.int64),
    "f": np.dtype(np.float64),
    "c": np.dtype(np.complex128),
}
_WIDEST_ON_METAL: dict[str, np.dtype[Any]] = {
    **_WIDEST,
    "f": np.dtype(np.float32),
    "c": np.dtype(np.complex64),
}


def scalar_dtype(scalar: Scalar, dtype: torch.dtype, device: torch.device) -> torch.dtype:
    """Return the dtype that a Python scalar and a dtype meet in."""
    widest = _WIDEST_ON_METAL if device.type == "mps" else _WIDEST
    return _RULE.scalar_dtype(scalar, dtype, widest)


def pair(x1: Tensor | Scalar, x2: Tensor | Scalar) -> tuple[Tensor, Tensor]:
    """Return two operands as tensors of one dtype; one of them may be a Python scalar."""
    if isinstance(x1, Tensor):
        if isinstance(x2, Tensor):
            if x1.dtype is x2.dtype:
                return x1, x2
            dtype = promote_types(x1.dtype, x2.dtype)
            return x1.to(dtype), x2.to(dtype)
        dtype = scalar_dtype(x2, x1.dtype, x1.device)
        return x1.to(dtype), torch.scalar_tensor(x2, dtype=dtype, device=x1.device)
    if isinstance(x2, Tensor):
        dtype = scalar_dtype(x1, x2.dtype, x2.device)
        return torch.scalar_tensor(x1, dtype=dtype, device=x2.device), x2.to(dtype)
    raise TypeError(
        f"at least one operand must be a tensor, got {type(x1).__name__} and {type(x2).__name__}"
    )


def together(arrays: tuple[Tensor, ...] | list[Tensor]) -> list[Tensor]:
    """Return tensors converted to the dtype that they all meet in."""
    dtype = promote(*[x.dtype for x in arrays])
    return [x.to(dtype) for x in arrays]
