"""Element-wise arithmetic.

Integers wrap where a result overflows. The four operations on real floating-point numbers round
correctly (0.5 ULP), division on devices that do not promise it to 2.5 ULP; float16 and bfloat16
are computed in float32 and rounded once more.
"""

from __future__ import annotations

from portarray.clarray.engine.elementwise import binary, unary
from portarray.clarray.engine.operation import Operation, every, floating, integer
from portarray.clarray.strided import Array

_COMPLEX = {"complex": ("real", "complex")}

ABS = Operation(
    "abs",
    {
        "signed": "(T)(a < 0 ? (U)0 - (U)a : (U)a)",
        "unsigned": "a",
        "real": "fabs(a)",
        "complex": "c_abs(a)",
    },
    result="real",
    needs=_COMPLEX,
)
ADD = Operation("add", {**integer("(T)((U)a + (U)b)"), **floating("a + b")})
_COPYSIGN = Operation("copysign", {"real": "copysign(a, b)"})
DIVIDE = Operation("divide", {"real": "a / b", "complex": "c_div(a, b)"}, needs=_COMPLEX)
FLOOR_DIVIDE = Operation(
    "floor_divide",
    {**integer("floor_divide_of(a, b)"), "real": "floor_divide_of(a, b)"},
    needs=("division",),
)
MULTIPLY = Operation(
    "multiply",
    {**integer("(T)((U)a * (U)b)"), "real": "a * b", "complex": "c_mul(a, b)"},
    needs=_COMPLEX,
)
NEGATIVE = Operation("negative", {**integer("(T)((U)0 - (U)a)"), **floating("-a")})
_NEXTAFTER = Operation("nextafter", {"real": "nextafter_of(a, b)"}, needs=("neighbour",))
POSITIVE = Operation("positive", every("a"))
_RECIPROCAL = Operation(
    "reciprocal", {"real": "1 / a", "complex": "c_reciprocal(a)"}, needs=_COMPLEX
)
REMAINDER = Operation(
    "remainder",
    {**integer("remainder_of(a, b)"), "real": "remainder_of(a, b)"},
    needs=("division",),
)
_SIGN = Operation(
    "sign",
    {
        "signed": "(T)((a > 0) - (a < 0))",
        "unsigned": "(T)(a != 0)",
        "real": "isnan(a) ? a : (R)((a > 0) - (a < 0))",
        "complex": "c_sign(a)",
    },
    needs=_COMPLEX,
)
_SIGNBIT = Operation("signbit", {"real": "signbit(a)"}, result="bool")
_SQUARE = Operation(
    "square",
    {**integer("(T)((U)a * (U)a)"), "real": "a * a", "complex": "c_square(a)"},
    needs=_COMPLEX,
)
SUBTRACT = Operation("subtract", {**integer("(T)((U)a - (U)b)"), **floating("a - b")})


def abs(x: Array, /) -> Array:
    """Return absolute values; complex ones within 2 ULP, the least signed integer unchanged."""
    return unary(ABS, x)


def add(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return sums."""
    return binary(ADD, x1, x2)


def copysign(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the magnitudes of ``x1`` with the signs of ``x2``, also those of zeros and NaNs."""
    return binary(_COPYSIGN, x1, x2)


def divide(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return quotients; complex ones within 8 ULP of their magnitude."""
    return binary(DIVIDE, x1, x2)


def floor_divide(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return quotients rounded down, as Python's ``//``; an integer divided by zero gives 0."""
    return binary(FLOOR_DIVIDE, x1, x2)


def multiply(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return products; complex ones within 4 ULP of their magnitude."""
    return binary(MULTIPLY, x1, x2)


def negative(x: Array, /) -> Array:
    """Return negated elements."""
    return unary(NEGATIVE, x)


def nextafter(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the next number of the dtype after each element of ``x1`` towards that of ``x2``."""
    return binary(_NEXTAFTER, x1, x2)


def positive(x: Array, /) -> Array:
    """Return a copy of an array."""
    return unary(POSITIVE, x)


def reciprocal(x: Array, /) -> Array:
    """Return reciprocals; complex ones within 8 ULP of their magnitude."""
    return unary(_RECIPROCAL, x)


def remainder(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return remainders with the sign of ``x2``, as Python's ``%``; an integer by zero leaves 0.

    Real remainders are exact, but for one rounding where the signs differ.
    """
    return binary(REMAINDER, x1, x2)


def sign(x: Array, /) -> Array:
    """Return -1, 0 or 1 for each element; complex results are within 4 ULP."""
    return unary(_SIGN, x)


def signbit(x: Array, /) -> Array:
    """Return whether sign bits are set, those of zeros and NaNs included."""
    return unary(_SIGNBIT, x)


def square(x: Array, /) -> Array:
    """Return squares; complex ones within 4 ULP of their magnitude."""
    return unary(_SQUARE, x)


def subtract(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return differences."""
    return binary(SUBTRACT, x1, x2)
