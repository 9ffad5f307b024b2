"""Composed arithmetic: for libraries whose functions are wrong, and for gradients.

Complex functions take and return real and imaginary parts, ``a`` and ``b`` of one real dtype.
``xp`` has the standard's functions on native arrays: a native namespace, or a library whose
functions are correct for real arrays.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "floored_quotient",
    "floored_remainder",
    "sign_parts",
    "strong_divide",
    "strong_multiply",
    "strong_product",
    "with_strong_zero",
]


def sign_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of ``z / abs(z)`` for ``z = a + bj``.

    0 for zeros, NaN in both parts if either is NaN or both are infinite, and the direction of the
    infinite part if one is infinite.
    """
    larger = xp.maximum(xp.abs(a), xp.abs(b))
    is_zero = larger == 0
    # Scaled to about 1, so that the modulus neither overflows nor underflows.
    scale = xp.where(is_zero, xp.ones_like(larger), larger)
    x, y = a / scale, b / scale
    is_inf = xp.isinf(larger)
    zeros, ones = xp.zeros_like(a), xp.ones_like(a)
    x = xp.where(is_inf, xp.copysign(xp.where(xp.isinf(a), ones, zeros), a), x)
    y = xp.where(is_inf, xp.copysign(xp.where(xp.isinf(b), ones, zeros), b), y)
    size = xp.hypot(x, y)
    size = xp.where(is_zero, ones, size)
    unknown = xp.logical_or(xp.isnan(a), xp.isnan(b))
    unknown = xp.logical_or(unknown, xp.logical_and(xp.isinf(a), xp.isinf(b)))
    nan = xp.full_like(a, math.nan)
    real = xp.where(unknown, nan, xp.where(is_zero, zeros, x / size))
    return real, xp.where(unknown, nan, xp.where(is_zero, zeros, y / size))


def floored_remainder(xp: Any, x2: Any, remainder: Any) -> Any:
    """Return the remainder with the divisor's sign, from the one with the dividend's."""
    remainder = xp.where(_has_other_sign(remainder, x2), remainder + x2, remainder)
    return xp.where(remainder == 0, xp.copysign(remainder, x2), remainder)


def floored_quotient(xp: Any, x1: Any, x2: Any, remainder: Any) -> Any:
    """Return the quotient rounded down, from the remainder with the dividend's sign.

    Infinite operands give ``floor(x1 / x2)`` as the standard prefers, except that a tiny quotient
    of opposite signs is -0.
    """
    ratio = x1 / x2
    # x1 - remainder is a multiple of x2, so this quotient is within rounding of an integer.
    quotient = (x1 - remainder) / x2
    quotient = xp.where(_has_other_sign(remainder, x2), quotient - 1, quotient)
    whole = xp.floor(quotient)
    whole = xp.where(quotient - whole > 0.5, whole + 1, whole)
    whole = xp.where(whole == 0, xp.copysign(whole, ratio), whole)
    plain = xp.isinf(x1) | xp.isinf(x2) | (x2 == 0) | ~xp.isfinite(ratio)
    return xp.where(plain, ratio, whole)


def _has_other_sign(remainder: Any, x2: Any) -> Any:
    return (remainder != 0) & ((remainder < 0) != (x2 < 0))


# Gradients are products whose first factor is the cotangent. A cotangent of exactly zero is a
# "strong zero": it contributes zero even where the local derivative is infinite or NaN. Only these
# NaN are replaced: elsewhere a library's own derivative with respect to a zero cotangent counts.


def with_strong_zero(xp: Any, x1: Any, out: Any) -> Any:
    """Return a product or quotient of x1, but zero where x1 is zero and it is NaN."""
    return xp.where((x1 == 0) & xp.isnan(out), x1, out)


def strong_multiply(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Return ``x1 * x2``, but zero where x1 is zero."""
    return with_strong_zero(xp, x1, x1 * x2)


def strong_divide(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Return ``x1 / x2``, but zero where x1 is zero."""
    return with_strong_zero(xp, x1, x1 / x2)


def strong_product(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Return ``x1 * x2``, but zero where either is zero."""
    product = x1 * x2
    is_zero = (x1 == 0) | (x2 == 0)
    return xp.where(is_zero & xp.isnan(product), xp.zeros_like(product), product)
