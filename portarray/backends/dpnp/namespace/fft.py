"""Fourier transforms of dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray.backends.dpnp.namespace.creation import default_float, device_of

fft = dpnp.fft.fft
fftn = dpnp.fft.fftn
fftshift = dpnp.fft.fftshift
hfft = dpnp.fft.hfft
ifft = dpnp.fft.ifft
ifftn = dpnp.fft.ifftn
ifftshift = dpnp.fft.ifftshift
ihfft = dpnp.fft.ihfft
irfft = dpnp.fft.irfft
irfftn = dpnp.fft.irfftn
rfft = dpnp.fft.rfft
rfftn = dpnp.fft.rfftn


def _frequencies(own: Callable[..., ndarray]) -> Callable[..., ndarray]:
    def frequencies(
        n: int,
        /,
        *,
        d: float = 1.0,
        dtype: np.dtype[Any] | None = None,
        device: Device | None = None,
    ) -> ndarray:
        place = device_of(device)
        return dpnp.astype(own(n, d, device=place), dtype or default_float(place), copy=False)

    return frequencies


fftfreq = _frequencies(dpnp.fft.fftfreq)
rfftfreq = _frequencies(dpnp.fft.rfftfreq)
