"""Parts of complex JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

from portarray.backends.protocol import Rows

ROWS: Rows = {
    "conj": {"iufc": jnp.conj},
    "imag": {"iufc": jnp.imag},
    "real": {"iufc": jnp.real},
}
