"""Exponentials, logarithms, powers and roots of MLX's arrays."""

from __future__ import annotations

import math

import mlx.core as mx

from portarray.backends.composed.exponential import (
    exp_parts,
    expm1_parts,
    log1p_parts,
    log2_parts,
    log10_parts,
    log_parts,
    logaddexp_of,
    pow_of_zero,
    sqrt_parts,
)
from portarray.backends.mlx import namespace
from portarray.backends.mlx.namespace.complex import by_parts, is_plain
from portarray.backends.mlx.namespace.promotion import (
    COMPLEX,
    SIGNED,
    Scalar,
    on_cpu,
    pair,
    single,
)
from portarray.backends.types import composed

_SIGNED = frozenset(SIGNED)

square = mx.square

# e rounded to a dtype, how far its logarithm is below 1, and a number that exp takes to 0. As
# arrays, which MLX would make of them in each call.
_E = {
    dtype: tuple(mx.array(value, dtype=dtype) for value in values)
    for dtype, values in (
        (mx.float32, (2.7182817459106445, 3.0367859981727844e-08, -120.0)),
        (mx.float64, (math.e, 5.318237706605891e-17, -800.0)),
    )
}


@composed
def exp(x: mx.array, /) -> mx.array:
    """Return ``e**x``."""
    if is_plain(x):
        return by_parts(exp_parts, x)
    if x.dtype in COMPLEX or not on_cpu():
        return mx.exp(x)
    return single(_exp, x)


def _exp(x: mx.array) -> mx.array:
    # On the CPU, MLX's own is made for small float32 numbers: from -88 to 88 up to 60 ULP are
    # wrong, beyond it is 0 or infinite, and of float64 as many digits are right as float32 has.
    # https://github.com/ml-explore/mlx/issues/3047
    # Its power is right, and e**x = r**x * (e/r)**x for the rounded r.
    base, lost, least = _E[x.dtype]
    power = mx.power(base, x)
    return power + power * (mx.maximum(x, least) * lost)


def expm1(x: mx.array, /) -> mx.array:
    """Return ``exp(x) - 1``, exact near 0; MLX has none for complex numbers."""
    if x.dtype not in COMPLEX:
        return mx.expm1(x)
    return by_parts(expm1_parts, x)


def log(x: mx.array, /) -> mx.array:
    """Return natural logarithms."""
    return by_parts(log_parts, x) if is_plain(x) else mx.log(x)


def log10(x: mx.array, /) -> mx.array:
    """Return logarithms to base 10."""
    return by_parts(log10_parts, x) if is_plain(x) else mx.log10(x)


def log2(x: mx.array, /) -> mx.array:
    """Return logarithms to base 2."""
    return by_parts(log2_parts, x) if is_plain(x) else mx.log2(x)


def log1p(x: mx.array, /) -> mx.array:
    """Return ``log(1 + x)``, exact near 0."""
    if x.dtype not in COMPLEX:
        return mx.log1p(x)
    # MLX's own takes the modulus of the rounded 1 + x.
    return by_parts(log1p_parts, x)


def logaddexp(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return ``log(exp(x1) + exp(x2))``."""
    x1, x2 = pair(x1, x2)
    if x1.dtype == mx.float64:
        # MLX's own is as its exp.
        found: mx.array = logaddexp_of(namespace, x1, x2)
        return found
    return single(mx.logaddexp, x1, x2)


def pow(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return x1 to the power of x2.

    Raises
    ------
    ValueError
        For integers to a negative power.
    """
    x1, x2 = pair(x1, x2)
    dtype = x1.dtype
    if dtype in _SIGNED and bool(mx.any(mx.less(x2, 0))):
        raise ValueError("integers have no negative powers; convert x1 to a floating-point dtype")
    power: mx.array = mx.power(x1, x2)
    if dtype in COMPLEX:
        power = pow_of_zero(namespace, x1, x2, power)
    return power


def sqrt(x: mx.array, /) -> mx.array:
    """Return square roots."""
    return by_parts(sqrt_parts, x) if is_plain(x) else mx.sqrt(x)
