"""Bitwise operations on dpnp's arrays of integers and booleans."""

from __future__ import annotations

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

bitwise_invert = dpnp.bitwise_invert


def right_shift(x1: ndarray, x2: ndarray) -> ndarray:
    """Shift right; dpnp's result of a negative count is 0, also for a negative number."""
    width = 8 * x2.itemsize - 1
    return dpnp.bitwise_right_shift(x1, dpnp.where(x2 < 0, width, x2))


DIRECT: Rows = {
    "bitwise_and": {"biu": dpnp.bitwise_and},
    "bitwise_left_shift": {"iu": dpnp.bitwise_left_shift},
    "bitwise_or": {"biu": dpnp.bitwise_or},
    "bitwise_right_shift": {"i": right_shift, "u": dpnp.bitwise_right_shift},
    "bitwise_xor": {"biu": dpnp.bitwise_xor},
}
BY_DTYPE = taking_scalars(DIRECT)
