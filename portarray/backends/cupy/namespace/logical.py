"""Logic on boolean arrays."""

from __future__ import annotations

import cupy

from portarray.backends.cupy.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

logical_not = cupy.logical_not

DIRECT: Rows = {
    "logical_and": {"b": cupy.logical_and},
    "logical_or": {"b": cupy.logical_or},
    "logical_xor": {"b": cupy.logical_xor},
}
BY_DTYPE = taking_scalars(DIRECT)
