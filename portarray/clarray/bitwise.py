"""Element-wise bitwise operations."""

from __future__ import annotations

from portarray.clarray.engine.elementwise import binary, unary
from portarray.clarray.engine.operation import Operation, integer
from portarray.clarray.strided import Array

BITWISE_AND = Operation("bitwise_and", {"bool": "a & b", **integer("a & b")})
BITWISE_INVERT = Operation("bitwise_invert", {"bool": "!a", **integer("(T)~a")})
# Counts out of range, also negative ones, are large as unsigned numbers.
BITWISE_LEFT_SHIFT = Operation(
    "bitwise_left_shift", integer("(U)b < BITS ? (T)((U)a << (U)b) : (T)0")
)
BITWISE_OR = Operation("bitwise_or", {"bool": "a | b", **integer("a | b")})
BITWISE_RIGHT_SHIFT = Operation(
    "bitwise_right_shift",
    {
        "signed": "(T)(a >> ((U)b < BITS ? (U)b : BITS - 1))",
        "unsigned": "(U)b < BITS ? (T)((U)a >> (U)b) : (T)0",
    },
)
BITWISE_XOR = Operation("bitwise_xor", {"bool": "a ^ b", **integer("a ^ b")})


def bitwise_and(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the bits that are set in both."""
    return binary(BITWISE_AND, x1, x2)


def bitwise_invert(x: Array, /) -> Array:
    """Return the elements with all bits inverted."""
    return unary(BITWISE_INVERT, x)


def bitwise_left_shift(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return left shifts; a count that is negative, or not below the width, gives 0."""
    return binary(BITWISE_LEFT_SHIFT, x1, x2)


def bitwise_or(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the bits that are set in one or both."""
    return binary(BITWISE_OR, x1, x2)


def bitwise_right_shift(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return right shifts; a count that is negative, or not below the width, gives 0 or -1."""
    return binary(BITWISE_RIGHT_SHIFT, x1, x2)


def bitwise_xor(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the bits that are set in one but not both."""
    return binary(BITWISE_XOR, x1, x2)
