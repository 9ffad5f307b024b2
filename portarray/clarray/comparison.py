"""Element-wise comparison, classification and selection."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.arguments import array_of
from portarray.clarray.dtypes import promote
from portarray.clarray.engine.elementwise import apply, binary, unary
from portarray.clarray.engine.operands import Operand, one_device, pair, same_kind
from portarray.clarray.engine.operation import Operation, every, integer
from portarray.clarray.strided import Array

DType = np.dtype[Any]

EQUAL = Operation(
    "equal", {**every("a == b"), "complex": "a.x == b.x && a.y == b.y"}, result="bool"
)
GREATER = Operation("greater", {**integer("a > b"), "real": "a > b"}, result="bool")
GREATER_EQUAL = Operation("greater_equal", {**integer("a >= b"), "real": "a >= b"}, result="bool")
_ISFINITE = Operation(
    "isfinite",
    {**integer("1"), "real": "isfinite(a)", "complex": "isfinite(a.x) && isfinite(a.y)"},
    result="bool",
)
_ISINF = Operation(
    "isinf",
    {**integer("0"), "real": "isinf(a)", "complex": "isinf(a.x) || isinf(a.y)"},
    result="bool",
)
_ISNAN = Operation(
    "isnan",
    {**integer("0"), "real": "isnan(a)", "complex": "isnan(a.x) || isnan(a.y)"},
    result="bool",
)
LESS = Operation("less", {**integer("a < b"), "real": "a < b"}, result="bool")
LESS_EQUAL = Operation("less_equal", {**integer("a <= b"), "real": "a <= b"}, result="bool")
_MAXIMUM = Operation("maximum", {**integer("a > b ? a : b"), "real": "isnan(a) || a > b ? a : b"})
_MINIMUM = Operation("minimum", {**integer("a < b ? a : b"), "real": "isnan(a) || a < b ? a : b"})
NOT_EQUAL = Operation(
    "not_equal", {**every("a != b"), "complex": "a.x != b.x || a.y != b.y"}, result="bool"
)
_KEEP = Operation("clip_nothing", {**integer("a"), "real": "a"})
_CLIP = Operation(
    "clip",
    {
        **integer("min(max(a, b), c)"),
        "real": "isnan(a) ? a : isnan(b) ? b : isnan(c) ? c : fmin(fmax(a, b), c)",
    },
)
_WHERE = Operation("where", every("a ? b : c"), choice=True)


def equal(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether elements are equal; NaN equals nothing."""
    return binary(EQUAL, x1, x2)


def greater(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether elements of ``x1`` are above those of ``x2``."""
    return binary(GREATER, x1, x2)


def greater_equal(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether elements of ``x1`` are not below those of ``x2``."""
    return binary(GREATER_EQUAL, x1, x2)


def isfinite(x: Array, /) -> Array:
    """Return whether elements are neither infinite nor NaN."""
    return unary(_ISFINITE, x)


def isinf(x: Array, /) -> Array:
    """Return whether elements are infinite."""
    return unary(_ISINF, x)


def isnan(x: Array, /) -> Array:
    """Return whether elements are NaN."""
    return unary(_ISNAN, x)


def less(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether elements of ``x1`` are below those of ``x2``."""
    return binary(LESS, x1, x2)


def less_equal(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether elements of ``x1`` are not above those of ``x2``."""
    return binary(LESS_EQUAL, x1, x2)


def maximum(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the greater of two elements; NaN where one is."""
    return binary(_MAXIMUM, x1, x2)


def minimum(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the smaller of two elements; NaN where one is."""
    return binary(_MINIMUM, x1, x2)


def not_equal(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return whether elements differ; NaN differs from everything."""
    return binary(NOT_EQUAL, x1, x2)


def clip(x: Array, /, min: Array | float | None = None, max: Array | float | None = None) -> Array:
    """Return the elements, those outside a range replaced by its nearer bound."""
    array_of(x, "clip")
    _CLIP.result_dtype(x.dtype)
    low, dtype = _bound(x, min, x.dtype)
    high, dtype = _bound(x, max, dtype)
    if low is not None and high is not None:
        return apply(_CLIP, (x, low, high), dtype, x.dtype)
    if low is not None:
        return apply(_MAXIMUM, (x, low), dtype, x.dtype)
    if high is not None:
        return apply(_MINIMUM, (x, high), dtype, x.dtype)
    return apply(_KEEP, (x,), x.dtype, x.dtype)


def _bound(x: Array, bound: Array | float | None, dtype: DType) -> tuple[Operand | None, DType]:
    """Return one bound of :func:`clip`, and the promoted dtype."""
    if bound is None:
        return None, dtype
    _, second, both = pair(x, bound, "clip")
    if not same_kind(both, x.dtype):
        raise TypeError(
            f"clip: a bound of dtype {both} does not fit an array of dtype {x.dtype}\n"
            f"Hint: convert one with astype first"
        )
    return second, promote(dtype, both)


def where(condition: Array, x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return elements of ``x1`` where a condition is true and of ``x2`` elsewhere."""
    array_of(condition, "where", "condition")
    if condition.dtype.kind != "b":
        raise TypeError(
            f"where: the condition is of dtype {condition.dtype}, it must be bool\n"
            f"Hint: compare first: x != 0"
        )
    a, b, dtype = pair(x1, x2, "where")
    for operand in (a, b):
        if isinstance(operand, Array):
            one_device("where", condition, operand)
    return apply(_WHERE, (condition, a, b), dtype, dtype)
