"""Rounding; integers are copied, because CuPy before version 14 converts them to floats."""

from __future__ import annotations

import cupy
from cupy import ndarray

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "ceil": {"iu": ndarray.copy, "f": cupy.ceil},
    "floor": {"iu": ndarray.copy, "f": cupy.floor},
    "round": {"iu": ndarray.copy, "fc": cupy.rint},
    "trunc": {"iu": ndarray.copy, "f": cupy.trunc},
}
