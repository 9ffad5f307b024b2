"""The standard's special cases of elementwise functions of real numbers, as tables.

Source: Python array API standard 2025.12, the "Special cases" of each function. A row of
``UNARY`` is an operand and the result; a row of ``BINARY`` is two operands and every result that
the standard accepts. Complex numbers have :mod:`portarray_conformance.special_complex`.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TypeAlias

NAN = math.nan
INF = math.inf
PI = math.pi

RealRows: TypeAlias = tuple[tuple[float, float], ...]
PairRows: TypeAlias = tuple[tuple[float, ...], ...]

_INTEGER_VALUED: RealRows = (
    *((NAN, NAN), (INF, INF), (-INF, -INF), (0.0, 0.0), (-0.0, -0.0), (3.0, 3.0), (-3.0, -3.0)),
    (2.0**40, 2.0**40),
)
_ODD_UNBOUNDED: RealRows = ((NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -INF))
_NO_INFINITY: RealRows = ((NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, NAN), (-INF, NAN))
_LOGARITHM: RealRows = (
    *((NAN, NAN), (-1.0, NAN), (-INF, NAN), (0.0, -INF), (-0.0, -INF), (1.0, 0.0), (INF, INF)),
)

UNARY: Mapping[str, RealRows] = {
    "abs": ((NAN, NAN), (-0.0, 0.0), (0.0, 0.0), (-INF, INF), (INF, INF)),
    "acos": ((NAN, NAN), (1.5, NAN), (-1.5, NAN), (INF, NAN), (1.0, 0.0)),
    "acosh": ((NAN, NAN), (0.5, NAN), (-INF, NAN), (1.0, 0.0), (INF, INF)),
    "asin": ((NAN, NAN), (1.5, NAN), (-1.5, NAN), (0.0, 0.0), (-0.0, -0.0)),
    "asinh": _ODD_UNBOUNDED,
    "atan": ((NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, PI / 2), (-INF, -PI / 2)),
    "atanh": (
        *((NAN, NAN), (-1.5, NAN), (1.5, NAN), (-1.0, -INF), (1.0, INF), (0.0, 0.0), (-0.0, -0.0)),
    ),
    "ceil": (*_INTEGER_VALUED, (-0.5, -0.0), (0.5, 1.0), (-1.5, -1.0)),
    "cos": ((NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, NAN), (-INF, NAN)),
    "cosh": ((NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, INF)),
    "exp": ((NAN, NAN), (0.0, 1.0), (-0.0, 1.0), (INF, INF), (-INF, 0.0)),
    "expm1": ((NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF), (-INF, -1.0)),
    "floor": (*_INTEGER_VALUED, (0.5, 0.0), (-0.5, -1.0), (-1.5, -2.0)),
    "isfinite": ((NAN, 0.0), (INF, 0.0), (-INF, 0.0), (1.0, 1.0), (-0.0, 1.0)),
    "isinf": ((NAN, 0.0), (INF, 1.0), (-INF, 1.0), (1.0, 0.0)),
    "isnan": ((NAN, 1.0), (INF, 0.0), (1.0, 0.0)),
    "log": _LOGARITHM,
    "log10": (*_LOGARITHM, (1000.0, 3.0)),
    "log1p": ((NAN, NAN), (-1.5, NAN), (-1.0, -INF), (-0.0, -0.0), (0.0, 0.0), (INF, INF)),
    "log2": (*_LOGARITHM, (1024.0, 10.0)),
    "negative": ((NAN, NAN), (0.0, -0.0), (-0.0, 0.0), (INF, -INF)),
    "round": (
        *_INTEGER_VALUED,
        *((0.5, 0.0), (1.5, 2.0), (2.5, 2.0), (-0.5, -0.0), (-1.5, -2.0), (-2.5, -2.0)),
        (0.49999997, 0.0),
    ),
    "sign": ((-2.0, -1.0), (0.0, 0.0), (2.0, 1.0), (INF, 1.0), (-INF, -1.0), (NAN, NAN)),
    "signbit": (
        *((0.0, 0.0), (-0.0, 1.0), (INF, 0.0), (-INF, 1.0), (2.0, 0.0), (-2.0, 1.0)),
        *((math.copysign(NAN, 1.0), 0.0), (math.copysign(NAN, -1.0), 1.0)),
    ),
    "sin": _NO_INFINITY,
    "sinh": _ODD_UNBOUNDED,
    "sqrt": ((NAN, NAN), (-1.0, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, INF)),
    "tan": _NO_INFINITY,
    "tanh": ((NAN, NAN), (0.0, 0.0), (-0.0, -0.0), (INF, 1.0), (-INF, -1.0)),
    "trunc": (*_INTEGER_VALUED, (0.5, 0.0), (-0.5, -0.0), (-1.5, -1.0), (1.5, 1.0)),
}

_QUOTIENT: PairRows = (
    *((NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, INF, NAN), (INF, -INF, NAN), (-INF, INF, NAN)),
    *((0.0, 0.0, NAN), (-0.0, 0.0, NAN), (0.0, 2.0, 0.0), (-0.0, 2.0, -0.0), (0.0, -2.0, -0.0)),
    *((-0.0, -2.0, 0.0), (2.0, 0.0, INF), (2.0, -0.0, -INF), (-2.0, 0.0, -INF), (-2.0, -0.0, INF)),
)

BINARY: Mapping[str, PairRows] = {
    "add": (
        *((NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, -INF, NAN), (-INF, INF, NAN), (INF, INF, INF)),
        *((-INF, -INF, -INF), (INF, 1.0, INF), (-1.0, -INF, -INF), (-0.0, -0.0, -0.0)),
        *((-0.0, 0.0, 0.0), (0.0, -0.0, 0.0), (0.0, 0.0, 0.0), (0.0, 3.0, 3.0), (3.0, -3.0, 0.0)),
    ),
    "atan2": (
        *((NAN, 1.0, NAN), (1.0, NAN, NAN), (2.0, 0.0, PI / 2), (2.0, -0.0, PI / 2)),
        *((0.0, 2.0, 0.0), (0.0, 0.0, 0.0), (0.0, -0.0, PI), (0.0, -2.0, PI), (-0.0, 2.0, -0.0)),
        *((-0.0, 0.0, -0.0), (-0.0, -0.0, -PI), (-0.0, -2.0, -PI), (-2.0, 0.0, -PI / 2)),
        *((-2.0, -0.0, -PI / 2), (2.0, INF, 0.0), (2.0, -INF, PI), (-2.0, INF, -0.0)),
        *((-2.0, -INF, -PI), (INF, 2.0, PI / 2), (-INF, 2.0, -PI / 2), (INF, INF, PI / 4)),
        *((INF, -INF, 3 * PI / 4), (-INF, INF, -PI / 4), (-INF, -INF, -3 * PI / 4)),
    ),
    "copysign": (
        *((3.0, -2.0, -3.0), (-3.0, -2.0, -3.0), (3.0, -0.0, -3.0), (-3.0, 0.0, 3.0)),
        *((-3.0, 2.0, 3.0), (0.0, -1.0, -0.0), (-0.0, 1.0, 0.0), (INF, -1.0, -INF)),
        *((3.0, math.copysign(NAN, -1.0), -3.0), (-3.0, math.copysign(NAN, 1.0), 3.0)),
        (NAN, -1.0, NAN),
    ),
    "divide": (
        *_QUOTIENT,
        *((INF, 2.0, INF), (INF, -2.0, -INF), (-INF, 2.0, -INF), (-INF, -2.0, INF)),
        *((2.0, INF, 0.0), (2.0, -INF, -0.0), (-2.0, INF, -0.0), (-2.0, -INF, 0.0)),
    ),
    "equal": (
        *((NAN, NAN, 0.0), (NAN, 1.0, 0.0), (INF, INF, 1.0), (-INF, -INF, 1.0), (INF, -INF, 0.0)),
        *((-0.0, 0.0, 1.0), (2.0, 2.0, 1.0), (2.0, 3.0, 0.0)),
    ),
    "floor_divide": (
        *_QUOTIENT,
        *((INF, 2.0, INF, NAN), (INF, -2.0, -INF, NAN), (-INF, 2.0, -INF, NAN)),
        *((-INF, -2.0, INF, NAN), (2.0, INF, 0.0), (2.0, -INF, -0.0, -1.0)),
        *((-2.0, INF, -0.0, -1.0), (-2.0, -INF, 0.0), (7.0, 2.0, 3.0), (-7.0, 2.0, -4.0)),
        *((7.0, -2.0, -4.0), (-7.0, -2.0, 3.0)),
    ),
    "hypot": (
        *((INF, NAN, INF), (-INF, 1.0, INF), (NAN, INF, INF), (1.0, -INF, INF), (0.0, -3.0, 3.0)),
        *((-0.0, 3.0, 3.0), (3.0, 0.0, 3.0), (-3.0, -0.0, 3.0), (1.0, NAN, NAN), (NAN, 1.0, NAN)),
        (NAN, NAN, NAN),
    ),
    "logaddexp": (
        *((NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, 1.0, INF), (-1.0, INF, INF), (INF, INF, INF)),
        *((INF, -INF, INF), (-INF, -INF, -INF), (-INF, 2.0, 2.0)),
    ),
    "maximum": ((NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, INF, NAN), (-INF, 1.0, 1.0)),
    "minimum": ((NAN, 1.0, NAN), (1.0, NAN, NAN), (NAN, -INF, NAN), (INF, 1.0, 1.0)),
    "multiply": (
        *((NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, 0.0, NAN), (-INF, -0.0, NAN), (0.0, INF, NAN)),
        *((INF, INF, INF), (INF, -INF, -INF), (-INF, 2.0, -INF), (-2.0, -INF, INF)),
        *((0.0, -2.0, -0.0), (-0.0, -2.0, 0.0), (-0.0, 0.0, -0.0), (-0.0, 2.0, -0.0)),
    ),
    "nextafter": (
        *((NAN, 1.0, NAN), (1.0, NAN, NAN), (-0.0, 0.0, 0.0), (0.0, -0.0, -0.0), (2.0, 2.0, 2.0)),
        (INF, INF, INF),
    ),
    "not_equal": (
        *((NAN, NAN, 1.0), (NAN, 1.0, 1.0), (INF, INF, 0.0), (INF, -INF, 1.0), (-INF, INF, 1.0)),
        *((-0.0, 0.0, 0.0), (2.0, 3.0, 1.0)),
    ),
    "pow": (
        *((2.0, NAN, NAN), (NAN, 0.0, 1.0), (NAN, -0.0, 1.0), (3.0, 0.0, 1.0), (NAN, 2.0, NAN)),
        *((2.0, INF, INF), (-2.0, INF, INF), (2.0, -INF, 0.0), (1.0, INF, 1.0), (-1.0, INF, 1.0)),
        *((1.0, -INF, 1.0), (-1.0, -INF, 1.0), (1.0, 3.5, 1.0), (0.5, INF, 0.0), (0.5, -INF, INF)),
        *((INF, 2.0, INF), (INF, -2.0, 0.0), (-INF, 3.0, -INF), (-INF, 2.0, INF)),
        *((-INF, 0.5, INF), (-INF, -3.0, -0.0), (-INF, -2.0, 0.0), (0.0, 2.0, 0.0)),
        *((0.0, -2.0, INF), (-0.0, 3.0, -0.0), (-0.0, 2.0, 0.0), (-0.0, 0.5, 0.0)),
        *((-0.0, -3.0, -INF), (-0.0, -2.0, INF), (-2.0, 0.5, NAN)),
    ),
    "remainder": (
        *((NAN, 1.0, NAN), (1.0, NAN, NAN), (INF, INF, NAN), (-INF, INF, NAN), (0.0, 0.0, NAN)),
        *((-0.0, 0.0, NAN), (0.0, 2.0, 0.0), (-0.0, 2.0, 0.0), (0.0, -2.0, -0.0)),
        *((-0.0, -2.0, -0.0), (2.0, 0.0, NAN), (2.0, -0.0, NAN), (-2.0, 0.0, NAN)),
        *((-2.0, -0.0, NAN), (INF, 2.0, NAN), (INF, -2.0, NAN), (-INF, 2.0, NAN)),
        *((-INF, -2.0, NAN), (2.0, INF, 2.0), (2.0, -INF, -INF), (-2.0, INF, INF)),
        *((-2.0, -INF, -2.0), (7.0, -2.0, -1.0), (-7.0, 2.0, 1.0), (-6.0, 2.0, 0.0)),
        (6.0, -2.0, -0.0),
    ),
    "subtract": (
        *((NAN, 1.0, NAN), (INF, INF, NAN), (-INF, -INF, NAN), (INF, -INF, INF)),
        *((-0.0, 0.0, -0.0), (-0.0, -0.0, 0.0), (0.0, 0.0, 0.0), (3.0, 3.0, 0.0)),
    ),
}
