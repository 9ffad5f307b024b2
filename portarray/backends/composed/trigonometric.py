"""Composed trigonometric and hyperbolic functions, for libraries whose functions are wrong.

Complex functions take and return real and imaginary parts, ``a`` and ``b`` of one real dtype.
``xp`` has the standard's functions on native arrays: a native namespace, or a library whose
functions are correct for real arrays. Special values and branch cuts (by the signs of zeros) follow
C99, Annex G.6, as in the standard.
"""

from __future__ import annotations

import math
from typing import Any

from portarray.backends.composed.exponential import log_parts

__all__: list[str] = []

Parts = tuple[Any, Any]


def hypot_of(xp: Any, x1: Any, x2: Any) -> Any:
    """Return ``sqrt(x1**2 + x2**2)`` of two arrays of one real dtype, within 2 ULP.

    Without spurious overflow; infinite if either is, even if the other is NaN.
    """
    a, b = xp.abs(x1), xp.abs(x2)
    larger, smaller = xp.maximum(a, b), xp.minimum(a, b)
    ratio = smaller / xp.where(larger == 0, xp.ones_like(larger), larger)
    size = larger * xp.sqrt(1 + ratio * ratio)
    is_inf = xp.logical_or(xp.isinf(a), xp.isinf(b))
    return xp.where(is_inf, xp.full_like(size, math.inf), size)


def sinh_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``sinh(a + bj) = sinh(a) cos(b) + cosh(a) sin(b) j``."""
    sine, cosine, factor = _sinh_cosh(xp, a)
    real = sine * xp.cos(b) * factor
    imag = cosine * xp.sin(b) * factor
    wild = xp.logical_not(xp.isfinite(b))
    edge = xp.logical_or(a == 0, xp.isinf(a))
    return xp.where(xp.logical_and(wild, edge), a, real), xp.where(b == 0, b, imag)


def cosh_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``cosh(a + bj) = cosh(a) cos(b) + sinh(a) sin(b) j``."""
    sine, cosine, factor = _sinh_cosh(xp, a)
    real = cosine * xp.cos(b) * factor
    imag = sine * xp.sin(b) * factor
    wild = xp.logical_not(xp.isfinite(b))
    real = xp.where(xp.logical_and(wild, xp.isinf(a)), xp.full_like(a, math.inf), real)
    imag = xp.where(xp.logical_and(wild, a == 0), a, imag)
    return real, xp.where(b == 0, b * xp.copysign(xp.ones_like(a), a), imag)


def tanh_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``tanh(a + bj)``.

    From ``t = tan(b)`` and ``s = sinh(a)``: ``(cosh(a) s (1 + t*t) + t j) / (1 + s*s (1 + t*t))``
    (W. Kahan, "Branch Cuts for Complex Elementary Functions", 1987).
    """
    # From here on the real part rounds to 1, and sinh(a)**2 may overflow.
    bits = -math.log2(float(xp.finfo(a.dtype).eps))
    far = xp.abs(a) > 0.4 * bits + 2
    near = xp.where(far, xp.zeros_like(a), a)
    sine = xp.sinh(near)
    tangent = xp.tan(b)
    square = 1 / (1 + tangent * tangent)  # cos(b)**2
    under = square + sine * sine
    real = xp.cosh(near) * sine / under
    imag = tangent * square / under
    # sin(b) cos(b) / sinh(a)**2 there, and sinh(a) is exp(abs(a))/2.
    shrunk = xp.exp(-xp.abs(a))
    imag = xp.where(far, 4 * tangent * square * shrunk * shrunk, imag)
    unit = xp.copysign(xp.ones_like(a), a)
    finite = xp.isfinite(b)
    real = xp.where(xp.logical_and(far, finite), unit, real)
    imag = xp.where(b == 0, b, imag)
    # At infinities the standard takes the sign of the zero from the imaginary part.
    end = xp.isinf(a)
    real = xp.where(end, unit, real)
    imag = xp.where(end, xp.copysign(xp.zeros_like(b), b), imag)
    wild = xp.logical_and(a == 0, xp.logical_not(finite))
    return xp.where(wild, a, real), imag


def sin_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``sin(z) = -j sinh(jz)`` for ``z = a + bj``."""
    return _turned(xp, sinh_parts, a, b)


def cos_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``cos(z) = cosh(jz)`` for ``z = a + bj``."""
    return cosh_parts(xp, -b, a)


def tan_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``tan(z) = -j tanh(jz)`` for ``z = a + bj``."""
    return _turned(xp, tanh_parts, a, b)


def asin_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``asin(a + bj)``."""
    size, leg = _arc(xp, a, b)
    real = xp.where(xp.isnan(b), xp.full_like(a, math.nan), xp.atan2(a, leg))
    return xp.where(a == 0, a, real), xp.copysign(size, b)


def acos_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``acos(a + bj)``."""
    size, leg = _arc(xp, a, b)
    real = xp.where(xp.isnan(b), xp.full_like(a, math.nan), xp.atan2(leg, a))
    return xp.where(a == 0, xp.full_like(a, math.pi / 2), real), -xp.copysign(size, b)


