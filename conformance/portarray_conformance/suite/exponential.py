"""Exponentials and logarithms."""

from __future__ import annotations

import numpy as np

from portarray_conformance.draw import Domain
from portarray_conformance.elementwise import Row, register_binary, register_unary
from portarray_conformance.promotion import FLOATING, FLOATS
from portarray_conformance.target import NumpyArray

_EXPONENTS = Domain(-200, 200, special=True, tiny=True)
_POSITIVE = Domain(0, special=True, tiny=True)
_AWAY = Domain(0.5, 8)


def _log1p(x: NumpyArray) -> NumpyArray:
    """``log(1 + x)``; the complex one from ``abs(1 + x)**2 - 1``, which does not cancel."""
    if x.dtype.kind != "c":
        return np.log1p(x)
    a, b = x.real, x.imag
    return np.asarray(np.log1p(a * (2 + a) + b * b) / 2 + 1j * np.arctan2(b, 1 + a))


def _logaddexp(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    high, low = np.maximum(x1, x2), np.minimum(x1, x2)
    gap = np.where(high == low, 0, low - high)  # inf - inf is not a gap
    return np.where(np.isinf(high), high, high + np.log1p(np.exp(gap)))


def _cancels(x1: NumpyArray, x2: NumpyArray) -> NumpyArray:
    """Where the result is near zero, so that only an absolute error is meaningful."""
    return np.abs(_logaddexp(x1, x2)) < 0.1


UNARY_ROWS = (
    Row("exp", np.exp, FLOATING, domain=_EXPONENTS),
    Row("expm1", np.expm1, FLOATING, domain=_EXPONENTS),
    Row("log", np.log, FLOATING, domain=_POSITIVE, complex_domain=_AWAY),
    Row("log10", np.log10, FLOATING, domain=_POSITIVE, complex_domain=_AWAY),
    Row(
        "log1p", _log1p, FLOATING, domain=Domain(-1, special=True, tiny=True), complex_domain=_AWAY
    ),
    Row("log2", np.log2, FLOATING, domain=_POSITIVE, complex_domain=_AWAY),
)

BINARY_ROWS = (
    Row("logaddexp", _logaddexp, FLOATS, domain=Domain(-80, 80, special=True), undefined=_cancels),
)

register_unary(UNARY_ROWS)
register_binary(BINARY_ROWS)
