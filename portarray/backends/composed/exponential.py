"""Exponentials, logarithms, powers and roots, for libraries whose own are wrong.

Complex functions take and return real and imaginary parts. ``xp`` has the standard's functions on
native arrays; a library's own module does where these functions of it are right for real arrays.
Special values are those of C99, Annex G.6, as the standard has them.
"""

from __future__ import annotations

import math
from typing import Any

__all__: list[str] = []


def exp_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of ``exp(a + bj)``.

    Parameters
    ----------
    xp : namespace
        The standard's functions on native arrays.
    a, b : native array
        Real and imaginary part, of one real floating-point dtype.
    """
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

    Parameters
    ----------
    xp : namespace
        The standard's functions on native arrays.
    a, b : native array
        Real and imaginary part, of one real floating-point dtype.
    """
    half = xp.sin(b / 2)
    cosine = xp.cos(b)
    # The last term makes +0 of -0, as the standard wants at the origin.
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
    """Return a number up to which exp of it, and of its negative, are normal numbers."""
    return math.log(float(xp.finfo(a.dtype).max)) - 3.0


def log_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of ``log(a + bj)``.

    Near the unit circle the real part is from ``abs(z)**2 - 1 = (m - 1)*(m + 1) + n*n`` of the
    larger part m and the smaller part n, as that of a rounded ``abs(z)`` would have few digits.

    Parameters
    ----------
    xp : namespace
        The standard's functions on native arrays.
    a, b : native array
        Real and imaginary part, of one real floating-point dtype.
    """
    larger, smaller = _by_size(xp, a, b)
    near = xp.logical_and(larger > 0.5, larger < 2.0)
    excess = (larger - 1) * (larger + 1) + smaller * smaller
    # Scaled by 1/4, so that abs does not overflow; not for small numbers, which would underflow.
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

    Parameters
    ----------
    xp : namespace
        The standard's functions on native arrays.
    a, b : native array
        Real and imaginary part, of one real floating-point dtype.
    """
    excess = a * (2 + a) + b * b
    near = xp.abs(excess) < 0.5
    far, angle = log_parts(xp, 1 + a, b)
    return xp.where(near, xp.log1p(xp.where(near, excess, xp.zeros_like(a))) / 2, far), angle


def sqrt_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of the square root of ``a + bj``.

    One part from ``abs(z) + abs(a)``, which does not cancel, the other one by division (T. E. Hull,
    T. F. Fairgrieve, P. T. P. Tang, "Implementing Complex Elementary Functions Using Exception
    Handling", ACM TOMS 20, 1994). Scaling by even powers of two replaces the exceptions.

    Parameters
    ----------
    xp : namespace
        The standard's functions on native arrays.
    a, b : native array
        Real and imaginary part, of one real floating-point dtype.
    """
    x, y = xp.abs(a), xp.abs(b)
    small = xp.logical_and(x < 1, y < 1)
    scale = xp.where(small, xp.full_like(a, 2.0**60), xp.full_like(a, 2.0**-4))
    back = xp.where(small, xp.full_like(a, 2.0**-30), xp.full_like(a, 4.0))
    x, y = x * scale, y * scale
    large = xp.sqrt((x + xp.hypot(x, y)) / 2)
    rest = y / (2 * large) * back
    large = large * back
    # Of zeros, and of infinities.
    rest = xp.where(large == 0, xp.zeros_like(a), rest)
    endless = xp.isinf(a)
    rest = xp.where(
        endless, xp.where(xp.isnan(b), xp.full_like(b, math.nan), xp.zeros_like(b)), rest
    )
    real = xp.where(a < 0, rest, large)
    imag = xp.copysign(xp.where(a < 0, large, rest), b)
    wide = xp.isinf(b)
    return xp.where(wide, xp.full_like(a, math.inf), real), xp.where(wide, b, imag)


def pow_of_zero(xp: Any, x1: Any, x2: Any, power: Any) -> Any:
    """Correct a library's complex power for the exponent 0 and the base 0.

    Libraries compute log(0) and 0 * log(inf) there.

    Parameters
    ----------
    xp : namespace
        The standard's functions on native arrays.
    x1, x2 : native array
        Base and exponent, complex.
    power : native array
        The library's answer.
    """
    none = xp.zeros_like(power)
    power = xp.where(xp.logical_and(x1 == 0, xp.real(x2) > 0), none, power)
    return xp.where(x2 == 0, none + 1, power)


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
