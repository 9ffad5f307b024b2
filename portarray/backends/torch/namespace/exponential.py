"""Exponentials, logarithms, powers and roots of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.promotion import TAKES, Scalar, pair
from portarray.backends.torch.namespace.unsigned import UNSIGNED

_pow = torch.pow

exp = torch.exp
expm1 = torch.expm1
log = torch.log
log10 = torch.log10
log2 = torch.log2
sqrt = torch.sqrt


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
    return torch.logaddexp(*pair(x1, x2))


def pow(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return x1 to the power of x2."""
    dtype = getattr(x1, "dtype", None)
    if dtype is getattr(x2, "dtype", None) and dtype not in UNSIGNED:
        return _pow(x1, x2)  # type: ignore[arg-type, unused-ignore]
    # With a scalar of type float PyTorch takes roots instead, with other special cases.
    if x2.__class__ is int and dtype in TAKES[int]:
        return _pow(x1, x2)  # type: ignore[arg-type, unused-ignore]
    x1, x2 = pair(x1, x2)
    if x1.dtype in UNSIGNED:
        return unsigned.power(x1, x2)
    return _pow(x1, x2)


def square(x: Tensor, /) -> Tensor:
    """Return squares."""
    if x.dtype in UNSIGNED:
        bits = unsigned.bits(x)
        return torch.multiply(bits, bits).view(x.dtype)
    return torch.multiply(x, x)
