"""Trigonometric functions and their inverses."""

from __future__ import annotations

import numpy as np

from portarray_conformance.draw import Domain
from portarray_conformance.elementwise import Row, register_binary, register_unary
from portarray_conformance.promotion import FLOATING, FLOATS

_ANGLES = Domain(-1000, 1000, special=True, tiny=True)
_SINES = Domain(-1.25, 1.25, special=True, tiny=True)

UNARY_ROWS = (
    Row("acos", np.arccos, FLOATING, domain=_SINES),
    Row("asin", np.arcsin, FLOATING, domain=_SINES),
    Row("atan", np.arctan, FLOATING, domain=Domain(special=True, tiny=True)),
    Row("cos", np.cos, FLOATING, domain=_ANGLES),
    Row("sin", np.sin, FLOATING, domain=_ANGLES),
    Row("tan", np.tan, FLOATING, domain=_ANGLES),
)

BINARY_ROWS = (Row("atan2", np.arctan2, FLOATS),)

register_unary(UNARY_ROWS)
register_binary(BINARY_ROWS)
