"""Arithmetic on MLX's arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.composed.arithmetic import sign_parts
from portarray.backends.mlx.namespace import bits
from portarray.backends.mlx.namespace.complex import by_parts, is_plain
from portarray.backends.mlx.namespace.promotion import (
    COMPLEX,
    FLOATING,
    SIGNED,
    Scalar,
    default_float,
    pair,
    single,
)
from portarray.backends.mlx.namespace.trigonometric import hypot
from portarray.backends.types import composed

_SIGNED = frozenset(SIGNED)

negative = mx.negative
positive = mx.positive
reciprocal = mx.reciprocal


def abs(x: mx.array, /) -> mx.array:
    """Return absolute values."""
    # The CPU's is the modulus itself, the GPUs' overflows with its square.
    return hypot(mx.real(x), mx.imag(x)) if is_plain(x) else mx.abs(x)


def add(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Add."""
    return mx.add(*pair(x1, x2))


@composed
def copysign(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return x1's magnitude with x2's sign."""
    return bits.copysign(*pair(x1, x2))


def divide(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Divide; integers give the device's default real dtype."""
    x1, x2 = pair(x1, x2)
    if x1.dtype not in FLOATING and x1.dtype not in COMPLEX:
        real = default_float()
        return mx.divide(x1.astype(real), x2.astype(real))
    return mx.divide(x1, x2)


@composed
def floor_divide(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Divide and round down.

    Infinite operands give ``floor(x1 / x2)`` as the standard prefers, except that a tiny quotient
    of unlike signs is -0 there. Integers divided by 0 give 0.
    """
    x1, x2 = pair(x1, x2)
    dtype = x1.dtype
    if dtype in FLOATING:
        return single(_floor_divided, x1, x2)
    # GPUs divide by 0 as they like: https://github.com/ml-explore/mlx/pull/4442
    by_zero = mx.equal(x2, 0)
    if dtype not in _SIGNED:
        return mx.where(by_zero, 0, mx.floor_divide(x1, mx.where(by_zero, 1, x2)))
    # The smallest integer by -1 overflows, and ends the process on x86.
    minus_one = mx.equal(x2, -1)
    whole = mx.logical_or(by_zero, minus_one)
    quotient = mx.floor_divide(x1, mx.where(whole, 1, x2))
    return mx.where(whole, mx.where(by_zero, 0, mx.negative(x1)), quotient)


@composed
def remainder(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return the remainder, with the divisor's sign. Integers divided by 0 leave 0."""
    x1, x2 = pair(x1, x2)
    dtype = x1.dtype
    if dtype in FLOATING:
        # Also where MLX leaves a zero of the dividend's sign.
        return bits.copysign(mx.remainder(x1, x2), x2)
    # MLX leaves x1 of a division by 0.
    whole = mx.equal(x2, 0)
    if dtype in _SIGNED:
        whole = mx.logical_or(whole, mx.equal(x2, -1))
    rest = mx.remainder(x1, mx.where(whole, 1, x2))
    return mx.where(whole, 0, rest)


def _floor_divided(x1: mx.array, x2: mx.array) -> mx.array:
    # MLX's own rounds the rounded quotient down, which is one too many where that is an integer.
    ratio = mx.divide(x1, x2)
    # Without the remainder's share of it, the quotient is within rounding of an integer.
    whole = mx.round(ratio - mx.divide(mx.remainder(x1, x2), x2))
    whole = mx.where(mx.equal(whole, 0), bits.copysign(whole, ratio), whole)
    finite = mx.logical_and(mx.isfinite(ratio), mx.isfinite(x2))
    return mx.where(finite, whole, ratio)


def multiply(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Multiply."""
    return mx.multiply(*pair(x1, x2))


@composed
def nextafter(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return the next representable number after x1 towards x2."""
    return bits.neighbour(*pair(x1, x2))


def sign(x: mx.array, /) -> mx.array:
    """Return the sign: -1, 0 or 1, NaN for NaN, and ``x / abs(x)`` for complex numbers."""
    if is_plain(x):
        return by_parts(sign_parts, x)
    found = mx.sign(x)
    if x.dtype in COMPLEX:
        # MLX leaves the signs of zeros, where the standard wants 0 + 0j.
        return mx.where(mx.equal(x, 0), 0, found)
    # MLX's own is 0 there: https://github.com/ml-explore/mlx/pull/3644
    return mx.where(mx.isnan(x), x, found) if x.dtype in FLOATING else found


@composed
def signbit(x: mx.array, /) -> mx.array:
    """Tell where the sign bit is set, that of zeros and NaNs included."""
    return bits.is_negative(x)


def subtract(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Subtract."""
    return mx.subtract(*pair(x1, x2))
