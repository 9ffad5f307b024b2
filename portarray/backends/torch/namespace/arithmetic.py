"""Arithmetic on tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from portarray.backends.common.finiteness import are_surely_finite
from portarray.backends.composed import arithmetic as composed
from portarray.backends.composed.arithmetic import sign_parts
from portarray.backends.torch.gradients import with_tape
from portarray.backends.torch.namespace import on_host, unsigned
from portarray.backends.torch.namespace.creation import asarray
from portarray.backends.torch.namespace.overlap import overlapping, written
from portarray.backends.torch.namespace.unsigned import modular
from portarray.backends.types import Rows

copysign = torch.copysign
divide = torch.divide
nextafter = with_tape(torch.nextafter)  # its gradient is 0 where both operands are equal
positive = torch.clone
reciprocal = torch.reciprocal
signbit = torch.signbit

_SCALE = 2.0**700


def _as_real_pairs(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that computes on complex tensors as pairs of real numbers.

    PyTorch multiplies the second operand of complex sums by 1, which turns infinities into NaN. It
    negates by subtracting from 0, which loses the sign of zero.
    """

    def on_pairs(*operands: Tensor) -> Tensor:
        pairs = [torch.view_as_real(x.resolve_conj()) for x in operands]
        return torch.view_as_complex(function(*pairs))

    return on_pairs


def as_tensor(value: Any, like: Tensor) -> Tensor:
    """Return a Python scalar as a 0-d tensor with the dtype and device of another tensor."""
    return asarray(value, dtype=like.dtype, device=like.device)


