"""Bitwise functions."""

from __future__ import annotations

import numpy as np

from portarray_conformance import compare, draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.elementwise import Row, register_binary, register_unary
from portarray_conformance.promotion import BOOL_AND_INTEGERS, INTEGERS, SIGNED
from portarray_conformance.target import NumpyArray, Target

_SHIFTS = draw.Domain(0, 7)


def _invert(x: NumpyArray) -> NumpyArray:
    if x.size and isinstance(x.flat[0], bool):
        return np.logical_not(x)
    return -x - 1


UNARY_ROWS = (Row("bitwise_invert", _invert, BOOL_AND_INTEGERS, wraps=True),)

BINARY_ROWS = (
    Row("bitwise_and", np.bitwise_and, BOOL_AND_INTEGERS),
    Row("bitwise_left_shift", np.left_shift, INTEGERS, integer_second=_SHIFTS),
    Row("bitwise_or", np.bitwise_or, BOOL_AND_INTEGERS),
    Row("bitwise_right_shift", np.right_shift, INTEGERS, integer_second=_SHIFTS),
    Row("bitwise_xor", np.bitwise_xor, BOOL_AND_INTEGERS),
)


@case("bitwise_right_shift", "special")
def right_shift_of_negatives(target: Target, data: Draw) -> None:
    """A right shift keeps the sign and rounds down: it divides by a power of two."""
    for name in draw.available(target, SIGNED):
        x1 = np.array([-8, -1, -128, -7, 64], dtype=name)
        x2 = np.array([1, 3, 7, 1, 5], dtype=name)
        call = Call("bitwise_right_shift(x1, x2)", {"x1": x1, "x2": x2})
        out = target.function("bitwise_right_shift")(target.put(x1), target.put(x2))
        compare.same(target, out, np.array([-4, -1, -1, -4, 2], dtype=name), call)


register_unary(UNARY_ROWS)
register_binary(BINARY_ROWS)
