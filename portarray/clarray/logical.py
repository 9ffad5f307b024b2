"""Element-wise logical operations."""

from __future__ import annotations

from portarray.clarray.engine.elementwise import binary, unary
from portarray.clarray.engine.operation import Operation
from portarray.clarray.strided import Array

_LOGICAL_AND = Operation("logical_and", {"bool": "a & b"})
_LOGICAL_NOT = Operation("logical_not", {"bool": "!a"})
_LOGICAL_OR = Operation("logical_or", {"bool": "a | b"})
_LOGICAL_XOR = Operation("logical_xor", {"bool": "a ^ b"})


def logical_and(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether both elements are true."""
    return binary(_LOGICAL_AND, x1, x2)


def logical_not(x: Array, /) -> Array:
    """Return whether each element is false."""
    return unary(_LOGICAL_NOT, x)


def logical_or(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether one element or both are true."""
    return binary(_LOGICAL_OR, x1, x2)


def logical_xor(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether exactly one element is true."""
    return binary(_LOGICAL_XOR, x1, x2)
