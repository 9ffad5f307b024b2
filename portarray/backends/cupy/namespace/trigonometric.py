"""Trigonometric and hyperbolic functions of arrays."""

from __future__ import annotations

import cupy

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

acos = cupy.arccos
asin = cupy.arcsin
asinh = cupy.arcsinh
atan = cupy.arctan
atanh = cupy.arctanh
cos = cupy.cos
cosh = cupy.cosh
sin = cupy.sin
sinh = cupy.sinh

DIRECT: Rows = {
    "atan2": {"f": cupy.arctan2},
    "hypot": {"f": cupy.hypot},
}

BY_DTYPE: Rows = {
    **taking_scalars(DIRECT),
    "acosh": {"f": cupy.arccosh, "c": kernels.acosh},
    "tan": {"f": cupy.tan, "c": kernels.tan},
    "tanh": {"f": cupy.tanh, "c": kernels.tanh},
}
