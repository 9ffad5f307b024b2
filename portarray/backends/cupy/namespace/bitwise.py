"""Bitwise operations on integer and boolean arrays."""

from __future__ import annotations

import cupy

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

bitwise_invert = cupy.invert

DIRECT: Rows = {
    "bitwise_and": {"biu": cupy.bitwise_and},
    "bitwise_left_shift": {"iu": kernels.left_shift},
    "bitwise_or": {"biu": cupy.bitwise_or},
    "bitwise_right_shift": {"iu": kernels.right_shift},
    "bitwise_xor": {"biu": cupy.bitwise_xor},
}
BY_DTYPE = taking_scalars(DIRECT)
