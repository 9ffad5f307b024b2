"""Elementwise comparison and classification."""

from __future__ import annotations

import numpy as np

from portarray_conformance.draw import ANY
from portarray_conformance.elementwise import Row, register_binary, register_unary, truth
from portarray_conformance.promotion import ALL, NUMERIC, REAL

CHAPTER = "comparison"

UNARY_ROWS = (
    Row("isfinite", np.isfinite, NUMERIC, complex_domain=ANY, result=truth, native=True),
    Row("isinf", np.isinf, NUMERIC, complex_domain=ANY, result=truth, native=True),
    Row("isnan", np.isnan, NUMERIC, complex_domain=ANY, result=truth, native=True),
)

BINARY_ROWS = (
    Row("equal", np.equal, ALL, result=truth),
    Row("greater", np.greater, REAL, result=truth),
    Row("greater_equal", np.greater_equal, REAL, result=truth),
    Row("less", np.less, REAL, result=truth),
    Row("less_equal", np.less_equal, REAL, result=truth),
    Row("not_equal", np.not_equal, ALL, result=truth),
)

register_unary(CHAPTER, UNARY_ROWS)
register_binary(CHAPTER, BINARY_ROWS)
