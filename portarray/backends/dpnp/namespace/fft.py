"""Fourier transforms of dpnp's arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import dpnp
import numpy as np
from dpnp import ndarray
from dpnp.tensor import Device

from portarray.backends.dpnp import devices
from portarray.backends.dpnp.namespace.promotion import default_float, inexact

DType = np.dtype[Any]
Norm = Literal["backward", "ortho", "forward"]


def fft(x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> ndarray:
    """Transform along an axis."""
    return dpnp.fft.fft(inexact(x), n, axis, norm)


def ifft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform back along an axis."""
    return dpnp.fft.ifft(inexact(x), n, axis, norm)


def rfft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform real numbers along an axis."""
    return dpnp.fft.rfft(inexact(x), n, axis, norm)


def irfft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform back to real numbers along an axis."""
    return dpnp.fft.irfft(inexact(x), n, axis, norm)


def hfft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform Hermitian-symmetric numbers along an axis."""
    return dpnp.fft.hfft(inexact(x), n, axis, norm)


def ihfft(
    x: ndarray, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward"
) -> ndarray:
    """Transform back to Hermitian-symmetric numbers along an axis."""
    return dpnp.fft.ihfft(inexact(x), n, axis, norm)


def fftn(
    x: ndarray,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> ndarray:
    """Transform along axes."""
    return dpnp.fft.fftn(inexact(x), s, axes, norm)


def ifftn(
    x: ndarray,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> ndarray:
    """Transform back along axes."""
    return dpnp.fft.ifftn(inexact(x), s, axes, norm)


def rfftn(
    x: ndarray,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> ndarray:
    """Transform real numbers along axes."""
    return dpnp.fft.rfftn(inexact(x), s, axes, norm)


def irfftn(
    x: ndarray,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> ndarray:
    """Transform back to real numbers along axes."""
    return dpnp.fft.irfftn(inexact(x), s, axes, norm)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None
) -> ndarray:
    """Return the sample frequencies of :func:`fft`."""
    place = devices.native_device("oneapi", 0) if device is None else device
    found = dpnp.fft.fftfreq(n, d, device=place)
    return dpnp.astype(found, dtype or default_float(place), copy=False)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Device | None = None
) -> ndarray:
    """Return the sample frequencies of :func:`rfft`."""
    place = devices.native_device("oneapi", 0) if device is None else device
    found = dpnp.fft.rfftfreq(n, d, device=place)
    return dpnp.astype(found, dtype or default_float(place), copy=False)


def fftshift(x: ndarray, /, *, axes: int | Sequence[int] | None = None) -> ndarray:
    """Move frequency 0 to the middle."""
    return dpnp.fft.fftshift(x, axes=axes)


def ifftshift(x: ndarray, /, *, axes: int | Sequence[int] | None = None) -> ndarray:
    """Undo :func:`fftshift`."""
    return dpnp.fft.ifftshift(x, axes=axes)
