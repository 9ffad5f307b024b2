"""Functions of floating-point numbers that MLX lacks or has with too few digits.

Signs and neighbours are taken from the bits of numbers, whose view costs nothing: MLX computes on
the same memory. Complex functions are made of real ones where MLX's own are wrong.
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

# Numbers are kept as arrays, which MLX would make of them in each call.
_BITS = {
    dtype: (as_bits, mx.array(2**shift - 1, dtype=as_bits), mx.array(-(2**shift), dtype=as_bits))
    for dtype, as_bits, shift in (
        (mx.float16, mx.int16, 15),
        (mx.bfloat16, mx.int16, 15),
        (mx.float32, mx.int32, 31),
        (mx.float64, mx.int64, 63),
    )
}
"""Each real dtype to the integer dtype of its bits, and the masks of magnitude and sign there."""


@composed
def is_negative(x: mx.array) -> mx.array:
    """Tell where the sign bit of real numbers is set."""
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

    Bits of numbers of one sign are in the order of their magnitudes.
    """
    dtype = x.dtype
    as_bits = _BITS[dtype][0]
    grows = mx.equal(mx.less(x, towards), mx.greater(x, 0))
    moved = mx.view(mx.view(x, as_bits) + mx.where(grows, 1, -1).astype(as_bits), dtype)
    smallest = copysign(mx.view(mx.array(1, dtype=as_bits), dtype), towards)
    found = mx.where(mx.equal(x, 0), smallest, moved)
    found = mx.where(mx.equal(x, towards), towards, found)
    return mx.where(mx.logical_or(mx.isnan(x), mx.isnan(towards)), x + towards, found)


def through_single(function: Function) -> Function:
    """Return a function of half-precision numbers that computes in float32."""

    @composed
    def computed(*operands: mx.array) -> mx.array:
        wide: mx.array = function(*[x.astype(mx.float32) for x in operands])
        return wide.astype(operands[0].dtype)

    return computed


def by_precision(function: Function) -> dict[str, Function]:
    """Return the row of a function that is made for float32 and float64."""
    return {"float32 float64": function, "float16 bfloat16": through_single(function)}


def on_processors(function: Function, own: Function) -> dict[str, Function]:
    """Return such a row of a function that is better than MLX's own on processors alone."""

    def chosen(corrected: Function) -> Function:
        if not HAS_GPU:
            return corrected
        return composed(lambda x: corrected(x) if on_cpu() else own(x))

    return {key: chosen(one) for key, one in by_precision(function).items()}


# e rounded to a dtype, how far its logarithm is below 1, and a number that exp takes to 0.
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
    # MLX's own is made for small float32 numbers: from -88 to 88 up to 60 ULP are wrong, beyond it
    # is 0 or infinite, and of float64 as many digits are right as float32 has.
    # https://github.com/ml-explore/mlx/issues/3047
    # Its power is right, and e**x = r**x * (e/r)**x for the rounded r.
    base, lost, least = _E[x.dtype]
    power = mx.power(base, x)
    return power + power * (mx.maximum(x, least) * lost)


# On the CPU, MLX's own sine and cosine lose digits from 300 on, make +0 of -0 and give float64 no
# more digits than float32: https://github.com/ml-explore/mlx/issues/4158. Its tangent is right.
_HALF_ONE_TWO = {
    dtype: tuple(mx.array(value, dtype=dtype) for value in (0.5, 1.0, 2.0))
    for dtype in (mx.float32, mx.float64)
}


@composed
def sin(x: mx.array) -> mx.array:
    """Return sines of float32 or float64 numbers on processors."""
    middle, one, two = _HALF_ONE_TWO[x.dtype]
    half = mx.tan(x * middle)
    return two * half / (one + half * half)


@composed
def cos(x: mx.array) -> mx.array:
    """Return cosines of float32 or float64 numbers on processors."""
    # 1/sqrt(1 + tan**2) does not cancel near the zeros. The sign is that of the sine, which its
    # half-angle formula shows even there, by that of the tangent.
    middle, one, _ = _HALF_ONE_TWO[x.dtype]
    tangent = mx.tan(x)
    size = one / mx.sqrt(one + tangent * tangent)
    back = mx.less(mx.tan(x * middle) * tangent, 0)
    return mx.where(back, mx.negative(size), size)


REAL: SimpleNamespace = SimpleNamespace(
    abs=mx.abs,
    atan2=mx.arctan2,
    copysign=copysign,
    cos=lambda x: cos(x) if on_cpu() else mx.cos(x),
    cosh=mx.cosh,
    exp=lambda x: exp(x) if on_cpu() else mx.exp(x),
    expm1=mx.expm1,
    finfo=mx.finfo,
    full_like=mx.full_like,
    hypot=lambda x1, x2: hypot_of(REAL, x1, x2),
    isfinite=mx.isfinite,
    isinf=mx.isinf,
    isnan=mx.isnan,
    log=mx.log,
    log1p=mx.log1p,
    logical_and=mx.logical_and,
    logical_not=mx.logical_not,
    logical_or=mx.logical_or,
    maximum=mx.maximum,
    minimum=mx.minimum,
    ones_like=mx.ones_like,
    real=mx.real,
    sin=lambda x: sin(x) if on_cpu() else mx.sin(x),
    sinh=mx.sinh,
    sqrt=mx.sqrt,
    tan=mx.tan,
    where=mx.where,
    zeros_like=mx.zeros_like,
)
"""The functions that shared compositions of real numbers call, right for float32 and float64."""


def joined(a: mx.array, b: mx.array) -> mx.array:
    """Return ``a + bj`` bit by bit: a sum would lose signs of zeros, and infinities to NaN."""
    return mx.squeeze(mx.view(mx.stack([a, b], -1), mx.complex64), -1)


def by_parts(function: Callable[..., tuple[mx.array, mx.array]]) -> Function:
    """Return a function of complex arrays from one of their real and imaginary parts."""
    return lambda x: joined(*function(REAL, mx.real(x), mx.imag(x)))


def on_gpus(instead: Function, own: Function) -> Function:
    """Return MLX's own function of complex arrays, replaced on GPUs.

    There they are textbook formulas, which overflow, cancel and know no special values
    (mlx/backend/metal/kernels/unary_ops.h); on the CPU they are those of the C++ library.
    """
    if not HAS_GPU:
        return own
    return lambda x: own(x) if on_cpu() else instead(x)
