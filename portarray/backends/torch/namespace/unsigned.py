"""Operations on uint16, uint32 and uint64, of which PyTorch implements few.

They are computed on signed integers:

- :func:`bits` views the memory as signed integers. Moving data, equality and arithmetic modulo 2**n
  (addition, subtraction, multiplication) are the same on it.
- :func:`ordered` flips the sign bit, so that signed order is unsigned order: for comparisons,
  sorting, searching, minimum and maximum.
- A *carrier*, the next wider signed dtype, holds all uint16 and uint32 values: for quotients,
  remainders, powers and right shifts. uint64 has no carrier; these four are composed of int64
  operations.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import torch
from torch import Tensor

NAMES = "uint16 uint32 uint64"
"""The key of rows for the three dtypes."""

signed: dict[torch.dtype, torch.dtype] = {
    torch.uint16: torch.int16,
    torch.uint32: torch.int32,
    torch.uint64: torch.int64,
}
"""Each of the three dtypes to the signed dtype of its width."""

UNSIGNED = frozenset(signed)

_CARRIER = {torch.uint16: torch.int32, torch.uint32: torch.int64}

_LEAST = {dtype: torch.iinfo(as_signed).min for dtype, as_signed in signed.items()}
_MOST_64 = torch.iinfo(torch.int64).max

Function = Callable[..., Any]


def bits(x: Tensor) -> Tensor:
    """Return a view of the memory as signed integers."""
    return x.view(signed[x.dtype])


def ordered(x: Tensor) -> Tensor:
    """Return signed integers in the order of the unsigned ones."""
    return x.view(signed[x.dtype]) ^ _LEAST[x.dtype]


def unordered(key: Tensor, dtype: torch.dtype) -> Tensor:
    """Undo :func:`ordered`."""
    return (key ^ _LEAST[dtype]).view(dtype)


# Decorators that turn functions of signed integers into functions of the three dtypes. Positional
# arguments are tensors of one of these dtypes, unless documented otherwise; options pass through.


def _adapted(view: Function, restore: Function | None) -> Callable[[Function], Function]:
    def adapt(function: Function) -> Function:
        @wraps(function)
        def adapted(*operands: Tensor, **options: Any) -> Any:
            result = function(*map(view, operands), **options)
            return result if restore is None else restore(result, operands[0].dtype)

        return adapted

    return adapt


modular = _adapted(bits, Tensor.view)
"""For functions that compute modulo 2**n, such as sums and products."""

zero_or_not = _adapted(bits, None)
"""For functions whose result depends only on which elements are equal or 0."""

comparing = _adapted(ordered, None)
"""For functions whose result depends only on the order of elements."""

choosing = _adapted(ordered, unordered)
"""For functions that select elements by their order."""


def moving(function: Function) -> Function:
    """Return a function that moves the first argument's data; other arguments pass through."""

    @wraps(function)
    def on_bits(x: Tensor, *args: Any, **options: Any) -> Any:
        return function(x.view(signed[x.dtype]), *args, **options).view(x.dtype)

    return on_bits


def divide(x1: Tensor, x2: Tensor) -> Tensor:
    """Return the quotients, and 0 where the divisor is 0."""
    return _divided(x1, x2)[0]


def remainder(x1: Tensor, x2: Tensor) -> Tensor:
    """Return the remainders, and 0 where the divisor is 0."""
    return _divided(x1, x2)[1]


def _divided(x1: Tensor, x2: Tensor) -> tuple[Tensor, Tensor]:
    dtype = x1.dtype
    by_zero = bits(x2) == 0
    carrier = _CARRIER.get(dtype)
    if carrier is not None:
        dividend = x1.to(carrier)
        divisor = x2.to(carrier).masked_fill(by_zero, 1)
        quotient = torch.div(dividend, divisor, rounding_mode="floor")
        remaining = dividend - quotient * divisor
    else:
        # Half the dividend is not negative, so its signed division is right, and twice that
        # quotient is at most 1 too small. The quotient by divisors from 2**63 on is 0 or 1.
        dividend = bits(x1)
        divisor = bits(x2).masked_fill(by_zero, 1)
        large = divisor < 0
        small_divisor = divisor.masked_fill(large, 1)
        half = (dividend >> 1) & _MOST_64
        quotient = torch.div(half, small_divisor, rounding_mode="floor") << 1
        quotient = quotient.masked_fill(large, 0)
        remaining = dividend - quotient * divisor
        once_more = (remaining ^ _LEAST[dtype]) >= (divisor ^ _LEAST[dtype])
        quotient = quotient + once_more
        remaining = torch.where(once_more, remaining - divisor, remaining)
    quotient = quotient.masked_fill(by_zero, 0)
    remaining = remaining.masked_fill(by_zero, 0)
    if carrier is None:
        return quotient.view(dtype), remaining.view(dtype)
    return quotient.to(dtype), remaining.to(dtype)


def power(x1: Tensor, x2: Tensor) -> Tensor:
    """Return powers modulo 2**n."""
    dtype = x1.dtype
    carrier = _CARRIER.get(dtype)
    if carrier is not None:
        return torch.pow(x1.to(carrier), x2.to(carrier)).to(dtype)
    # Exponents from 2**63 on look negative. The powers of an odd number repeat after 2**62 steps,
    # and powers of even numbers are 0 from the 64th on.
    exponent = bits(x2)
    period = 1 << 62
    exponent = torch.where(exponent < 0, (exponent & (period - 1)) + period, exponent)
    return torch.pow(bits(x1), exponent).view(dtype)


def shift_right(x1: Tensor, x2: Tensor) -> Tensor:
    """Shift right, filling with zeros."""
    dtype = x1.dtype
    carrier = _CARRIER.get(dtype)
    if carrier is not None:
        return (x1.to(carrier) >> x2.to(carrier)).to(dtype)
    # After shifting once and clearing the sign bit, a signed shift does the remaining steps.
    steps = bits(x2)
    once = (bits(x1) >> 1) & _MOST_64
    return torch.where(steps == 0, bits(x1), once >> (steps - 1)).view(dtype)


def from_float(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert real numbers; PyTorch's conversion is wrong from 2**63 on."""
    if dtype is not torch.uint64:
        return x.to(torch.int64).to(dtype)
    top = x >= 2.0**63
    low = torch.where(top, x - 2.0**63, x).to(torch.int64)
    return torch.where(top, low ^ _LEAST[dtype], low).view(dtype)
