"""uint16, uint32 and uint64, on which PyTorch itself implements few operations.

Three views of the same numbers make everything else possible:

- :func:`bits` is a signed tensor over the same memory. Moving data, comparing for equality, and
  arithmetic modulo 2**n (add, subtract, multiply, and what is made of them) are the same on it.
- :func:`ordered` is a signed tensor whose order is the unsigned order (the sign bit is flipped):
  comparing, sorting, searching, smallest and largest.
- a *carrier*, the next wider signed dtype, holds every uint16 and uint32, so that the quotient,
  remainder, power and right shift computed on it are right. uint64 has no carrier: these four are
  made from int64 operations below.
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
    """Return the same memory as signed integers."""
    return x.view(signed[x.dtype])


def ordered(x: Tensor) -> Tensor:
    """Return signed integers in the order of the unsigned ones."""
    return x.view(signed[x.dtype]) ^ _LEAST[x.dtype]


def unordered(key: Tensor, dtype: torch.dtype) -> Tensor:
    """Undo :func:`ordered`."""
    return (key ^ _LEAST[dtype]).view(dtype)


# Functions made for the three dtypes from functions for signed integers. Positional arguments are
# tensors of one of the dtypes, unless said otherwise; options are handed on.


def modular(function: Function) -> Function:
    """Return a function that computes modulo 2**n, as one does that is right so on the bits."""

    @wraps(function)
    def on_bits(*operands: Tensor, **options: Any) -> Any:
        return function(*map(bits, operands), **options).view(operands[0].dtype)

    return on_bits


def moving(function: Function) -> Function:
    """Return a function that moves the first argument's data; the others are handed on."""

    @wraps(function)
    def on_bits(x: Tensor, *args: Any, **options: Any) -> Any:
        return function(x.view(signed[x.dtype]), *args, **options).view(x.dtype)

    return on_bits


def zero_or_not(function: Function) -> Function:
    """Return a function whose answer depends on which elements are equal to others, or to 0."""

    @wraps(function)
    def on_bits(*operands: Tensor, **options: Any) -> Any:
        return function(*map(bits, operands), **options)

    return on_bits


def comparing(function: Function) -> Function:
    """Return a function whose answer depends on the order of elements."""

    @wraps(function)
    def on_keys(*operands: Tensor, **options: Any) -> Any:
        return function(*map(ordered, operands), **options)

    return on_keys


def choosing(function: Function) -> Function:
    """Return a function that chooses elements by their order."""

    @wraps(function)
    def on_keys(*operands: Tensor, **options: Any) -> Any:
        return unordered(function(*map(ordered, operands), **options), operands[0].dtype)

    return on_keys


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
        rest = dividend - quotient * divisor
    else:
        # Half the dividend is not negative, so signed division of it is right, and twice that
        # quotient is at most one too small. A divisor from 2**63 on goes at most once.
        dividend = bits(x1)
        divisor = bits(x2).masked_fill(by_zero, 1)
        large = divisor < 0
        small_divisor = divisor.masked_fill(large, 1)
        half = (dividend >> 1) & _MOST_64
        quotient = torch.div(half, small_divisor, rounding_mode="floor") << 1
        quotient = quotient.masked_fill(large, 0)
        rest = dividend - quotient * divisor
        once_more = (rest ^ _LEAST[dtype]) >= (divisor ^ _LEAST[dtype])
        quotient = quotient + once_more
        rest = torch.where(once_more, rest - divisor, rest)
    quotient = quotient.masked_fill(by_zero, 0)
    rest = rest.masked_fill(by_zero, 0)
    if carrier is None:
        return quotient.view(dtype), rest.view(dtype)
    return quotient.to(dtype), rest.to(dtype)


def power(x1: Tensor, x2: Tensor) -> Tensor:
    """Return powers modulo 2**n."""
    dtype = x1.dtype
    carrier = _CARRIER.get(dtype)
    if carrier is not None:
        return torch.pow(x1.to(carrier), x2.to(carrier)).to(dtype)
    # Exponents from 2**63 on look negative. The powers of an odd number repeat after 2**62 steps,
    # and any power of an even one beyond the 63rd is 0 here.
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
    # After one step with the sign bit cleared the rest is an ordinary shift.
    steps = bits(x2)
    once = (bits(x1) >> 1) & _MOST_64
    return torch.where(steps == 0, bits(x1), once >> (steps - 1)).view(dtype)


def from_float(x: Tensor, dtype: torch.dtype) -> Tensor:
    """Convert real numbers, also those from 2**63 on, which PyTorch's own conversion loses."""
    if dtype is not torch.uint64:
        return x.to(torch.int64).to(dtype)
    top = x >= 2.0**63
    low = torch.where(top, x - 2.0**63, x).to(torch.int64)
    return torch.where(top, low ^ _LEAST[dtype], low).view(dtype)
