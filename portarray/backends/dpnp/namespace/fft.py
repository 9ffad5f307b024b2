"""Fourier transforms of dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray.backends.composed.fft import of_empty_stacks
from portarray.backends.dpnp.namespace.creation import default_float, device_of


def _ones(like: ndarray, shape: tuple[int, ...]) -> ndarray:
    return dpnp.ones_like(like, shape=shape)


fft = of_empty_stacks(dpnp.fft.fft, _ones)
fftn = of_empty_stacks(dpnp.fft.fftn, _ones)
fftshift = dpnp.fft.fftshift
hfft = of_empty_stacks(dpnp.fft.hfft, _ones)
ifft = of_empty_stacks(dpnp.fft.ifft, _ones)
ifftn = of_empty_stacks(dpnp.fft.ifftn, _ones)
ifftshift = dpnp.fft.ifftshift
ihfft = of_empty_stacks(dpnp.fft.ihfft, _ones)
irfft = of_empty_stacks(dpnp.fft.irfft, _ones)
irfftn = of_empty_stacks(dpnp.fft.irfftn, _ones)
rfft = of_empty_stacks(dpnp.fft.rfft, _ones)
rfftn = of_empty_stacks(dpnp.fft.rfftn, _ones)


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
