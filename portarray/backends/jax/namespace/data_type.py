"""Dtypes of JAX arrays."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np


def astype(
    x: jax.Array, dtype: Any, /, *, copy: bool = True, device: jax.Device | None = None
) -> jax.Array:
    """Convert to a dtype; complex numbers lose their imaginary part."""
    dtype = np.dtype(dtype)
    if x.dtype != dtype:
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x != 0 if dtype.kind == "b" else jnp.real(x)
        x = x.astype(dtype)
    elif copy:
        x = jnp.array(x, copy=True)
    return x if device is None else jax.device_put(x, device)
