"""Composed exponentials, logarithms, powers and roots, for libraries whose functions are wrong.

Complex functions take and return real and imaginary parts, ``a`` and ``b`` of one real dtype.
``xp`` has the standard's functions on native arrays: a native namespace, or a library whose
functions are correct for real arrays. Special values follow C99, Annex G.6, as in the standard.
"""

from __future__ import annotations

import math
from typing import Any

__all__: list[str] = []


def expit(xp: Any, x: Any) -> Any:
    """Return ``1 / (1 + exp(-x))`` of real numbers without overflow."""
    power = xp.exp(-xp.abs(x))
    return xp.where(x < 0, power, 1.0) / (1 + power)


def exp_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of ``exp(a + bj)``."""
    first, second = _exp_twice(xp, a)
    wild = xp.logical_not(xp.isfinite(b))
    real = first * xp.cos(b) * second
    imag = first * xp.sin(b) * second
    low = xp.logical_and(wild, a == -math.inf)
    real = xp.where(xp.logical_and(wild, a == math.inf), a, real)
    real = xp.where(low, xp.zeros_like(a), real)
    # Infinity times the zero of sin(0) would be NaN.
    imag = xp.where(b == 0, b, imag)
    return real, xp.where(low, xp.zeros_like(b), imag)


def expm1_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of ``exp(a + bj) - 1``.

    ``expm1(a) cos(b) - 2 sin(b/2)**2`` and ``exp(a) sin(b)``: subtracting 1 from ``exp(a) cos(b)``
    would cancel near 0 (W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987).
    """
    half = xp.sin(b / 2)
    cosine = xp.cos(b)
    # The last term turns -0 into +0, as the standard requires at the origin.
    real = xp.expm1(a) * cosine - 2 * half * half + 0.0
    first, second = _exp_twice(xp, a)
    far = second != 1
    real = xp.where(xp.logical_and(far, a > 0), first * cosine * second, real)
    imag = first * xp.sin(b) * second
    wild = xp.logical_not(xp.isfinite(b))
    low = a == -math.inf
    real = xp.where(low, xp.full_like(a, -1.0), real)
    real = xp.where(xp.logical_and(wild, a == math.inf), a, real)
    # Infinity times the zero of sin(0) would be NaN.
    imag = xp.where(b == 0, b, imag)
    return real, xp.where(xp.logical_and(wild, low), xp.zeros_like(b), imag)


def _exp_twice(xp: Any, a: Any) -> tuple[Any, Any]:
    """Return two factors of exp(a); the second is 1 if exp(a) is a normal number.

    If exp(a) overflows, its product with a small sine or cosine may not.
    """
    far = xp.abs(a) > _safe(xp, a)
    first = xp.exp(xp.where(far, a / 2, a))
    return first, xp.where(far, first, xp.ones_like(a))


def _safe(xp: Any, a: Any) -> float:
    """Return the largest x for which exp(x) and exp(-x) are normal numbers."""
    return math.log(float(xp.finfo(a.dtype).max)) - 3.0


def log_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of ``log(a + bj)``.

    Near the unit circle the logarithm of a rounded ``abs(z)`` would have few digits. There the real
    part comes from ``abs(z)**2 - 1 = (m - 1)*(m + 1) + n*n`` of the larger part m and the smaller
    n.
    """
    larger, smaller = _by_size(xp, a, b)
    near = xp.logical_and(larger > 0.5, larger < 2.0)
    excess = (larger - 1) * (larger + 1) + smaller * smaller
    # Large numbers are scaled by 1/4, so that hypot does not overflow.
    large = larger > 1.0
    size = xp.hypot(xp.where(large, a / 4, a), xp.where(large, b / 4, b))
    far = xp.log(size) + xp.where(large, xp.full_like(a, math.log(4.0)), xp.zeros_like(a))
    real = xp.where(near, xp.log1p(xp.where(near, excess, xp.zeros_like(a))) / 2, far)
    return real, xp.atan2(b, a)


def log2_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of the logarithm of ``a + bj`` to base 2."""
    size, angle = log_parts(xp, a, b)
    return size / math.log(2), angle / math.log(2)


def log10_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of the logarithm of ``a + bj`` to base 10."""
    size, angle = log_parts(xp, a, b)
    return size / math.log(10), angle / math.log(10)


def log1p_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of ``log(1 + a + bj)``.

    ``abs(1 + z)**2 - 1 = a*(2 + a) + b*b``, which is exact where it is small.
    """
    excess = a * (2 + a) + b * b
    near = xp.abs(excess) < 0.5
    far, angle = log_parts(xp, 1 + a, b)
    return xp.where(near, xp.log1p(xp.where(near, excess, xp.zeros_like(a))) / 2, far), angle


def sqrt_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of the square root of ``a + bj``.

    One part comes from ``abs(z) + abs(a)``, which does not cancel, the other from a division
    (T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing Complex Elementary Functions Using
    Exception Handling", ACM TOMS 20, 1994). Scaling by even powers of two replaces the exceptions.
    """
    x, y = xp.abs(a), xp.abs(b)
    small = xp.logical_and(x < 1, y < 1)
    scale = xp.where(small, xp.full_like(a, 2.0**60), xp.full_like(a, 2.0**-4))
    back = xp.where(small, xp.full_like(a, 2.0**-30), xp.full_like(a, 4.0))
    x, y = x * scale, y * scale
    larger = xp.sqrt((x + xp.hypot(x, y)) / 2)
    smaller = y / (2 * larger) * back
    larger = larger * back
    # Zeros and infinities.
    smaller = xp.where(larger == 0, xp.zeros_like(a), smaller)
    is_inf = xp.isinf(a)
    smaller = xp.where(
        is_inf, xp.where(xp.isnan(b), xp.full_like(b, math.nan), xp.zeros_like(b)), smaller
    )
    real = xp.where(a < 0, smaller, larger)
    imag = xp.copysign(xp.where(a < 0, larger, smaller), b)
    wide = xp.isinf(b)
    return xp.where(wide, xp.full_like(a, math.inf), real), xp.where(wide, b, imag)


def pow_of_zero(xp: Any, x1: Any, x2: Any, power: Any) -> Any:
    """Correct a library's complex power: libraries compute log(0) and 0 * log(inf)."""
    zero = xp.zeros_like(power)
    power = xp.where(xp.logical_and(x1 == 0, xp.real(x2) > 0), zero, power)
    return xp.where(x2 == 0, zero + 1, power)


def logaddexp_of(xp: Any, x1: Any, x2: Any) -> Any:
    """Return ``log(exp(x1) + exp(x2))`` of two arrays of one real floating-point dtype."""
    high, low = xp.maximum(x1, x2), xp.minimum(x1, x2)
    # inf - inf would be NaN.
    gap = xp.where(high == low, xp.zeros_like(high), low - high)
    return xp.where(xp.isinf(high), high, high + xp.log1p(xp.exp(gap)))


def _by_size(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return the larger and the smaller magnitude of two real arrays."""
    x, y = xp.abs(a), xp.abs(b)
    return xp.maximum(x, y), xp.minimum(x, y)
