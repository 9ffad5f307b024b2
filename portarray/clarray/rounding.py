"""Element-wise rounding to integers. Integers are unchanged; every result is exact."""

from __future__ import annotations

from portarray.clarray.engine.elementwise import unary
from portarray.clarray.engine.operation import Operation, integer
from portarray.clarray.strided import Array

_CEIL = Operation("ceil", {**integer("a"), "real": "ceil(a)"})
_FLOOR = Operation("floor", {**integer("a"), "real": "floor(a)"})
_ROUND = Operation(
    "round", {**integer("a"), "real": "rint(a)", "complex": "(C)(rint(a.x), rint(a.y))"}
)
_TRUNC = Operation("trunc", {**integer("a"), "real": "trunc(a)"})


def ceil(x: Array, /) -> Array:
    """Return the smallest integers that are not below the elements."""
    return unary(_CEIL, x)


def floor(x: Array, /) -> Array:
    """Return the largest integers that are not above the elements."""
    return unary(_FLOOR, x)


def round(x: Array, /) -> Array:
    """Return the nearest integers; the even one of two that are equally near."""
    return unary(_ROUND, x)


def trunc(x: Array, /) -> Array:
    """Return the elements without their fractions."""
    return unary(_TRUNC, x)
