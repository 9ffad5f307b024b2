"""Parts of complex JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

from portarray.backends.types import Rows

BY_DTYPE: Rows = {
    "conj": {"iufc": jnp.conj},
    "imag": {"iufc": jnp.imag},
    "real": {"iufc": jnp.real},
}
