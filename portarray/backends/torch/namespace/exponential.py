"""Exponentials, logarithms, powers and roots of tensors."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from portarray.backends.composed.exponential import expm1_parts, log1p_parts
from portarray.backends.torch.gradients import in_float32, leave_second_to_tape
from portarray.backends.torch.namespace import unsigned
from portarray.backends.torch.namespace.arithmetic import as_tensor
from portarray.backends.torch.namespace.overlap import written
from portarray.backends.types import Rows

exp = torch.exp
log = torch.log
log10 = torch.log10
log2 = torch.log2
logaddexp = torch.logaddexp
sqrt = torch.sqrt


def _complex_expm1(x: Tensor) -> Tensor:
    # torch.expm1 is wrong for the standard's special cases.
    return torch.complex(*expm1_parts(torch, x.real, x.imag))


def _complex_log1p(x: Tensor) -> Tensor:
    # torch.log1p loses half the digits near 0 and is wrong for the standard's special cases.
    return torch.complex(*log1p_parts(torch, x.real, x.imag))


def _pow(x1: Tensor, x2: Tensor) -> Tensor:
    if x2.requires_grad:  # the mixed derivative of torch.pow is 0 at an exponent of 0, not 1 / x1
        leave_second_to_tape("pow", x1, x2)
    return torch.pow(x1, x2)


def _signed_pow(x1: Tensor, x2: Tensor) -> Tensor:
    if bool(torch.any(x2 < 0)):
        raise ValueError(
            "pow: integers have no negative powers\nHint: convert x1 to a floating-point dtype"
        )
    return torch.pow(x1, x2)


def _complex_pow(x1: Tensor, x2: Tensor) -> Tensor:
    # PyTorch takes the logarithm of 0. Anything to the power of 0 is 1; 0 to a power with a
    # positive real part is 0.
    power = torch.where((x1 == 0) & (x2.real > 0), 0, torch.pow(x1, x2))
    return torch.where(x2 == 0, 1, power)


def _pow_scalar(x1: Any, x2: Any) -> Tensor:
    if not isinstance(x1, Tensor):
        return torch.pow(as_tensor(x1, x2), x2)
    # For integers PyTorch multiplies, which is faster. For the floats 0.5 and -0.5 it takes roots,
    # whose special cases differ.
    return torch.pow(x1, x2 if x2.__class__ is int else as_tensor(x2, x1))


def _signed_pow_scalar(x1: Any, x2: Any) -> Tensor:
    if not isinstance(x1, Tensor):
        return _signed_pow(as_tensor(x1, x2), x2)
    return _signed_pow(x1, as_tensor(x2, x1)) if x2 < 0 else torch.pow(x1, x2)


def _square(x: Tensor) -> Tensor:
    return torch.multiply(x, x)


BY_DTYPE: Rows = {
    "log10": {"float16 bfloat16": in_float32(torch.log10)},
    "expm1": {"f": torch.expm1, "c": _complex_expm1},
    "log1p": {"f": torch.log1p, "c": _complex_log1p},
    "pow": {"uf": _pow, "i": _signed_pow, "c": _complex_pow, unsigned.NAMES: unsigned.power},
    "square": {"iufc": _square, unsigned.NAMES: unsigned.modular(_square)},
}
WITH_PYTHON_SCALAR: Rows = {"pow": {"f": _pow_scalar, "i": _signed_pow_scalar}}
IN_PLACE: Rows = {
    "pow": {
        "f": written(_pow, _pow_scalar),
        "i": written(_signed_pow, _signed_pow_scalar),
    }
}
