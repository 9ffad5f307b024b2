"""Arithmetic on tensors.

Two tensors of one dtype go straight to PyTorch: the first test of every function here is all that
such a call costs.
"""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.promotion import (
    COMPLEX,
    FLOATING,
    SCALARS,
    TAKES,
    Scalar,
    default_float,
    pair,
)
from portarray.backends.torch.namespace.unsigned import UNSIGNED

_abs = torch.abs
_add = torch.add
_copysign = torch.copysign
_divide = torch.divide
_multiply = torch.multiply
_negative = torch.negative
_subtract = torch.subtract

reciprocal = torch.reciprocal
signbit = torch.signbit

# PyTorch scales the second operand of complex sums by 1 first, which makes infinities NaN: these
# dtypes are added part by part.
_IN_PARTS = UNSIGNED | COMPLEX

_SCALE = 2.0**700


def abs(x: Tensor, /) -> Tensor:
    """Return absolute values."""
    if x.dtype in UNSIGNED:
        return x.clone()
    return _abs(x)


def add(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Add."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in _IN_PARTS:
        return _add(x1, x2)
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__] and dtype not in COMPLEX:
        return _add(x1, x2)
    x1, x2 = pair(x1, x2)
    if x1.dtype in COMPLEX:
        return torch.view_as_complex(_add(_parts(x1), _parts(x2)))
    if x1.dtype in UNSIGNED:
        return unsigned.wrapped(_add, x1, x2)
    return _add(x1, x2)


def _parts(x: Tensor) -> Tensor:
    """Return a view of complex numbers with a last axis of their real and imaginary part."""
    return torch.view_as_real(x.resolve_conj())


