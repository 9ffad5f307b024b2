"""Logical functions of booleans."""

from __future__ import annotations

import numpy as np

from portarray_conformance.elementwise import Row, register_binary, register_unary
from portarray_conformance.promotion import BOOL

UNARY_ROWS = (Row("logical_not", np.logical_not, BOOL, native=True),)

BINARY_ROWS = (
    Row("logical_and", np.logical_and, BOOL, native=True),
    Row("logical_or", np.logical_or, BOOL, native=True),
    Row("logical_xor", np.logical_xor, BOOL, native=True),
)

register_unary(UNARY_ROWS)
register_binary(BINARY_ROWS)
