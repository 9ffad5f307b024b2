"""Trigonometric and hyperbolic functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace.promotion import Scalar, pair

_atan2 = torch.atan2
_hypot = torch.hypot
acosh = torch.acosh
asin = torch.asin
asinh = torch.asinh
atan = torch.atan
atanh = torch.atanh
cos = torch.cos
cosh = torch.cosh
sin = torch.sin
sinh = torch.sinh
tan = torch.tan


def acos(x: Tensor, /) -> Tensor:
    """Return arc cosines."""
    if x.dtype is not torch.complex128:
        return torch.acos(x)
    # Here PyTorch subtracts the arc sine from pi/2, which loses digits of both parts. The real part
    # is Kahan's (Branch cuts for complex elementary functions, 1987), the imaginary part exactly
    # that of the arc sine, negated.
    near = 2 * torch.atan2(torch.sqrt(1 - x).real, torch.sqrt(1 + x).real)
    finite = torch.isfinite(x)
    return torch.complex(torch.where(finite, near, torch.acos(x).real), -torch.asin(x).imag)


def atan2(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the angle of the point (x2, x1)."""
    if getattr(x1, "dtype", None) is getattr(x2, "dtype", None):
        return _atan2(x1, x2)  # type: ignore[arg-type]
    return _atan2(*pair(x1, x2))


def hypot(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return ``sqrt(x1**2 + x2**2)`` without overflow on the way."""
    if getattr(x1, "dtype", None) is getattr(x2, "dtype", None):
        return _hypot(x1, x2)  # type: ignore[arg-type]
    return _hypot(*pair(x1, x2))


def tanh(x: Tensor, /) -> Tensor:
    """Return hyperbolic tangents."""
    if not x.dtype.is_complex:
        return torch.tanh(x)
    # At the infinite ends the standard wants the zero's sign from the imaginary part.
    a, b = x.real, x.imag
    end = torch.isinf(a) & torch.isfinite(b)
    limit = torch.complex(torch.sign(a), torch.copysign(torch.zeros_like(b), b))
    return torch.where(end, limit, torch.tanh(x))
