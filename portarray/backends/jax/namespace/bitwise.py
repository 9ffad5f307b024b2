"""Bits of JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

from portarray.backends.jax.namespace.rows import with_scalar
from portarray.backends.types import Rows

_PAIRS: Rows = {
    "bitwise_and": {"biu": jnp.bitwise_and},
    "bitwise_left_shift": {"iu": jnp.bitwise_left_shift},
    "bitwise_or": {"biu": jnp.bitwise_or},
    "bitwise_right_shift": {"iu": jnp.bitwise_right_shift},
    "bitwise_xor": {"biu": jnp.bitwise_xor},
}
BY_DTYPE: Rows = {**_PAIRS, "bitwise_invert": {"biu": jnp.bitwise_invert}}
WITH_PYTHON_SCALAR = IN_PLACE = with_scalar(_PAIRS, *_PAIRS)
