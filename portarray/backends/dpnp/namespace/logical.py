"""Logical operations on dpnp's arrays of booleans."""

from __future__ import annotations

import dpnp

from portarray.backends.dpnp.namespace.scalars import taking_scalars
from portarray.backends.types import Rows

logical_not = dpnp.logical_not

DIRECT: Rows = {
    "logical_and": {"b": dpnp.logical_and},
    "logical_or": {"b": dpnp.logical_or},
    "logical_xor": {"b": dpnp.logical_xor},
}
BY_DTYPE = taking_scalars(DIRECT)
