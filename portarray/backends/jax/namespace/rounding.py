"""Rounding of JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "ceil": {"iuf": jnp.ceil},
    "floor": {"iuf": jnp.floor},
    "round": {"iufc": jnp.round},
    "trunc": {"iuf": jnp.trunc},
}
