"""Composed arithmetic, for libraries whose functions are wrong.

Complex functions take and return real and imaginary parts, ``a`` and ``b`` of one real dtype.
``xp`` has the standard's functions on native arrays: a native namespace, or a library whose
functions are correct for real arrays.
"""

from __future__ import annotations

import math
from typing import Any

__all__: list[str] = []


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
