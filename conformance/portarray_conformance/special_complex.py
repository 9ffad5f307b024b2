"""The standard's special cases of elementwise functions of complex numbers, as tables.

Source: Python array API standard 2025.12, the "Special cases" of each function. ``COMPLEX_UNARY``
has operands and results as pairs of components, and which signs the standard leaves open.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass

from portarray_conformance.special import INF, NAN, PI


@dataclass(frozen=True)
class ComplexRow:
    """One special case of a function: real and imaginary components of operand and result.

    ``free_signs`` is whether the sign of each component of the result is unspecified.
    """

    operand: tuple[float, float]
    want: tuple[float, float]
    free_signs: tuple[bool, bool] = (False, False)


def _expand(
    *rows: tuple[Iterable[float], Iterable[float], float, float, str], mirrored: bool = True
) -> tuple[ComplexRow, ...]:
    """Write out rows of (real parts, imaginary parts, result, open signs "r", "i" or "ri").

    If f(conj(z)) must equal conj(f(z)), each row also gives the mirrored row below the real axis.
    """
    expanded = []
    for reals, imaginaries, real, imaginary, free in rows:
        signs = ("r" in free, "i" in free)
        for a, b in itertools.product(reals, imaginaries):
            expanded.append(ComplexRow((a, b), (real, imaginary), signs))
            if mirrored and not math.isnan(b):
                expanded.append(ComplexRow((a, -b), (real, -imaginary), signs))
    return tuple(expanded)


_ZEROS = (0.0, -0.0)
_NONZERO = (-2.5, 0.5)
_FINITE = (*_ZEROS, *_NONZERO)
_POSITIVE = (0.5, 3.0)
_INFINITIES = (INF, -INF)
_ANYTHING = (*_FINITE, *_INFINITIES, NAN)
_P = (0.0,)  # +0
_PINF = (INF,)
_MINF = (-INF,)
_N = (NAN,)

_CIS = tuple(
    ((INF,), (b,), math.copysign(INF, math.cos(b)), math.copysign(INF, math.sin(b)), "")
    for b in (1.0, 2.5)
)
_LOG = (
    (_N, (*_P, 2.5), NAN, NAN, ""),
    (_N, _PINF, INF, NAN, ""),
    (_N, _N, NAN, NAN, ""),
    (_FINITE, _PINF, INF, PI / 2, ""),
    (_FINITE, _N, NAN, NAN, ""),
    (_MINF, _POSITIVE, INF, PI, ""),
    (_PINF, _POSITIVE, INF, 0.0, ""),
    (_MINF, _PINF, INF, 3 * PI / 4, ""),
    (_PINF, _PINF, INF, PI / 4, ""),
    (_INFINITIES, _N, INF, NAN, ""),
)
_SINH = _expand(
    (_P, _P, 0.0, 0.0, ""),
    (_P, _PINF, 0.0, NAN, "r"),
    (_P, _N, 0.0, NAN, "r"),
    (_POSITIVE, _PINF, NAN, NAN, ""),
    (_POSITIVE, _N, NAN, NAN, ""),
    (_PINF, _P, INF, 0.0, ""),
    *_CIS,
    (_PINF, _PINF, INF, NAN, "r"),
    (_PINF, _N, INF, NAN, "r"),
    (_N, _P, NAN, 0.0, ""),
    (_N, (2.5,), NAN, NAN, ""),
    (_N, _N, NAN, NAN, ""),
)
_COSH = _expand(
    (_P, _P, 1.0, 0.0, ""),
    (_P, _PINF, NAN, 0.0, "i"),
    (_ZEROS, _N, NAN, 0.0, "i"),
    (_NONZERO, _PINF, NAN, NAN, ""),
    (_NONZERO, _N, NAN, NAN, ""),
    (_PINF, _P, INF, 0.0, ""),
    *_CIS,
    (_PINF, _PINF, INF, NAN, "r"),
    (_PINF, _N, INF, NAN, ""),
    (_N, _ZEROS, NAN, 0.0, "i"),
    (_N, (2.5,), NAN, NAN, ""),
    (_N, _N, NAN, NAN, ""),
)
_TANH = _expand(
    (_P, _P, 0.0, 0.0, ""),
    (_NONZERO, _PINF, NAN, NAN, ""),
    (_P, _PINF, 0.0, NAN, ""),
    (_NONZERO, _N, NAN, NAN, ""),
    (_P, _N, 0.0, NAN, ""),
    (_PINF, _POSITIVE, 1.0, 0.0, "i"),
    (_PINF, _PINF, 1.0, 0.0, "i"),
    (_PINF, _N, 1.0, 0.0, "i"),
    (_N, _P, NAN, 0.0, ""),
    (_N, (2.5,), NAN, NAN, ""),
    (_N, _N, NAN, NAN, ""),
)
_ASINH = _expand(
    (_P, _P, 0.0, 0.0, ""),
    (_POSITIVE, _PINF, INF, PI / 2, ""),
    (_FINITE, _N, NAN, NAN, ""),
    (_PINF, _POSITIVE, INF, 0.0, ""),
    (_PINF, _PINF, INF, PI / 4, ""),
    (_N, _P, NAN, 0.0, ""),
    (_N, (2.5,), NAN, NAN, ""),
    (_N, _PINF, INF, NAN, "r"),
    (_N, _N, NAN, NAN, ""),
)
_ATANH = _expand(
    (_P, _P, 0.0, 0.0, ""),
    (_P, _N, 0.0, NAN, ""),
    ((1.0,), _P, INF, 0.0, ""),
    (_POSITIVE, _PINF, 0.0, PI / 2, ""),
    (_NONZERO, _N, NAN, NAN, ""),
    (_PINF, _POSITIVE, 0.0, PI / 2, ""),
    (_PINF, _PINF, 0.0, PI / 2, ""),
    (_PINF, _N, 0.0, NAN, ""),
    (_N, (*_P, 2.5), NAN, NAN, ""),
    (_N, _PINF, 0.0, PI / 2, "r"),
    (_N, _N, NAN, NAN, ""),
)


def _turned(rows: Iterable[ComplexRow]) -> tuple[ComplexRow, ...]:
    """Return the rows of -1j * f(1j * z) from those of f."""
    return tuple(
        ComplexRow((b, -a), (imag, -real), signs[::-1])
        for (a, b), (real, imag), signs in map(astuple, rows)
    )


def _turned_argument(rows: Iterable[ComplexRow]) -> tuple[ComplexRow, ...]:
    """Return the rows of f(1j * z) from those of f."""
    return tuple(ComplexRow((b, -a), want, signs) for (a, b), want, signs in map(astuple, rows))


COMPLEX_UNARY: Mapping[str, tuple[ComplexRow, ...]] = {
    "abs": _expand(
        (_INFINITIES, _ANYTHING, INF, 0.0, ""),
        (_ANYTHING, _INFINITIES, INF, 0.0, ""),
        (_ZEROS, (-2.5,), 2.5, 0.0, ""),
        ((-2.5,), _ZEROS, 2.5, 0.0, ""),
        (_N, _FINITE, NAN, 0.0, ""),
        (_FINITE, _N, NAN, 0.0, ""),
        (_N, _N, NAN, 0.0, ""),
        mirrored=False,
    ),
    "acos": _expand(
        (_ZEROS, _P, PI / 2, -0.0, ""),
        (_ZEROS, _N, PI / 2, NAN, ""),
        (_FINITE, _PINF, PI / 2, -INF, ""),
        (_NONZERO, _N, NAN, NAN, ""),
        (_MINF, _POSITIVE, PI, -INF, ""),
        (_PINF, _POSITIVE, 0.0, -INF, ""),
        (_MINF, _PINF, 3 * PI / 4, -INF, ""),
        (_PINF, _PINF, PI / 4, -INF, ""),
        (_INFINITIES, _N, NAN, INF, "i"),
        (_N, (*_P, 2.5), NAN, NAN, ""),
        (_N, _PINF, NAN, -INF, ""),
        (_N, _N, NAN, NAN, ""),
    ),
    "acosh": _expand(
        (_ZEROS, _P, 0.0, PI / 2, ""),
        (_FINITE, _PINF, INF, PI / 2, ""),
        (_NONZERO, _N, NAN, NAN, ""),
        (_P, _N, NAN, PI / 2, "i"),
        (_MINF, _POSITIVE, INF, PI, ""),
        (_PINF, _POSITIVE, INF, 0.0, ""),
        (_MINF, _PINF, INF, 3 * PI / 4, ""),
        (_PINF, _PINF, INF, PI / 4, ""),
        (_INFINITIES, _N, INF, NAN, ""),
        (_N, (*_P, 2.5), NAN, NAN, ""),
        (_N, _PINF, INF, NAN, ""),
        (_N, _N, NAN, NAN, ""),
    ),
    "asin": _turned(_ASINH),
    "asinh": _ASINH,
    "atan": _turned(_ATANH),
    "atanh": _ATANH,
    "cos": _turned_argument(_COSH),
    "cosh": _COSH,
    "exp": _expand(
        (_ZEROS, _P, 1.0, 0.0, ""),
        (_FINITE, _PINF, NAN, NAN, ""),
        (_FINITE, _N, NAN, NAN, ""),
        (_PINF, _P, INF, 0.0, ""),
        (_MINF, (1.0,), 0.0, 0.0, ""),
        (_MINF, (2.5,), -0.0, 0.0, ""),
        *_CIS,
        (_MINF, _PINF, 0.0, 0.0, "ri"),
        (_PINF, _PINF, INF, NAN, "r"),
        (_MINF, _N, 0.0, 0.0, "ri"),
        (_PINF, _N, INF, NAN, "r"),
        (_N, _P, NAN, 0.0, ""),
        (_N, (2.5, INF), NAN, NAN, ""),
        (_N, _N, NAN, NAN, ""),
    ),
    "expm1": _expand(
        (_ZEROS, _P, 0.0, 0.0, "r"),
        (_FINITE, _PINF, NAN, NAN, ""),
        (_FINITE, _N, NAN, NAN, ""),
        (_PINF, _P, INF, 0.0, ""),
        (_MINF, (1.0, 2.5), -1.0, 0.0, ""),
        *_CIS,
        (_MINF, _PINF, -1.0, 0.0, "i"),
        (_PINF, _PINF, INF, NAN, "r"),
        (_MINF, _N, -1.0, 0.0, "i"),
        (_PINF, _N, INF, NAN, "r"),
        (_N, _P, NAN, 0.0, ""),
        (_N, (2.5, INF), NAN, NAN, ""),
        (_N, _N, NAN, NAN, ""),
    ),
    "log": _expand(((-0.0,), _P, -INF, PI, ""), (_P, _P, -INF, 0.0, ""), *_LOG),
    "log1p": _expand(((-1.0,), _P, -INF, 0.0, ""), *_LOG),
    "sign": _expand(
        (_ZEROS, _ZEROS, 0.0, 0.0, "ri"),
        (_N, _ANYTHING, NAN, NAN, ""),
        (_ANYTHING, _N, NAN, NAN, ""),
        mirrored=False,
    ),
    "sin": _turned(_SINH),
    "sinh": _SINH,
    "sqrt": _expand(
        (_ZEROS, _P, 0.0, 0.0, ""),
        (_ANYTHING, _PINF, INF, INF, ""),
        (_FINITE, _N, NAN, NAN, ""),
        (_MINF, _POSITIVE, 0.0, INF, ""),
        (_PINF, _POSITIVE, INF, 0.0, ""),
        (_MINF, _N, NAN, INF, "i"),
        (_PINF, _N, INF, NAN, ""),
        (_N, (*_P, 2.5), NAN, NAN, ""),
        (_N, _N, NAN, NAN, ""),
    ),
    "tan": _turned(_TANH),
    "tanh": _TANH,
}
