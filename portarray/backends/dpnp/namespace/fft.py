"""Fourier transforms of dpnp arrays; on CPUs NumPy computes them, on the same memory.

There dpnp's deadlock if several threads call dpnp, as :mod:`portarray.backends.dpnp.host_tasks`
explains.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray.backends.composed.fft import of_empty_stacks
from portarray.backends.dpnp.namespace.creation import default_float, device_of
from portarray.backends.dpnp.transfer import Transfer


def _ones(like: ndarray, shape: tuple[int, ...]) -> ndarray:
    return dpnp.ones_like(like, shape=shape)


def _transform(
    dpnp_transform: Callable[..., ndarray], numpy_transform: Callable[..., Any]
) -> Callable[..., ndarray]:
    def transform(x: ndarray, /, **options: Any) -> ndarray:
        device = x.device
        if not Transfer.on_host(device):
            return dpnp_transform(x, **options)
        transformed = numpy_transform(Transfer.to_host(x, copy=False), **options)
        return Transfer.from_host(transformed, device, copy=True)

    return of_empty_stacks(transform, _ones)


fft = _transform(dpnp.fft.fft, np.fft.fft)
fftn = _transform(dpnp.fft.fftn, np.fft.fftn)
fftshift = dpnp.fft.fftshift
hfft = _transform(dpnp.fft.hfft, np.fft.hfft)
ifft = _transform(dpnp.fft.ifft, np.fft.ifft)
ifftn = _transform(dpnp.fft.ifftn, np.fft.ifftn)
ifftshift = dpnp.fft.ifftshift
ihfft = _transform(dpnp.fft.ihfft, np.fft.ihfft)
irfft = _transform(dpnp.fft.irfft, np.fft.irfft)
irfftn = _transform(dpnp.fft.irfftn, np.fft.irfftn)
rfft = _transform(dpnp.fft.rfft, np.fft.rfft)
rfftn = _transform(dpnp.fft.rfftn, np.fft.rfftn)


def _frequencies(dpnp_frequencies: Callable[..., ndarray]) -> Callable[..., ndarray]:
    def frequencies(
        n: int,
        /,
        *,
        d: float = 1.0,
        dtype: np.dtype[Any] | None = None,
        device: Device | None = None,
    ) -> ndarray:
        target = device_of(device)
        return dpnp.astype(
            dpnp_frequencies(n, d, device=target), dtype or default_float(target), copy=False
        )

    return frequencies


fftfreq = _frequencies(dpnp.fft.fftfreq)
rfftfreq = _frequencies(dpnp.fft.rfftfreq)
