"""Trigonometric and hyperbolic functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.namespace.promotion import Scalar, pair

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
tanh = torch.tanh


def acos(x: Tensor, /) -> Tensor:
    """Return arc cosines."""
    if x.dtype is torch.complex128:
        # Here PyTorch subtracts the arc sine from pi/2, which loses the imaginary part's zero
        # sign and smallest digits; that part is exactly the arc sine's, negated.
        return torch.complex(torch.acos(x).real, -torch.asin(x).imag)
    return torch.acos(x)


def atan2(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return the angle of the point (x2, x1)."""
    return torch.atan2(*pair(x1, x2))


def hypot(x1: Tensor | Scalar, x2: Tensor | Scalar, /) -> Tensor:
    """Return ``sqrt(x1**2 + x2**2)`` without overflow on the way."""
    return torch.hypot(*pair(x1, x2))
