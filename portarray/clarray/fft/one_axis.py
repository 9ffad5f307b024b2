"""Fourier transforms along one axis."""

from __future__ import annotations

import numpy as np

from portarray.clarray.engine import host
from portarray.clarray.fft.transforms import Norm, along_one, checked
from portarray.clarray.strided import Array


@host.served
def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return discrete Fourier transforms along an axis."""
    return along_one(np.fft.fft, checked(x, "fft", norm), n, axis, norm)


@host.served
def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return inverse discrete Fourier transforms along an axis."""
    return along_one(np.fft.ifft, checked(x, "ifft", norm), n, axis, norm)


@host.served
def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the nonnegative half of the Fourier transforms of real numbers along an axis."""
    return along_one(np.fft.rfft, checked(x, "rfft", norm, real=True), n, axis, norm, half=True)


@host.served
def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the real numbers whose nonnegative half of frequencies is given."""
    return along_one(np.fft.irfft, checked(x, "irfft", norm), n, axis, norm, inverse=True)


@host.served
def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the Fourier transforms, which are real, of signals whose second half is implied."""
    return along_one(np.fft.hfft, checked(x, "hfft", norm), n, axis, norm, inverse=True)


@host.served
def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the first half of the inverse Fourier transforms of real numbers."""
    return along_one(np.fft.ihfft, checked(x, "ihfft", norm, real=True), n, axis, norm, half=True)