def asinh_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``asinh(z) = -j asin(jz)`` for ``z = a + bj``."""
    return _turned(xp, asin_parts, a, b)


def acosh_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``acosh(z)``, from those of ``acos(z)``."""
    real, imag = acos_parts(xp, a, b)
    return xp.abs(imag), xp.copysign(real, b)


def atanh_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``atanh(a + bj)``.

    ``log1p(4*a / ((1 - a)**2 + b*b)) / 4`` (W. Kahan, "Branch Cuts for Complex Elementary
    Functions", 1987). Closer to 1 than the square of the distance can tell it is
    ``log(2/distance) / 2``.
    """
    x = xp.abs(a)
    # Adding 1 to this, or its inverse to 1, changes nothing.
    much = 1 / float(xp.finfo(a.dtype).eps) ** 1.2
    far = xp.logical_or(x > much, xp.abs(b) > much)
    distance = xp.hypot(1 - x, b)
    pole = distance == 0
    close = distance < 1 / much
    safe = xp.where(pole, xp.ones_like(x), distance)
    beyond = x / safe * 4 / safe
    logarithm = xp.log1p(xp.where(close, math.sqrt(2.0) / xp.sqrt(safe) - 1, beyond))
    real = xp.where(close, logarithm, logarithm / 4)
    real = xp.where(pole, xp.full_like(x, math.inf), real)
    imag = xp.atan2(2 * b, (1 - x) * (1 + x) - b * b) / 2
    turn = xp.copysign(xp.full_like(b, math.pi / 2), b)
    imag = xp.where(xp.logical_and(far, xp.logical_not(xp.isnan(b))), turn, imag)
    is_inf = xp.logical_or(xp.isinf(x), xp.isinf(b))
    real = xp.where(xp.logical_or(is_inf, x == 0), xp.zeros_like(x), real)
    lost = xp.logical_and(xp.isnan(x), xp.logical_not(xp.isinf(b)))
    nan = xp.full_like(x, math.nan)
    return xp.copysign(xp.where(lost, nan, real), a), xp.where(lost, nan, imag)


def atan_parts(xp: Any, a: Any, b: Any) -> Parts:
    """Return real and imaginary part of ``atan(z) = -j atanh(jz)`` for ``z = a + bj``."""
    return _turned(xp, atanh_parts, a, b)


def _turned(xp: Any, function: Any, a: Any, b: Any) -> Parts:
    """Return the parts of ``-j function(jz)``."""
    real, imag = function(xp, -b, a)
    return imag, -real


def _sinh_cosh(xp: Any, a: Any) -> tuple[Any, Any, Any]:
    """Return sinh and cosh, divided by a third result that is 1 unless exp overflows."""
    far = xp.abs(a) > math.log(float(xp.finfo(a.dtype).max)) - 3.0
    half = xp.exp(xp.where(far, xp.abs(a) / 2, xp.zeros_like(a)))
    near = xp.where(far, xp.zeros_like(a), a)
    sine = xp.where(far, xp.copysign(half / 2, a), xp.sinh(near))
    return sine, xp.where(far, half / 2, xp.cosh(near)), half


def _arc(xp: Any, a: Any, b: Any) -> Parts:
    """Return the modulus of the imaginary part of asin and acos, and a leg of the angle's triangle.

    Let r and s be the distances of z from -1 and 1, and m = (r + s)/2. The imaginary part is
    ``log1p(m - 1 + sqrt(m*m - 1))`` and the leg ``sqrt(m*m - a*a)``. m - 1 and m - abs(a) are
    written as sums that do not cancel (T. E. Hull, T. F. Fairgrieve, P. T. P. Tang, "Implementing
    the Complex Arcsine and Arccosine Functions Using Exception Handling", ACM TOMS 23, 1997). Their
    tests for underflow are not needed because b*b is never computed alone. Far from 0, asin(z)
    follows from log(2z).
    """
    x, y = xp.abs(a), xp.abs(b)
    many = 1 / math.sqrt(float(xp.finfo(a.dtype).eps)) * 8
    far = xp.logical_or(x > many, y > many)
    above, below = x + 1, x - 1
    r, s = xp.hypot(above, y), xp.hypot(below, y)
    middle = (r + s) / 2
    inside = x <= 1
    inverse = 1 / (r + above)
    difference = xp.where(inside, s - below, s + below)
    both = (inverse + 1 / xp.where(difference == 0, xp.ones_like(difference), difference)) / 2
    part = y * (y * inverse) / 2
    inner = part + (s - below) / 2  # m - x, inside
    outer = part + (s + below) / 2  # m - 1, outside
    root = xp.where(inside, xp.sqrt(inner * (middle + x)), y * xp.sqrt(both * (middle + x)))
    excess = xp.where(
        x < 1,
        y * (y * both) + y * xp.sqrt(both * (middle + 1)),
        outer + xp.sqrt(outer * (middle + 1)),
    )
    distant, _ = log_parts(xp, x, y)
    size = xp.where(far, distant + math.log(2.0), xp.log1p(excess))
    unknown = xp.logical_or(xp.isnan(a), xp.isnan(b))
    size = xp.where(unknown, xp.full_like(size, math.nan), size)
    is_inf = xp.logical_or(xp.isinf(a), xp.isinf(b))
    return xp.where(is_inf, xp.full_like(size, math.inf), size), xp.where(far, y, root)
