"""Fourier transforms of dpnp's arrays; on CPUs NumPy computes them, on the same memory.

There dpnp's deadlock where several threads call dpnp: oneMKL waits for a host task while the caller
holds Python's lock, and SYCL's few threads for host tasks may all be waiting for that lock, to
release operands of other calls (``keep_args_alive`` of
https://github.com/IntelPython/dpctl/blob/master/dpctl/apis/include/dpctl4pybind11.hpp).
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


def _transform(own: Callable[..., ndarray], host: Callable[..., Any]) -> Callable[..., ndarray]:
    def transform(x: ndarray, /, **options: Any) -> ndarray:
        device = x.device
        if not Transfer.on_host(device):
            return own(x, **options)
        found = host(Transfer.to_host(x, copy=False), **options)
        return Transfer.from_host(found, device, copy=True)

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
