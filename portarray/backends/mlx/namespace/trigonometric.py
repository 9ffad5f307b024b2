"""Trigonometric and hyperbolic functions of MLX's arrays."""

from __future__ import annotations

from functools import partial

import mlx.core as mx

from portarray.backends.composed.trigonometric import (
    acos_parts,
    acosh_parts,
    asin_parts,
    asinh_parts,
    atan_parts,
    atanh_parts,
    cos_parts,
    cosh_parts,
    hypot_of,
    sin_parts,
    sinh_parts,
    tan_parts,
    tanh_parts,
)
from portarray.backends.mlx import namespace
from portarray.backends.mlx.namespace import bits
from portarray.backends.mlx.namespace.complex import by_parts, is_plain, joined
from portarray.backends.mlx.namespace.promotion import COMPLEX, Scalar, on_cpu, pair, single
from portarray.backends.types import composed


def acos(x: mx.array, /) -> mx.array:
    """Return arc cosines."""
    return by_parts(acos_parts, x) if is_plain(x) else mx.arccos(x)


def acosh(x: mx.array, /) -> mx.array:
    """Return inverse hyperbolic cosines."""
    return by_parts(acosh_parts, x) if is_plain(x) else mx.arccosh(x)


def asin(x: mx.array, /) -> mx.array:
    """Return arc sines."""
    return by_parts(asin_parts, x) if is_plain(x) else mx.arcsin(x)


def asinh(x: mx.array, /) -> mx.array:
    """Return inverse hyperbolic sines."""
    return by_parts(asinh_parts, x) if is_plain(x) else mx.arcsinh(x)


def atan(x: mx.array, /) -> mx.array:
    """Return arc tangents."""
    return by_parts(atan_parts, x) if is_plain(x) else mx.arctan(x)


def atan2(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return the angle of the point (x2, x1)."""
    return mx.arctan2(*pair(x1, x2))


def atanh(x: mx.array, /) -> mx.array:
    """Return inverse hyperbolic tangents."""
    return by_parts(atanh_parts, x) if is_plain(x) else mx.arctanh(x)


@composed
def cos(x: mx.array, /) -> mx.array:
    """Return cosines."""
    if is_plain(x):
        return by_parts(cos_parts, x)
    if x.dtype in COMPLEX or not on_cpu():
        return mx.cos(x)
    return single(_cos, x)


def cosh(x: mx.array, /) -> mx.array:
    """Return hyperbolic cosines."""
    return by_parts(cosh_parts, x) if is_plain(x) else mx.cosh(x)


@composed
def sin(x: mx.array, /) -> mx.array:
    """Return sines."""
    if is_plain(x):
        return by_parts(sin_parts, x)
    if x.dtype in COMPLEX or not on_cpu():
        return mx.sin(x)
    return single(_sin, x)


# On the CPU, MLX's own sine and cosine lose digits from 300 on, make +0 of -0 and give float64 no
# more digits than float32: https://github.com/ml-explore/mlx/issues/4158. Its tangent is right.
# Numbers as arrays, which MLX would make of them in each call: 1/2, 1 and 2.
_NUMBERS = {
    dtype: tuple(mx.array(value, dtype=dtype) for value in (0.5, 1.0, 2.0))
    for dtype in (mx.float32, mx.float64)
}


def _sin(x: mx.array) -> mx.array:
    middle, one, two = _NUMBERS[x.dtype]
    half = mx.tan(x * middle)
    return two * half / (one + half * half)


def _cos(x: mx.array) -> mx.array:
    # 1/sqrt(1 + tan**2) does not cancel near the zeros. The sign is that of the sine, which its
    # half-angle formula shows even there, by that of the tangent.
    middle, one, _ = _NUMBERS[x.dtype]
    tangent = mx.tan(x)
    size = one / mx.sqrt(one + tangent * tangent)
    back = mx.less(mx.tan(x * middle) * tangent, 0)
    return mx.where(back, mx.negative(size), size)


@composed
def hypot(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return ``sqrt(x1**2 + x2**2)`` without overflow on the way."""
    return single(partial(hypot_of, namespace), *pair(x1, x2))


def sinh(x: mx.array, /) -> mx.array:
    """Return hyperbolic sines."""
    return by_parts(sinh_parts, x) if is_plain(x) else mx.sinh(x)


def tan(x: mx.array, /) -> mx.array:
    """Return tangents."""
    return by_parts(tan_parts, x) if is_plain(x) else mx.tan(x)


def tanh(x: mx.array, /) -> mx.array:
    """Return hyperbolic tangents."""
    if is_plain(x):
        return by_parts(tanh_parts, x)
    found = mx.tanh(x)
    if x.dtype not in COMPLEX:
        return found
    # At the infinite ends the standard wants the zero's sign from the imaginary part.
    a, b = mx.real(x), mx.imag(x)
    end = mx.logical_and(mx.isinf(a), mx.isfinite(b))
    zero = bits.copysign(mx.zeros_like(b), b)
    return joined(mx.where(end, mx.sign(a), mx.real(found)), mx.where(end, zero, mx.imag(found)))
