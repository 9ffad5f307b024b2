"""Rounding to integers."""

from __future__ import annotations

import numpy as np

from portarray_conformance.draw import Domain
from portarray_conformance.elementwise import Row, register_unary
from portarray_conformance.promotion import NUMERIC, REAL
from portarray_conformance.target import NumpyArray

_HALVES = Domain(-4, 4, special=True, tiny=True)


def _half_to_even(x: NumpyArray) -> NumpyArray:
    if x.dtype == object:
        return x
    if x.dtype.kind == "c":
        rounded = np.empty_like(x)
        rounded.real, rounded.imag = np.rint(x.real), np.rint(x.imag)
        return rounded
    return np.rint(x)


UNARY_ROWS = (
    Row("ceil", np.ceil, REAL, domain=_HALVES),
    Row("floor", np.floor, REAL, domain=_HALVES),
    Row("round", _half_to_even, NUMERIC, domain=_HALVES),
    Row("trunc", np.trunc, REAL, domain=_HALVES),
)

register_unary(UNARY_ROWS)
