"""Floating-point functions that MLX lacks or computes inaccurately.

Signs and neighbours come from the bits of numbers, whose view does not copy. Complex functions are
composed of real ones where MLX's own are wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import mlx.core as mx

from portarray.backends.composed.trigonometric import hypot_of
from portarray.backends.mlx.namespace.scalars import HAS_GPU, on_cpu
from portarray.backends.types import composed

Function = Callable[..., Any]

# MLX would create arrays from Python scalars in each call.
_BITS = {
    dtype: (as_bits, mx.array(2**shift - 1, dtype=as_bits), mx.array(-(2**shift), dtype=as_bits))
    for dtype, as_bits, shift in (
        (mx.float16, mx.int16, 15),
        (mx.bfloat16, mx.int16, 15),
        (mx.float32, mx.int32, 31),
        (mx.float64, mx.int64, 63),
    )
}
"""The integer dtype of each real dtype's bits, and its masks of magnitude and sign."""


@composed
def is_negative(x: mx.array) -> mx.array:
    """Return where the sign bit of real numbers is set."""
    return mx.less(mx.view(x, _BITS[x.dtype][0]), 0)


@composed
def copysign(size: mx.array, sign: mx.array) -> mx.array:
    """Return the magnitude of one array with the sign of another of the same dtype."""
    dtype = size.dtype
    as_bits, magnitude, top = _BITS[dtype]
    first = mx.bitwise_and(mx.view(size, as_bits), magnitude)
    second = mx.bitwise_and(mx.view(sign, as_bits), top)
    return mx.view(mx.bitwise_or(first, second), dtype)


@composed
def neighbour(x: mx.array, towards: mx.array) -> mx.array:
    """Return the next representable number in a direction: IEEE 754's nextUp and nextDown.

    The bits of numbers of one sign are ordered by magnitude.
    """
    dtype = x.dtype
    as_bits = _BITS[dtype][0]
    grows = mx.equal(mx.less(x, towards), mx.greater(x, 0))
    moved = mx.view(mx.view(x, as_bits) + mx.where(grows, 1, -1).astype(as_bits), dtype)
    smallest = copysign(mx.view(mx.array(1, dtype=as_bits), dtype), towards)
    result = mx.where(mx.equal(x, 0), smallest, moved)
    result = mx.where(mx.equal(x, towards), towards, result)
    return mx.where(mx.logical_or(mx.isnan(x), mx.isnan(towards)), x + towards, result)


def through_single(function: Function) -> Function:
    """Return a function of half-precision numbers that computes in float32."""

    @composed
    def computed(*operands: mx.array) -> mx.array:
        wide: mx.array = function(*[x.astype(mx.float32) for x in operands])
        return wide.astype(operands[0].dtype)

    return computed


def by_precision(function: Function) -> dict[str, Function]:
    """Return the row of a function that supports float32 and float64."""
    return {"float32 float64": function, "float16 bfloat16": through_single(function)}


def on_processors(function: Function, mlx_function: Function) -> dict[str, Function]:
    """Return the row of a function that replaces MLX's own on CPUs only."""

    def chosen(corrected: Function) -> Function:
        if not HAS_GPU:
            return corrected
        return composed(lambda x: corrected(x) if on_cpu() else mlx_function(x))

    return {key: chosen(entry) for key, entry in by_precision(function).items()}


# e rounded to a dtype, 1 minus the logarithm of that, and a number whose exponential is 0.
_E = {
    dtype: tuple(mx.array(value, dtype=dtype) for value in values)
    for dtype, values in (
        (mx.float32, (2.7182817459106445, 3.0367859981727844e-08, -120.0)),
        (mx.float64, (math.e, 5.318237706605891e-17, -800.0)),
    )
}


@composed
def exp(x: mx.array) -> mx.array:
    """Return ``e**x`` of float32 or float64 numbers on processors."""
    # mx.exp has errors of up to 60 ULP from -88 to 88, is 0 or infinite beyond, and has float32's
    # precision for float64: https://github.com/ml-explore/mlx/issues/3047
    # mx.power is accurate, and e**x = r**x * (e/r)**x for the rounded r.
    base, lost, least = _E[x.dtype]
    power = mx.power(base, x)
    return power + power * (mx.maximum(x, least) * lost)


# On CPUs mx.sin and mx.cos lose digits from 300 on, return +0 for -0, and have float32's precision
# for float64: https://github.com/ml-explore/mlx/issues/4158. mx.tan is accurate.
_HALF_ONE_TWO = {
    dtype: tuple(mx.array(value, dtype=dtype) for value in (0.5, 1.0, 2.0))
    for dtype in (mx.float32, mx.float64)
}


@composed
def sin(x: mx.array) -> mx.array:
    """Return sines of float32 or float64 numbers on processors."""
    middle, unit, two = _HALF_ONE_TWO[x.dtype]
    half = mx.tan(x * middle)
    return two * half / (unit + half * half)


@composed
def cos(x: mx.array) -> mx.array:
    """Return cosines of float32 or float64 numbers on processors."""
    # 1/sqrt(1 + tan**2) does not cancel near the zeros. The sign is that of sine over tangent,
    # where the half-angle formula gives the sine's.
    middle, unit, _ = _HALF_ONE_TWO[x.dtype]
    tangent = mx.tan(x)
    size = unit / mx.sqrt(unit + tangent * tangent)
    back = mx.less(mx.tan(x * middle) * tangent, 0)
    return mx.where(back, mx.negative(size), size)


_SHARED = (
    *("abs", "cosh", "expm1", "finfo", "full_like", "isfinite", "isinf", "isnan", "log", "log1p"),
    *("logical_and", "logical_not", "logical_or", "maximum", "minimum", "ones_like", "real"),
    *("sinh", "sqrt", "tan", "where", "zeros_like"),
)
REAL: SimpleNamespace = SimpleNamespace(
    **{name: getattr(mx, name) for name in _SHARED},
    atan2=mx.arctan2,
    copysign=copysign,
    cos=lambda x: cos(x) if on_cpu() else mx.cos(x),
    exp=lambda x: exp(x) if on_cpu() else mx.exp(x),
    hypot=lambda x1, x2: hypot_of(REAL, x1, x2),
    sin=lambda x: sin(x) if on_cpu() else mx.sin(x),
)
"""Functions for shared compositions of real numbers, accurate in float32 and float64."""


def joined(a: mx.array, b: mx.array) -> mx.array:
    """Return ``a + bj`` from bits: a sum would lose signs of zeros and turn infinities to NaN."""
    return mx.squeeze(mx.view(mx.stack([a, b], -1), mx.complex64), -1)


def as_real_pairs(function: Callable[..., tuple[mx.array, mx.array]]) -> Function:
    """Return a function of complex arrays from one of their real and imaginary parts."""
    return lambda x: joined(*function(REAL, mx.real(x), mx.imag(x)))


def on_gpus(corrected: Function, mlx_function: Function) -> Function:
    """Return MLX's own function of complex arrays, replaced on GPUs.

    There they are textbook formulas, which overflow, cancel and ignore special values
    (mlx/backend/metal/kernels/unary_ops.h); on CPUs they are the C++ library's.
    """
    if not HAS_GPU:
        return mlx_function
    return lambda x: mlx_function(x) if on_cpu() else corrected(x)
