"""Elementwise comparison and classification."""

from __future__ import annotations

from functools import partial

import numpy as np

from portarray_conformance import draw
from portarray_conformance.cases import Draw, case
from portarray_conformance.compare import Call
from portarray_conformance.draw import ANY
from portarray_conformance.elementwise import Row, judge, register_binary, register_unary, truth
from portarray_conformance.promotion import ALL, NUMERIC, REAL
from portarray_conformance.target import Target

UNARY_ROWS = (
    Row("isfinite", np.isfinite, NUMERIC, complex_domain=ANY, result=truth, native=True),
    Row("isinf", np.isinf, NUMERIC, complex_domain=ANY, result=truth, native=True),
    Row("isnan", np.isnan, NUMERIC, complex_domain=ANY, result=truth, native=True),
)

BINARY_ROWS = (
    Row("equal", np.equal, ALL, result=truth, related=True),
    Row("greater", np.greater, REAL, result=truth, related=True),
    Row("greater_equal", np.greater_equal, REAL, result=truth, related=True),
    Row("less", np.less, REAL, result=truth, related=True),
    Row("less_equal", np.less_equal, REAL, result=truth, related=True),
    Row("not_equal", np.not_equal, ALL, result=truth, related=True),
)


def _exact(row: Row, target: Target, data: Draw) -> None:
    """Large integers are compared as integers: their neighbours are equal as float64."""
    for name in draw.available(target, ("int64", "uint64")):
        x1 = np.array([2**53, 2**53 + 1, 2**62, 2**62], dtype=name)
        x2 = np.array([2**53 + 1, 2**53, 2**62 + 1, 2**62], dtype=name)
        call = Call(f"{row.name}(x1, x2)", {"x1": x1, "x2": x2})
        out = target.function(row.name)(target.put(x1), target.put(x2))
        judge(target, out, row, [x1, x2], name, call)


for _row in BINARY_ROWS:
    case(_row.name, "exact")(partial(_exact, _row))

register_unary(UNARY_ROWS)
register_binary(BINARY_ROWS)