def copysign(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return x1's magnitude with x2's sign."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None):
        return _copysign(x1, x2)  # type: ignore[arg-type]
    return _copysign(*pair(x1, x2))


def divide(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Divide; integers give the device's default real dtype."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype in FLOATING:
        return _divide(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if not (x1.dtype.is_floating_point or x1.dtype.is_complex):
        real = default_float(x1.device)
        return _divide(x1.to(real), x2.to(real))
    return _divide(x1, x2)


def floor_divide(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Divide and round down.

    Infinite operands give ``floor(x1 / x2)`` as the standard prefers, except that a tiny quotient
    of unlike signs is -0 there. Integers divided by 0 give 0.
    """
    x1, x2 = pair(x1, x2)
    dtype = x1.dtype
    if dtype in UNSIGNED:
        return unsigned.divide(x1, x2)
    if dtype.is_floating_point:
        return _floor_divided(x1, x2)
    by_zero, minus_one, divisor = _safe_divisor(x2)
    quotient = torch.div(x1, divisor, rounding_mode="floor")
    if minus_one is not None:
        quotient = torch.where(minus_one, -x1, quotient)
    return torch.where(by_zero, 0, quotient)


def remainder(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the remainder, with the divisor's sign. Integers divided by 0 leave 0."""
    x1, x2 = pair(x1, x2)
    dtype = x1.dtype
    if dtype in UNSIGNED:
        return unsigned.remainder(x1, x2)
    if dtype.is_floating_point:
        return _modulo(x1, x2)
    by_zero, minus_one, divisor = _safe_divisor(x2)
    rest = torch.remainder(x1, divisor)
    return torch.where(by_zero if minus_one is None else by_zero | minus_one, 0, rest)


def _safe_divisor(x2: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """Return where an integer divisor is 0, where it is -1, and a divisor without these.

    PyTorch raises for 0, and the smallest integer by -1 overflows, on which some processors trap.
    """
    by_zero = x2 == 0
    if x2.dtype is torch.uint8:
        return by_zero, None, x2.masked_fill(by_zero, 1)
    minus_one = x2 == -1
    return by_zero, minus_one, x2.masked_fill(by_zero | minus_one, 1)


def _fmod(x1: Tensor, x2: Tensor) -> Tensor:
    if x1.device.type != "cpu":
        return torch.fmod(x1, x2)
    # PyTorch's vectorized fmod on the CPU loses the remainder of large quotients. Any remainder of
    # float32 numbers is one itself, so the way through float64 is exact.
    if x1.dtype is not torch.float64:
        return torch.fmod(x1.double(), x2.double()).to(x1.dtype)
    # Of float64 numbers it is kept up to quotients of 2**1000: first take away exact multiples.
    larger = torch.where(torch.abs(x2) < 2.0**300, x2 * _SCALE, x2)
    largest = torch.where(torch.abs(larger) < 2.0**300, larger * _SCALE, larger)
    return torch.fmod(torch.fmod(torch.fmod(x1, largest), larger), x2)


def _modulo(x1: Tensor, x2: Tensor) -> Tensor:
    rest = _fmod(x1, x2)
    rest = torch.where((rest != 0) & ((rest < 0) != (x2 < 0)), rest + x2, rest)
    return torch.where(rest == 0, torch.copysign(rest, x2), rest)


def _floor_divided(x1: Tensor, x2: Tensor) -> Tensor:
    ratio = x1 / x2
    rest = _fmod(x1, x2)
    # x1 - rest is a multiple of x2, so this quotient is within rounding of an integer.
    quotient = (x1 - rest) / x2
    quotient = torch.where((rest != 0) & ((rest < 0) != (x2 < 0)), quotient - 1, quotient)
    whole = torch.floor(quotient)
    whole = torch.where(quotient - whole > 0.5, whole + 1, whole)
    whole = torch.where(whole == 0, torch.copysign(whole, ratio), whole)
    plain = torch.isinf(x1) | torch.isinf(x2) | (x2 == 0) | ~torch.isfinite(ratio)
    return torch.where(plain, ratio, whole)


def multiply(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Multiply."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _multiply(x1, x2)  # type: ignore[arg-type]
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__]:
        return _multiply(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return unsigned.wrapped(_multiply, x1, x2)
    return _multiply(x1, x2)


def negative(x: Tensor, /) -> Tensor:
    """Negate; unsigned integers wrap around."""
    if x.dtype in UNSIGNED:
        return unsigned.wrapped(_negative, x)
    if x.dtype in COMPLEX:
        # PyTorch's own subtracts from 0, which loses the sign of zero.
        return torch.view_as_complex(_negative(_parts(x)))
    return _negative(x)


def nextafter(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the next representable number after x1 towards x2."""
    x1, x2 = pair(x1, x2)
    return torch.nextafter(x1, x2)


def positive(x: Tensor, /) -> Tensor:
    """Return a copy."""
    return x.clone()


def sign(x: Tensor, /) -> Tensor:
    """Return the sign: -1, 0 or 1, NaN for NaN, and ``x / abs(x)`` for complex numbers."""
    dtype = x.dtype
    if dtype in UNSIGNED:
        return (unsigned.bits(x) != 0).to(dtype)
    if dtype.is_complex:
        # Of an infinite number the direction of its infinite part; NaN where both are infinite.
        a, b = x.real, x.imag
        infinite = (torch.isinf(a) ^ torch.isinf(b)) & ~torch.isnan(x)
        direction = torch.complex(
            torch.where(torch.isinf(a), torch.sign(a), 0),
            torch.where(torch.isinf(b), torch.sign(b), 0),
        )
        return torch.where(infinite, direction, torch.sgn(x))
    if dtype.is_floating_point:
        # PyTorch calls NaN's sign 0.
        return torch.where(torch.isnan(x), x, torch.sign(x))
    return torch.sign(x)


def subtract(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Subtract."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in _IN_PARTS:
        return _subtract(x1, x2)  # type: ignore[arg-type]
    if x2.__class__ in SCALARS and dtype in TAKES[x2.__class__] and dtype not in COMPLEX:
        return _subtract(x1, x2)  # type: ignore[arg-type]
    x1, x2 = pair(x1, x2)
    if x1.dtype in COMPLEX:
        return torch.view_as_complex(_subtract(_parts(x1), _parts(x2)))
    if x1.dtype in UNSIGNED:
        return unsigned.wrapped(_subtract, x1, x2)
    return _subtract(x1, x2)
