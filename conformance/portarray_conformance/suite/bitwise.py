"""Bitwise functions."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from portarray_conformance.draw import Domain
from portarray_conformance.elementwise import Row, register_binary, register_unary
from portarray_conformance.promotion import BOOL_AND_INTEGERS, INTEGERS

NumpyArray: TypeAlias = npt.NDArray[Any]
CHAPTER = "bitwise"

_SHIFTS = Domain(0, 7)


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

register_unary(CHAPTER, UNARY_ROWS)
register_binary(CHAPTER, BINARY_ROWS)