def _rounding(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    """Return a function that rounds scalars to half precision first; PyTorch does not."""

    def rounding(x1: Any, x2: Any) -> Tensor:
        if not isinstance(x1, Tensor):
            x1 = as_tensor(x1, x2)
        elif not isinstance(x2, Tensor):
            x2 = as_tensor(x2, x1)
        return function(x1, x2)

    return rounding


_HALF = "float16 bfloat16"


def _divide_scalar(x1: Any, x2: Any) -> Tensor:
    if not isinstance(x1, Tensor):
        # PyTorch would multiply the scalar with reciprocals.
        x1 = as_tensor(x1, x2)
    elif not x1.is_cpu:
        # GPUs would multiply with the scalar's reciprocal.
        x2 = as_tensor(x2, x1)
    return torch.divide(x1, x2)


def _integer_floor_divide(x1: Tensor, x2: Tensor) -> Tensor:
    """Divide integers and round down; division by 0 gives 0."""
    small = on_host.computed(np.floor_divide, x1, x2)
    if small is not None:
        return small
    if x1.dtype in unsigned.UNSIGNED:
        return unsigned.divide(x1, x2)
    by_zero, minus_one, divisor = _safe_divisor(x2)
    quotient = torch.div(x1, divisor, rounding_mode="floor")
    if minus_one is not None:
        quotient = torch.where(minus_one, -x1, quotient)
    return torch.where(by_zero, 0, quotient)


def _integer_remainder(x1: Tensor, x2: Tensor) -> Tensor:
    """Return the remainder with the divisor's sign; 0 for division by 0."""
    small = on_host.computed(np.remainder, x1, x2)
    if small is not None:
        return small
    if x1.dtype in unsigned.UNSIGNED:
        return unsigned.remainder(x1, x2)
    by_zero, minus_one, divisor = _safe_divisor(x2)
    remaining = torch.remainder(x1, divisor)
    return torch.where(by_zero if minus_one is None else by_zero | minus_one, 0, remaining)


def _safe_divisor(x2: Tensor) -> tuple[Tensor, Tensor | None, Tensor]:
    """Return masks of divisors 0 and -1, and the divisor with both replaced by 1.

    PyTorch raises for 0. The smallest integer divided by -1 overflows, which traps on some CPUs.
    """
    by_zero = x2 == 0
    if x2.dtype is torch.uint8:
        return by_zero, None, x2.masked_fill(by_zero, 1)
    minus_one = x2 == -1
    return by_zero, minus_one, x2.masked_fill(by_zero | minus_one, 1)


def _fmod(x1: Tensor, x2: Tensor) -> Tensor:
    if x1.device.type != "cpu":
        return torch.fmod(x1, x2)
    # PyTorch's vectorized fmod on the CPU loses the remainder of large quotients. Remainders of
    # float32 numbers fit float32, so computing them in float64 is exact.
    if x1.dtype is not torch.float64:
        return torch.fmod(x1.double(), x2.double()).to(x1.dtype)
    # In float64 it is exact up to quotients of 2**1000: subtract exact multiples first.
    larger = torch.where(torch.abs(x2) < 2.0**300, x2 * _SCALE, x2)
    largest = torch.where(torch.abs(larger) < 2.0**300, larger * _SCALE, larger)
    return torch.fmod(torch.fmod(torch.fmod(x1, largest), larger), x2)


@with_tape  # copysign has no gradient where the remainder is 0
def _remainder(x1: Tensor, x2: Tensor) -> Tensor:
    result: Tensor = composed.floored_remainder(torch, x2, _fmod(x1, x2))
    return result


def _wide_remainder(x1: Tensor, x2: Tensor) -> Tensor:
    remainder = on_host.computed(np.remainder, x1, x2)
    return _remainder(x1, x2) if remainder is None else remainder


def _floor_divide(x1: Tensor, x2: Tensor) -> Tensor:
    """Divide and round down."""
    result: Tensor = composed.floored_quotient(torch, x1, x2, _fmod(x1, x2))
    return result


def _wide_floor_divide(x1: Tensor, x2: Tensor) -> Tensor:
    quotient = on_host.computed(_host_floor_divide, x1, x2)
    return _floor_divide(x1, x2) if quotient is None else quotient


def _host_floor_divide(x1: Any, x2: Any) -> Any:
    quotient = np.floor_divide(x1, x2)
    if are_surely_finite(x1, x2):
        return quotient
    ratio = np.divide(x1, x2)
    return np.where(np.isinf(x1) | np.isinf(x2) | ~np.isfinite(ratio), ratio, quotient)


def _with_scalar(
    function: Callable[..., Any], integers: Callable[..., Tensor], floats: Callable[..., Tensor]
) -> Callable[..., Tensor]:
    """Return a function of a tensor and a scalar, computed by NumPy where that is faster."""

    def with_scalar(x1: Any, x2: Any) -> Tensor:
        result = on_host.computed(function, x1, x2)
        if result is not None:
            return result
        if isinstance(x1, Tensor):
            x2 = as_tensor(x2, x1)
        else:
            x1 = as_tensor(x1, x2)
        return (floats if x1.dtype.is_floating_point else integers)(x1, x2)

    return with_scalar


_divide_integer_scalar = _with_scalar(np.floor_divide, _integer_floor_divide, _floor_divide)
_divide_float_scalar = _with_scalar(_host_floor_divide, _integer_floor_divide, _floor_divide)
_remainder_scalar = _with_scalar(np.remainder, _integer_remainder, _remainder)


def _unsigned_sign(x: Tensor) -> Tensor:
    return (unsigned.bits(x) != 0).to(x.dtype)


def _real_sign(x: Tensor) -> Tensor:
    # PyTorch's sign of NaN is 0.
    return torch.where(torch.isnan(x), x, torch.sign(x))


def _complex_sign(z: Tensor) -> Tensor:
    """Return ``z / abs(z)``; torch.sgn overflows, underflows and is wrong for infinities."""
    return torch.complex(*sign_parts(torch, z.real, z.imag))


BY_DTYPE: Rows = {
    "abs": {"ifc": torch.abs, "u": torch.clone},
    "add": {"iuf": torch.add, "c": _as_real_pairs(torch.add), unsigned.NAMES: modular(torch.add)},
    "floor_divide": {
        "iu": _integer_floor_divide,
        "f": _floor_divide,
        "float32 float64": _wide_floor_divide,
    },
    "multiply": {"iufc": torch.multiply, unsigned.NAMES: modular(torch.multiply)},
    "negative": {
        "iuf": torch.negative,
        "c": _as_real_pairs(torch.negative),
        unsigned.NAMES: modular(torch.negative),
    },
    "remainder": {"iu": _integer_remainder, "f": _remainder, "float32 float64": _wide_remainder},
    "sign": {"iu": torch.sign, "f": _real_sign, "c": _complex_sign, unsigned.NAMES: _unsigned_sign},
    "subtract": {
        "iuf": torch.subtract,
        "c": _as_real_pairs(torch.subtract),
        unsigned.NAMES: modular(torch.subtract),
    },
}
WITH_PYTHON_SCALAR: Rows = {
    "add": {"if uint8": torch.add, _HALF: _rounding(torch.add)},
    "divide": {"float32 float64": _divide_scalar},
    "floor_divide": {"iu": _divide_integer_scalar, "float32 float64": _divide_float_scalar},
    "multiply": {"ifc uint8": torch.multiply, _HALF: _rounding(torch.multiply)},
    "remainder": {"iu float32 float64": _remainder_scalar},
    "subtract": {"if uint8": torch.subtract, _HALF: _rounding(torch.subtract)},
}
IN_PLACE: Rows = {
    "add": {"if uint8": overlapping("iadd"), _HALF: _rounding(overlapping("iadd"))},
    "divide": {"fc": overlapping("itruediv"), _HALF: _rounding(overlapping("itruediv"))},
    "floor_divide": {
        "iu": written(_integer_floor_divide, _divide_integer_scalar),
        "float32 float64": written(_wide_floor_divide, _divide_float_scalar),
    },
    "multiply": {"ifc uint8": overlapping("imul"), _HALF: _rounding(overlapping("imul"))},
    "remainder": {
        "iu": written(_integer_remainder, _remainder_scalar),
        "float32 float64": written(_wide_remainder, _remainder_scalar),
    },
    "subtract": {"if uint8": overlapping("isub"), _HALF: _rounding(overlapping("isub"))},
}
