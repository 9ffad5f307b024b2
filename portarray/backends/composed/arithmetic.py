"""Arithmetic composed of other functions, for libraries whose own is wrong.

Complex functions take and return real and imaginary parts. ``xp`` has the standard's functions on
native arrays; a library's own module does where these functions of it are right for real arrays.
"""

from __future__ import annotations

import math
from typing import Any

__all__: list[str] = []


def sign_parts(xp: Any, a: Any, b: Any) -> tuple[Any, Any]:
    """Return real and imaginary part of ``z / abs(z)`` for ``z = a + bj``.

    0 for zeros, NaN in both parts for NaN in either, and for infinities the direction of the
    infinite part: NaN where both parts are infinite.

    Parameters
    ----------
    xp : namespace
        The standard's functions on native arrays.
    a, b : native array
        Real and imaginary part, of one real floating-point dtype.
    """
    larger = xp.maximum(xp.abs(a), xp.abs(b))
    none = larger == 0
    # Scaled to about 1, so that the modulus neither overflows nor underflows.
    scale = xp.where(none, xp.ones_like(larger), larger)
    x, y = a / scale, b / scale
    endless = xp.isinf(larger)
    zero, one = xp.zeros_like(a), xp.ones_like(a)
    x = xp.where(endless, xp.copysign(xp.where(xp.isinf(a), one, zero), a), x)
    y = xp.where(endless, xp.copysign(xp.where(xp.isinf(b), one, zero), b), y)
    size = xp.hypot(x, y)
    size = xp.where(none, one, size)
    unknown = xp.logical_or(xp.isnan(a), xp.isnan(b))
    unknown = xp.logical_or(unknown, xp.logical_and(xp.isinf(a), xp.isinf(b)))
    nan = xp.full_like(a, math.nan)
    real = xp.where(unknown, nan, xp.where(none, zero, x / size))
    return real, xp.where(unknown, nan, xp.where(none, zero, y / size))
