"""Which dtype operands meet in, and Python scalars made into tensors.

The rules are portarray's on every device: bool < int < float < complex, the widest dtype of the
winning kind wins, and uint64 has no common dtype with a signed integer. PyTorch's own rules differ
(a 0-d tensor yields to a tensor with axes), and its default dtype is the user's to change: nothing
here reads it.
"""

from __future__ import annotations

import builtins
from functools import reduce

import torch
from torch import Tensor

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


def _kind(dtype: torch.dtype) -> int:
    if dtype is torch.bool:
        return 0
    if dtype in INTEGRAL:
        return 1
    if dtype.is_floating_point:
        return 2
    if dtype.is_complex:
        return 3
    raise TypeError(f"{dtype} has no place in the array API standard")


def _promote_two(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    if a is b:
        return a
    if _kind(a) != _kind(b):
        low, high = (a, b) if _kind(a) < _kind(b) else (b, a)
        if _kind(low) == 2 and low is torch.float64:
            return torch.complex128
        return high
    if (a in UNSIGNED and b in UNSIGNED) or (a in SIGNED and b in SIGNED):
        return a if a.itemsize > b.itemsize else b
    if a in INTEGRAL:
        signed, unsigned = (a, b) if a in SIGNED else (b, a)
        if unsigned is torch.uint64:
            raise TypeError(
                f"{unsigned} and {signed} have no common integer dtype; "
                f"convert one of them with astype first"
            )
        width = max(signed.itemsize, 2 * unsigned.itemsize)
        return {2: torch.int16, 4: torch.int32, 8: torch.int64}[width]
    return torch.promote_types(a, b)


_EVERY = (torch.bool, *SIGNED, *UNSIGNED, *FLOATING, *COMPLEX)
_TABLE: dict[tuple[torch.dtype, torch.dtype], torch.dtype] = {
    (a, b): _promote_two(a, b)
    for a in _EVERY
    for b in _EVERY
    if {a, b} & {torch.uint64} == set() or not {a, b} & set(SIGNED)
}


def promote_types(a: torch.dtype, b: torch.dtype) -> torch.dtype:
    """Return the dtype that two dtypes meet in.

    Raises
    ------
    TypeError
        For uint64 with a signed integer dtype, which have none.
    """
    common = _TABLE.get((a, b))
    return _promote_two(a, b) if common is None else common


def default_float(device: torch.device) -> torch.dtype:
    """Return a device's default real dtype: float64 but on Metal, which has none."""
    return torch.float32 if device.type == "mps" else torch.float64


def default_complex(device: torch.device) -> torch.dtype:
    """Return a device's default complex dtype."""
    return torch.complex64 if device.type == "mps" else torch.complex128


def scalar_dtype(scalar: Scalar, dtype: torch.dtype, device: torch.device) -> torch.dtype:
    """Return the dtype that a Python scalar and a dtype meet in."""
    kind = _kind(dtype)
    if isinstance(scalar, builtins.bool):
        return dtype
    if isinstance(scalar, int):
        return dtype if kind >= 1 else torch.int64
    if isinstance(scalar, float):
        return dtype if kind >= 2 else default_float(device)
    if isinstance(scalar, complex):
        if kind == 3:
            return dtype
        if kind == 2 and dtype is not torch.float64:
            return torch.complex64
        return default_complex(device)
    raise TypeError(f"expected a tensor or a Python scalar, got {type(scalar).__name__}")


def promote(*dtypes: torch.dtype) -> torch.dtype:
    """Return the dtype that one or more dtypes meet in."""
    return reduce(promote_types, dtypes)


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
