"""Trigonometric and hyperbolic functions of tensors."""

from __future__ import annotations

import torch
from torch import Tensor

from portarray.backends.torch.gradients import in_float32, with_tape
from portarray.backends.torch.namespace.statistical import unit_of
from portarray.backends.types import Rows

acosh = with_tape(torch.acosh)
asin = torch.asin
asinh = with_tape(torch.asinh)
atan = torch.atan
atan2 = with_tape(torch.atan2)
atanh = torch.atanh
cos = torch.cos
cosh = torch.cosh
sin = torch.sin
sinh = torch.sinh
tan = torch.tan


def hypot(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return ``sqrt(x1**2 + x2**2)``; gradients at 0 are 0, not NaN as in PyTorch."""
    if not (x1.requires_grad or x2.requires_grad):
        return torch.hypot(x1, x2)
    is_zero = (x1 == 0) & (x2 == 0)
    unit = unit_of(torch.maximum(x1.abs(), x2.abs()), ())  # the sum may leave the range
    y = torch.hypot(torch.where(is_zero, 1, x1 / unit), x2 / unit) * unit
    return torch.where(is_zero, 0, y)


def _wide_complex_acos(x: Tensor) -> Tensor:
    # PyTorch subtracts the arc sine from pi/2, which loses digits of both parts. The real part
    # follows W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987; the imaginary part is
    # that of the arc sine, negated.
    near = 2 * torch.atan2(torch.sqrt(1 - x).real, torch.sqrt(1 + x).real)
    finite = torch.isfinite(x)
    return torch.complex(torch.where(finite, near, torch.acos(x).real), -torch.asin(x).imag)


def _complex_tanh(x: Tensor) -> Tensor:
    # At infinite real parts the standard takes the sign of the zero from the imaginary part.
    a, b = x.real, x.imag
    end = torch.isinf(a) & torch.isfinite(b)
    limit = torch.complex(torch.sign(a), torch.copysign(torch.zeros_like(b), b))
    return torch.where(end, limit, torch.tanh(x))


BY_DTYPE: Rows = {
    "atan": {"float16 bfloat16": in_float32(torch.atan)},
    "acos": {"fc": torch.acos, "complex128": _wide_complex_acos},
    "tanh": {"f": torch.tanh, "c": _complex_tanh},
}
