"""The extension ``fft`` on JAX arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from portarray.backends.jax.namespace.creation import default_dtype, placed


def _scaled(transform: Callable[..., jax.Array]) -> Callable[..., jax.Array]:
    """Return a transform with norm=None for "backward", whose factor 1 JAX would multiply by."""

    def scaled(x: jax.Array, /, *, norm: str = "backward", **options: Any) -> jax.Array:
        return transform(x, norm=None if norm == "backward" else norm, **options)

    return scaled


fft = _scaled(jnp.fft.fft)
fftn = _scaled(jnp.fft.fftn)
hfft = _scaled(jnp.fft.hfft)
ifft = _scaled(jnp.fft.ifft)
ifftn = _scaled(jnp.fft.ifftn)
ihfft = _scaled(jnp.fft.ihfft)
irfft = _scaled(jnp.fft.irfft)
irfftn = _scaled(jnp.fft.irfftn)
rfft = _scaled(jnp.fft.rfft)
rfftn = _scaled(jnp.fft.rfftn)


def _frequencies(function: Callable[..., Any]) -> Callable[..., jax.Array]:
    def frequencies(
        n: int, /, *, d: float = 1.0, dtype: Any = None, device: jax.Device | None = None
    ) -> jax.Array:
        return placed(device, function(n, d).astype(dtype or default_dtype(0.0)))

    return frequencies


fftfreq = _frequencies(np.fft.fftfreq)
rfftfreq = _frequencies(np.fft.rfftfreq)
