"""Bitwise operations on dpnp's arrays of integers and booleans."""

from __future__ import annotations

import dpnp

from portarray.backends.dpnp.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

bitwise_invert = dpnp.bitwise_invert

DIRECT: Rows = {
    "bitwise_and": {"biu": dpnp.bitwise_and},
    "bitwise_left_shift": {"iu": dpnp.bitwise_left_shift},
    "bitwise_or": {"biu": dpnp.bitwise_or},
    "bitwise_right_shift": {"iu": dpnp.bitwise_right_shift},
    "bitwise_xor": {"biu": dpnp.bitwise_xor},
}
BY_DTYPE = taking_scalars(DIRECT)
