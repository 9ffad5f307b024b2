"""Bits of NumPy arrays."""

from __future__ import annotations

import operator

from portarray.backends.numpy.namespace.arithmetic import inplace
from portarray.backends.types import Rows

IN_PLACE: Rows = {
    "bitwise_and": {"biu": inplace(operator.iand)},
    "bitwise_left_shift": {"iu": inplace(operator.ilshift)},
    "bitwise_or": {"biu": inplace(operator.ior)},
    "bitwise_right_shift": {"iu": inplace(operator.irshift)},
    "bitwise_xor": {"biu": inplace(operator.ixor)},
}
