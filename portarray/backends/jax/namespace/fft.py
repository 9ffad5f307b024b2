"""The extension ``fft`` on JAX arrays."""

from __future__ import annotations

import jax.numpy as jnp

fft = jnp.fft.fft
fftfreq = jnp.fft.fftfreq
fftn = jnp.fft.fftn
fftshift = jnp.fft.fftshift
hfft = jnp.fft.hfft
ifft = jnp.fft.ifft
ifftn = jnp.fft.ifftn
ifftshift = jnp.fft.ifftshift
ihfft = jnp.fft.ihfft
irfft = jnp.fft.irfft
irfftn = jnp.fft.irfftn
rfft = jnp.fft.rfft
rfftfreq = jnp.fft.rfftfreq
rfftn = jnp.fft.rfftn
