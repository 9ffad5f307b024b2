"""Circular and hyperbolic functions and their inverses, element-wise.

Real numbers are computed by the driver's functions, or by ``kernels/functions.cl`` where those are
slow; complex ones by ``kernels/complex_exp.cl`` and ``complex_inverse.cl``, which cite their
formulas. float16 and bfloat16 are computed in float32 and rounded once. On a branch cut the sign of
the zero part selects the side.

The bounds in ULP hold on Intel's CPU runtime and on PoCL, where tests measure them; elsewhere a
driver's real functions have the bounds of the OpenCL specification (section 7.4), 4 to 6 ULP. A
complex bound is a distance in the plane, at the magnitude of the exact result. Subnormal numbers
are preserved where the device preserves them.
"""

from __future__ import annotations

from portarray.clarray.engine.elementwise import binary, unary
from portarray.clarray.engine.operation import Operation
from portarray.clarray.strided import Array

_REAL = ("real", "functions")
_FORWARD = {"real": _REAL, "complex": (*_REAL, "complex", "complex_exp")}
_INVERSE = {"real": _REAL, "complex": (*_REAL, "complex", "complex_log", "complex_inverse")}

_COS = Operation("cos", {"real": "cos(a)", "complex": "c_cos(a)"}, needs=_FORWARD)
_COSH = Operation("cosh", {"real": "cosh(a)", "complex": "c_cosh(a)"}, needs=_FORWARD)
_SIN = Operation("sin", {"real": "sin(a)", "complex": "c_sin(a)"}, needs=_FORWARD)
_SINH = Operation("sinh", {"real": "sinh(a)", "complex": "c_sinh(a)"}, needs=_FORWARD)
_TAN = Operation("tan", {"real": "tan(a)", "complex": "c_tan(a)"}, needs=_FORWARD)
_TANH = Operation("tanh", {"real": "tanh(a)", "complex": "c_tanh(a)"}, needs=_FORWARD)
_ACOS = Operation("acos", {"real": "acos(a)", "complex": "c_acos(a)"}, needs=_INVERSE)
_ACOSH = Operation("acosh", {"real": "acosh(a)", "complex": "c_acosh(a)"}, needs=_INVERSE)
_ASIN = Operation("asin", {"real": "asin(a)", "complex": "c_asin(a)"}, needs=_INVERSE)
_ASINH = Operation("asinh", {"real": "asinh(a)", "complex": "c_asinh(a)"}, needs=_INVERSE)
_ATAN = Operation("atan", {"real": "atan(a)", "complex": "c_atan(a)"}, needs=_INVERSE)
_ATANH = Operation("atanh", {"real": "atanh(a)", "complex": "c_atanh(a)"}, needs=_INVERSE)
_ATAN2 = Operation("atan2", {"real": "atan2(a, b)"}, needs={"real": _REAL})


def acos(x: Array, /) -> Array:
    """Return arc cosines, in radians from 0 to pi. Within 4 ULP, complex within 8 ULP."""
    return unary(_ACOS, x)


def acosh(x: Array, /) -> Array:
    """Return inverse hyperbolic cosines. Within 4 ULP, complex within 8 ULP."""
    return unary(_ACOSH, x)


def asin(x: Array, /) -> Array:
    """Return arc sines, in radians from -pi/2 to pi/2. Within 4 ULP, complex within 8 ULP."""
    return unary(_ASIN, x)


def asinh(x: Array, /) -> Array:
    """Return inverse hyperbolic sines. Within 4 ULP, complex within 8 ULP."""
    return unary(_ASINH, x)


def atan(x: Array, /) -> Array:
    """Return arc tangents, in radians from -pi/2 to pi/2. Within 4 ULP, complex within 8 ULP."""
    return unary(_ATAN, x)


def atan2(x1: Array | float, x2: Array | float, /) -> Array:
    """Return the angles of the points (x2, x1), in radians from -pi to pi. Within 4 ULP."""
    return binary(_ATAN2, x1, x2)


def atanh(x: Array, /) -> Array:
    """Return inverse hyperbolic tangents. Within 4 ULP, complex within 8 ULP."""
    return unary(_ATANH, x)


def cos(x: Array, /) -> Array:
    """Return cosines of angles in radians.

    Within 4 ULP, complex within 8 ULP. Real angles of any size are reduced exactly.
    """
    return unary(_COS, x)


def cosh(x: Array, /) -> Array:
    """Return hyperbolic cosines. Within 4 ULP, complex within 8 ULP."""
    return unary(_COSH, x)


def sin(x: Array, /) -> Array:
    """Return sines of angles in radians.

    Within 4 ULP, complex within 8 ULP. Real angles of any size are reduced exactly.
    """
    return unary(_SIN, x)


def sinh(x: Array, /) -> Array:
    """Return hyperbolic sines. Within 4 ULP, complex within 8 ULP."""
    return unary(_SINH, x)


def tan(x: Array, /) -> Array:
    """Return tangents of angles in radians.

    Within 4 ULP, complex within 8 ULP. Real angles of any size are reduced exactly.
    """
    return unary(_TAN, x)


def tanh(x: Array, /) -> Array:
    """Return hyperbolic tangents. Within 4 ULP, complex within 8 ULP."""
    return unary(_TANH, x)
