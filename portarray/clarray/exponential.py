"""Exponentials, logarithms, powers and roots, element-wise.

Real numbers are computed by the driver's functions, or by ``kernels/functions.cl`` where those are
slow; complex ones by ``kernels/complex_exp.cl``, ``complex_log.cl`` and ``complex_pow.cl``, which
cite their formulas. float16 and bfloat16 are computed in float32 and rounded once.

The bounds in ULP hold on Intel's CPU runtime and on PoCL, where tests measure them; elsewhere a
driver's real functions have the bounds of the OpenCL specification (section 7.4), 2 to 4 ULP, and
16 for ``pow``. A complex bound is a distance in the plane, at the magnitude of the exact result.
Subnormal numbers are preserved where the device preserves them.
"""

from __future__ import annotations

import numpy as np

from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.elementwise import binary, unary
from portarray.clarray.engine.operands import python_scalar, scalar_operand
from portarray.clarray.engine.operation import Operation, integer
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.strided import Array

_REAL = ("real", "functions")
_EXPONENTIAL = {"real": _REAL, "complex": (*_REAL, "complex", "complex_exp")}
_LOGARITHM = {"real": _REAL, "complex": (*_REAL, "complex", "complex_log")}

_EXP = Operation("exp", {"real": "exp(a)", "complex": "c_exp(a)"}, needs=_EXPONENTIAL)
_EXPM1 = Operation("expm1", {"real": "expm1(a)", "complex": "c_expm1(a)"}, needs=_EXPONENTIAL)
_LOG = Operation("log", {"real": "log(a)", "complex": "c_log(a)"}, needs=_LOGARITHM)
_LOG10 = Operation("log10", {"real": "log10(a)", "complex": "c_log10(a)"}, needs=_LOGARITHM)
_LOG1P = Operation("log1p", {"real": "log1p(a)", "complex": "c_log1p(a)"}, needs=_LOGARITHM)
_LOG2 = Operation("log2", {"real": "log2(a)", "complex": "c_log2(a)"}, needs=_LOGARITHM)
_SQRT = Operation("sqrt", {"real": "sqrt(a)", "complex": "c_sqrt(a)"}, needs=_LOGARITHM)
_HYPOT = Operation("hypot", {"real": "r_hypot(a, b)"}, needs={"real": ("real",)})
_LOGADDEXP = Operation(
    "logaddexp", {"real": "r_logaddexp(a, b)"}, needs={"real": (*_REAL, "powers")}
)
_POW = Operation(
    "pow",
    {**integer("(T)u_pow((U)a, (U)b)"), "real": "pow(a, b)", "complex": "c_pow(a, b)"},
    needs={
        "signed": ("integer_pow",),
        "unsigned": ("integer_pow",),
        "real": _REAL,
        "complex": (*_REAL, "complex", "complex_exp", "complex_log", "complex_pow"),
    },
)

# Powers with these Python scalars as exponents.
_SQUARE = Operation(
    "pow",
    {**integer("(T)((U)a * (U)a)"), "real": "a * a", "complex": "c_square(a)"},
    needs={"complex": ("real", "complex")},
)
_INVERSE = Operation(
    "pow", {"real": "1 / a", "complex": "c_reciprocal(a)"}, needs={"complex": ("real", "complex")}
)
_ROOT = Operation("pow", {"real": "r_pow_half(a)"}, needs={"real": (*_REAL, "powers")})
_SIMPLE: dict[complex, Operation] = {2: _SQUARE, -1: _INVERSE, 0.5: _ROOT}


def exp(x: Array, /) -> Array:
    """Return e to the power of each element. Within 1 ULP, complex within 4 ULP."""
    return unary(_EXP, x)


def expm1(x: Array, /) -> Array:
    """Return e to the power of each element, less 1, without cancellation near 0.

    Within 2 ULP, complex within 16 ULP.
    """
    return unary(_EXPM1, x)


def hypot(x1: Array | float, x2: Array | float, /) -> Array:
    """Return ``sqrt(x1**2 + x2**2)`` without overflow or underflow on the way. Within 2 ULP."""
    return binary(_HYPOT, x1, x2)


def log(x: Array, /) -> Array:
    """Return natural logarithms.

    Within 1 ULP, complex within 4 ULP. Near the unit circle the real part is log1p of an exact sum.
    """
    return unary(_LOG, x)


def log10(x: Array, /) -> Array:
    """Return logarithms to base 10. Within 2 ULP, complex within 4 ULP."""
    return unary(_LOG10, x)


def log1p(x: Array, /) -> Array:
    """Return natural logarithms of ``1 + x``, without cancellation near 0.

    Within 1 ULP, complex within 4 ULP.
    """
    return unary(_LOG1P, x)


def log2(x: Array, /) -> Array:
    """Return logarithms to base 2. Within 2 ULP, complex within 4 ULP."""
    return unary(_LOG2, x)


def logaddexp(x1: Array | float, x2: Array | float, /) -> Array:
    """Return ``log(exp(x1) + exp(x2))`` without overflow on the way.

    Within 2 ULP of the larger operand or of the result, whichever is greater: where the result is
    near 0 it comes from a difference.
    """
    return binary(_LOGADDEXP, x1, x2)


def pow(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return x1 to the power of x2.

    Within 2 ULP, complex within 64 ULP for moderate powers: the error of ``exp(x2 * log(x1))``
    grows with the magnitude of the exponent. The exponents 2, -1 and 0.5 as Python scalars are a
    product, a quotient and a square root.
    """
    return power(x1, x2)


def power(x1: Array | complex, x2: Array | complex, out: Array | None = None) -> Array:
    """Return what :func:`pow` returns, in ``out`` where it is given."""
    if isinstance(x2, Array):
        if x2.dtype.kind == "i" and _integral(x1) and bool((to_numpy(x2) < 0).any()):
            raise _negative(f"an array of dtype {x2.dtype} with negative elements")
    elif isinstance(x1, Array):
        exponent, dtype = scalar_operand(python_scalar(x2, "pow"), x1.dtype, "pow")
        if isinstance(exponent, int) and exponent < 0:
            raise _negative(repr(exponent))
        simple = _SIMPLE.get(exponent)
        if simple is not None and dtype == x1.dtype and kind_of(dtype) in simple.forms:
            return unary(simple, x1) if out is None else binary(simple, x1, exponent, out)
    return binary(_POW, x1, x2, out)


def _integral(x: Array | complex) -> bool:
    """Return whether ``x`` is an integer or an integer array."""
    return x.dtype.kind in "iu" if isinstance(x, Array) else isinstance(x, (int, np.integer))


def _negative(exponent: str) -> ValueError:
    return ValueError(
        f"pow: integers do not have negative powers, got the exponent {exponent}\n"
        f"Hint: convert x1 to a floating-point dtype with astype first"
    )


def sqrt(x: Array, /) -> Array:
    """Return square roots. Within 1 ULP, complex within 2 ULP."""
    return unary(_SQRT, x)
