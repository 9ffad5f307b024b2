"""Arithmetic on MLX's arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.composed.arithmetic import sign_parts
from portarray.backends.composed.trigonometric import hypot_of
from portarray.backends.mlx.namespace import floating
from portarray.backends.mlx.namespace.scalars import FLOATING, INTEGRAL, UNSIGNED, inplace
from portarray.backends.types import Rows, composed

# MLX would create an array from a Python scalar in each call.
_ZERO_ONE = {dtype: (mx.array(0, dtype), mx.array(1, dtype)) for dtype in INTEGRAL | FLOATING}

_LOWEST = {dtype: mx.array(mx.iinfo(dtype).min, dtype) for dtype in INTEGRAL - UNSIGNED}


@composed
def _floor_divide(x1: mx.array, x2: mx.array) -> mx.array:
    # Infinite operands give floor(x1 / x2) as the standard prefers, except that a tiny negative
    # quotient is -0. mx.floor_divide floors the rounded quotient, which may be one too large.
    zero, _ = _ZERO_ONE[x1.dtype]
    ratio = mx.divide(x1, x2)
    # (x1 - remainder) / x2 is an integer except for rounding errors.
    whole = mx.round(ratio - mx.divide(mx.remainder(x1, x2), x2))
    whole = mx.where(mx.equal(whole, zero), mx.multiply(ratio, zero), whole)
    # Infinite operands and a division by 0 make the remainder NaN.
    return mx.where(mx.isnan(whole), ratio, whole)


@composed
def _floor_divide_signed(x1: mx.array, x2: mx.array) -> mx.array:
    zero, unit = _ZERO_ONE[x1.dtype]
    # Division by 0 is undefined on GPUs: https://github.com/ml-explore/mlx/pull/4442
    by_zero = mx.equal(x2, zero)
    # Dividing the smallest integer by -1 overflows, and ends the process on x86.
    whole = mx.logical_or(by_zero, mx.equal(x2, -1))
    quotient = mx.floor_divide(x1, mx.where(whole, unit, x2))
    return mx.where(whole, mx.where(by_zero, zero, mx.negative(x1)), quotient)


@composed
def _floor_divide_unsigned(x1: mx.array, x2: mx.array) -> mx.array:
    zero, unit = _ZERO_ONE[x1.dtype]
    by_zero = mx.equal(x2, zero)
    return mx.where(by_zero, zero, mx.floor_divide(x1, mx.where(by_zero, unit, x2)))


@composed
def _remainder(x1: mx.array, x2: mx.array) -> mx.array:
    # mx.remainder returns zeros with the dividend's sign.
    zero, _ = _ZERO_ONE[x1.dtype]
    remainder = mx.remainder(x1, x2)
    return mx.where(mx.equal(remainder, zero), mx.divide(zero, x2), remainder)


@composed
def _integer_remainder(x1: mx.array, x2: mx.array) -> mx.array:
    zero, unit = _ZERO_ONE[x1.dtype]
    # MLX returns x1 for a divisor of 0; the smallest integer by -1 ends the process on x86.
    whole = mx.equal(x2, zero)
    if x1.dtype not in UNSIGNED:
        whole = mx.logical_or(whole, mx.equal(x2, -1))
    return mx.where(whole, zero, mx.remainder(x1, mx.where(whole, unit, x2)))


@composed
def _abs_signed(x: mx.array) -> mx.array:
    # Compiled programs take the abs of the lowest integer for a positive number.
    lowest = _LOWEST[x.dtype]
    return mx.where(mx.equal(x, lowest), lowest, mx.abs(x))


def _sign(x: mx.array) -> mx.array:
    # mx.sign(nan) is 0: https://github.com/ml-explore/mlx/pull/3644
    return mx.where(mx.isnan(x), x, mx.sign(x))


def _modulus(x: mx.array) -> mx.array:
    return hypot_of(floating.REAL, mx.real(x), mx.imag(x))  # type: ignore[no-any-return]


BY_DTYPE: Rows = {
    # mx.abs of complex numbers overflows on GPUs, where it computes squares.
    "abs": {"uf": mx.abs, "i": _abs_signed, "c": floating.on_gpus(_modulus, mx.abs)},
    "add": {"iufc": mx.add},
    "copysign": {"f": floating.copysign},
    "divide": {"fc": mx.divide},
    "floor_divide": {
        **floating.by_precision(_floor_divide),
        "i": _floor_divide_signed,
        "u": _floor_divide_unsigned,
    },
    "multiply": {"iufc": mx.multiply},
    "negative": {"iufc": mx.negative},
    "nextafter": {"f": floating.neighbour},
    "positive": {"biufc": mx.positive},
    "reciprocal": {"fc": mx.reciprocal},
    "remainder": {"f": _remainder, "iu": _integer_remainder},
    "sign": {"iu": mx.sign, "f": _sign, "c": floating.as_real_pairs(sign_parts)},
    "signbit": {"f": floating.is_negative},
    "subtract": {"iufc": mx.subtract},
}
# Integers beyond int64 raise here (https://github.com/ml-explore/mlx/pull/4365); the caller then
# converts them to arrays.
WITH_PYTHON_SCALAR: Rows = {
    name: BY_DTYPE[name] for name in ("add", "divide", "multiply", "subtract")
}
IN_PLACE: Rows = inplace(
    BY_DTYPE, "add", "divide", "floor_divide", "multiply", "remainder", "subtract"
)
