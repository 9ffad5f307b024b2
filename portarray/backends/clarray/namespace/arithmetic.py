"""Arithmetic on clarray's arrays: in-place operators, and products in gradients."""

from __future__ import annotations

import operator

from portarray.backends.types import Rows
from portarray.clarray.engine.elementwise import binary
from portarray.clarray.engine.operation import Operation
from portarray.clarray.strided import Array

IN_PLACE: Rows = {
    "add": {"iufc": operator.iadd},
    "bitwise_and": {"biu": operator.iand},
    "bitwise_left_shift": {"iu": operator.ilshift},
    "bitwise_or": {"biu": operator.ior},
    "bitwise_right_shift": {"iu": operator.irshift},
    "bitwise_xor": {"biu": operator.ixor},
    "divide": {"fc": operator.itruediv},
    "floor_divide": {"iuf": operator.ifloordiv},
    "multiply": {"iufc": operator.imul},
    "pow": {"iufc": operator.ipow},
    "remainder": {"iuf": operator.imod},
    "subtract": {"iufc": operator.isub},
}

_COMPLEX = {"complex": ("real", "complex")}
_MULTIPLY = Operation(
    "strong_multiply",
    {
        "real": "a == 0 && a * b != 0 ? a : a * b",
        "complex": "a.x == 0 && a.y == 0 ? a : c_mul(a, b)",
    },
    needs=_COMPLEX,
)
_DIVIDE = Operation(
    "strong_divide",
    {
        "real": "a == 0 && a / b != 0 ? a : a / b",
        "complex": "a.x == 0 && a.y == 0 ? a : c_div(a, b)",
    },
    needs=_COMPLEX,
)


def strong_multiply(x1: Array, x2: Array, /) -> Array:
    """Return ``x1 * x2``, but zero where x1 is zero."""
    return binary(_MULTIPLY, x1, x2)


def strong_divide(x1: Array, x2: Array, /) -> Array:
    """Return ``x1 / x2``, but zero where x1 is zero."""
    return binary(_DIVIDE, x1, x2)
