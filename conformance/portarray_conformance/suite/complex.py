"""Components of complex numbers."""

from __future__ import annotations

import numpy as np

from portarray_conformance.elementwise import Row, real_part, register_unary
from portarray_conformance.promotion import COMPLEXES, NUMERIC

UNARY_ROWS = (
    Row("conj", np.conj, NUMERIC),
    Row("imag", np.imag, COMPLEXES, result=real_part),
    Row("real", np.real, NUMERIC, result=real_part),
)

register_unary(UNARY_ROWS)
