"""Exponentials of complex numbers by parts, with the standard's special values."""

from __future__ import annotations

import math
from typing import Any

__all__: list[str] = []


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
    # The last term makes +0 of -0, as the standard wants at the origin.
    real = xp.expm1(a) * xp.cos(b) - 2 * half * half + 0.0
    imag = xp.exp(a) * xp.sin(b)
    wild = xp.logical_not(xp.isfinite(b))
    low = a == -math.inf
    real = xp.where(low, xp.full_like(a, -1.0), real)
    real = xp.where(xp.logical_and(wild, a == math.inf), a, real)
    # Infinity times the zero of sin(0) would be NaN.
    imag = xp.where(b == 0, b, imag)
    return real, xp.where(xp.logical_and(wild, low), xp.zeros_like(b), imag)
