"""Trigonometric and hyperbolic functions of dpnp's arrays."""

from __future__ import annotations

import math

import dpnp
from dpnp import ndarray

from portarray.backends.composed.trigonometric import (
    acos_parts,
    acosh_parts,
    asin_parts,
    asinh_parts,
    atan_parts,
    atanh_parts,
)
from portarray.backends.dpnp.namespace.complex import dense, exact
from portarray.backends.dpnp.namespace.promotion import Scalar, pair

_acos = dpnp.acos
_acosh = dpnp.acosh
_asin = dpnp.asin
_asinh = dpnp.asinh
_atan = dpnp.atan
_atan2 = dpnp.atan2
_atanh = dpnp.atanh
_cos = dpnp.cos
_cosh = dpnp.cosh
_hypot = dpnp.hypot
_sin = dpnp.sin
_sinh = dpnp.sinh
_tan = dpnp.tan
_tanh = dpnp.tanh


def acos(x: ndarray, /) -> ndarray:
    """Return inverse cosines."""
    return _acos(x) if x.dtype.kind != "c" else exact(_acos, acos_parts, x)


def acosh(x: ndarray, /) -> ndarray:
    """Return inverse hyperbolic cosines."""
    if x.dtype.kind != "c":
        return _acosh(x)
    # oneMKL gives NaN + NaN j at NaN j.
    out = exact(_acosh, acosh_parts, x)
    edge = dpnp.logical_and(x.real == 0, dpnp.isnan(x.imag))
    out.imag = dpnp.where(edge, math.pi / 2, out.imag)
    return out


def asin(x: ndarray, /) -> ndarray:
    """Return inverse sines."""
    return _asin(x) if x.dtype.kind != "c" else exact(_asin, asin_parts, x)


def asinh(x: ndarray, /) -> ndarray:
    """Return inverse hyperbolic sines."""
    return _asinh(x) if x.dtype.kind != "c" else exact(_asinh, asinh_parts, x)


def atan(x: ndarray, /) -> ndarray:
    """Return inverse tangents."""
    return _atan(x) if x.dtype.kind != "c" else exact(_atan, atan_parts, x)


def atan2(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return the angle of the point with ordinate x1 and abscissa x2."""
    return _atan2(*pair(x1, x2))


def atanh(x: ndarray, /) -> ndarray:
    """Return inverse hyperbolic tangents."""
    return _atanh(x) if x.dtype.kind != "c" else exact(_atanh, atanh_parts, x)


def cos(x: ndarray, /) -> ndarray:
    """Return cosines."""
    return _cos(x) if x.dtype.kind != "c" else dense(_cos, x)


def cosh(x: ndarray, /) -> ndarray:
    """Return hyperbolic cosines."""
    return _cosh(x) if x.dtype.kind != "c" else dense(_cosh, x)


def hypot(x1: ndarray | Scalar, x2: ndarray | Scalar, /) -> ndarray:
    """Return ``sqrt(x1**2 + x2**2)``, without overflow in between."""
    return _hypot(*pair(x1, x2))


def sin(x: ndarray, /) -> ndarray:
    """Return sines."""
    return _sin(x) if x.dtype.kind != "c" else dense(_sin, x)


def sinh(x: ndarray, /) -> ndarray:
    """Return hyperbolic sines."""
    return _sinh(x) if x.dtype.kind != "c" else dense(_sinh, x)


def tan(x: ndarray, /) -> ndarray:
    """Return tangents."""
    if x.dtype.kind != "c":
        return _tan(x)
    # As in tanh, since tan(z) is -j tanh(jz).
    out = dense(_tan, x)
    a, b = x.real, x.imag
    out.imag = dpnp.where((b == 0) & ~dpnp.isfinite(a), b, out.imag)
    out.real = dpnp.where(dpnp.isinf(b), dpnp.copysign(dpnp.zeros_like(a), a), out.real)
    return out


def tanh(x: ndarray, /) -> ndarray:
    """Return hyperbolic tangents."""
    if x.dtype.kind != "c":
        return _tanh(x)
    # oneMKL gives NaN + NaN j at 0 + inf j, where the standard keeps the 0, and at infinity the
    # zero of sin(2b) where the standard has one with the sign of b.
    out = dense(_tanh, x)
    a, b = x.real, x.imag
    out.real = dpnp.where((a == 0) & ~dpnp.isfinite(b), a, out.real)
    out.imag = dpnp.where(dpnp.isinf(a), dpnp.copysign(dpnp.zeros_like(b), b), out.imag)
    return out
