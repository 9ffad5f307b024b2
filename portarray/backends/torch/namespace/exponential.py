"""Exponentials, logarithms, powers and roots of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.composed.exponential import expm1_parts
from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.promotion import FLOATING, SIGNED, Scalar, pair
from portarray.backends.torch.namespace.unsigned import UNSIGNED

_logaddexp = torch.logaddexp
_pow = torch.pow

exp = torch.exp
log = torch.log
log10 = torch.log10
log2 = torch.log2
sqrt = torch.sqrt


def expm1(x: Tensor, /) -> Tensor:
    """Return ``exp(x) - 1``, exact near 0."""
    if not x.dtype.is_complex:
        return torch.expm1(x)
    # PyTorch's own misses the standard's special cases.
    return torch.complex(*expm1_parts(torch, x.real, x.imag))


def log1p(x: Tensor, /) -> Tensor:
    """Return ``log(1 + x)``, exact near 0."""
    if not x.dtype.is_complex:
        return torch.log1p(x)
    # PyTorch's own loses half the digits near 0 and misses the standard's special cases.
    # abs(1 + z)**2 - 1 = a*(2 + a) + b**2 for z = a + bj, which is exact where it is small.
    a, b = x.real, x.imag
    excess = a * (2 + a) + b * b
    far = torch.log(torch.hypot(1 + a, b))
    near = torch.abs(excess) < 0.5
    modulus = torch.where(near, 0.5 * torch.log1p(torch.where(near, excess, 0)), far)
    return torch.complex(modulus, torch.atan2(b, 1 + a))


def logaddexp(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return ``log(exp(x1) + exp(x2))``."""
    if getattr(x1, "dtype", None) is getattr(x2, "dtype", None):
        return _logaddexp(x1, x2)  # type: ignore[arg-type]
    return _logaddexp(*pair(x1, x2))


def pow(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return x1 to the power of x2.

    Raises
    ------
    ValueError
        For integers to a negative power.
    """
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype in FLOATING:
        return _pow(x1, x2)  # type: ignore[arg-type, call-overload, no-any-return, unused-ignore]
    # With a scalar of type float PyTorch takes roots instead, with other special cases.
    if x2.__class__ is int and dtype in FLOATING:
        return _pow(x1, x2)  # type: ignore[arg-type, call-overload, no-any-return, unused-ignore]
    x1, x2 = pair(x1, x2)
    dtype = x1.dtype
    if dtype in UNSIGNED:
        return unsigned.power(x1, x2)
    if dtype in SIGNED and bool(torch.any(x2 < 0)):
        raise ValueError("integers have no negative powers; convert x1 to a floating-point dtype")
    power = _pow(x1, x2)
    if dtype.is_complex:
        # PyTorch takes the logarithm of 0: anything to the power of 0 is 1, and 0 is 0 to powers
        # with a positive real part.
        power = torch.where((x1 == 0) & (x2.real > 0), 0, power)
        power = torch.where(x2 == 0, 1, power)
    return power


def square(x: Tensor, /) -> Tensor:
    """Return squares."""
    if x.dtype in UNSIGNED:
        bits = unsigned.bits(x)
        return torch.multiply(bits, bits).view(x.dtype)
    return torch.multiply(x, x)
