"""Hyperbolic functions and their inverses."""

from __future__ import annotations

import numpy as np

from portarray_conformance.draw import Domain
from portarray_conformance.elementwise import Row, register_unary
from portarray_conformance.promotion import FLOATING

_ANY = Domain(special=True, tiny=True)
_EXPONENTS = Domain(-200, 200, special=True, tiny=True)

UNARY_ROWS = (
    Row("acosh", np.arccosh, FLOATING, domain=Domain(0.5, special=True)),
    Row("asinh", np.arcsinh, FLOATING, domain=_ANY),
    Row("atanh", np.arctanh, FLOATING, domain=Domain(-1.25, 1.25, special=True, tiny=True)),
    Row("cosh", np.cosh, FLOATING, domain=_EXPONENTS),
    Row("sinh", np.sinh, FLOATING, domain=_EXPONENTS),
    Row("tanh", np.tanh, FLOATING, domain=_ANY),
)

register_unary(UNARY_ROWS)
