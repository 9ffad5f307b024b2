"""Fourier transforms along one axis."""

from __future__ import annotations

import numpy as np

from portarray.clarray.array import Array
from portarray.clarray.engine import host
from portarray.clarray.fft.transforms import Norm, along_one, checked

__all__ = ["fft", "hfft", "ifft", "ihfft", "irfft", "rfft"]


@host.served
def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return discrete Fourier transforms along an axis.

    Parameters
    ----------
    x : Array
        Floating-point.
    n : int, optional
        Along the axis ``x`` is cut or filled with zeros to so many samples; it stays by default.
    axis : int, default: -1
        Which.
    norm : {"backward", "ortho", "forward"}
        Where ``1/n`` belongs: to the inverse, as ``1/sqrt(n)`` to both, or to this direction.

    Returns
    -------
    Array
        Complex, of the precision of ``x``.

    Raises
    ------
    TypeError
        If the argument is no floating-point array.
    numpy.exceptions.AxisError
        If there is no such axis.
    ValueError
        If there are no samples, or ``norm`` is another.
    """
    return along_one(np.fft.fft, checked(x, "fft", norm), n, axis, norm)


@host.served
def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return inverse discrete Fourier transforms along an axis.

    Parameters
    ----------
    x, n, axis, norm
        As for :func:`fft`.

    Returns
    -------
    Array
        Complex, of the precision of ``x``.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError, ValueError
        As :func:`fft`.
    """
    return along_one(np.fft.ifft, checked(x, "ifft", norm), n, axis, norm)


@host.served
def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the nonnegative half of the Fourier transforms of real numbers along an axis.

    Parameters
    ----------
    x : Array
        Real floating-point.
    n, axis, norm
        As for :func:`fft`.

    Returns
    -------
    Array
        Complex, of the precision of ``x``, with ``n // 2 + 1`` frequencies along the axis.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError, ValueError
        As :func:`fft`; complex arrays are a TypeError.
    """
    return along_one(np.fft.rfft, checked(x, "rfft", norm, real=True), n, axis, norm, half=True)


@host.served
def irfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the real numbers whose nonnegative half of frequencies is given.

    Parameters
    ----------
    x : Array
        Floating-point.
    n : int, optional
        How many numbers along the axis; ``2 * (m - 1)`` for ``m`` frequencies by default.
    axis, norm
        As for :func:`fft`.

    Returns
    -------
    Array
        Real, of the precision of ``x``.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError, ValueError
        As :func:`fft`.
    """
    return along_one(np.fft.irfft, checked(x, "irfft", norm), n, axis, norm, inverse=True)


@host.served
def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the Fourier transforms, which are real, of signals whose second half is implied.

    Parameters
    ----------
    x : Array
        Floating-point: the first half of a signal with ``x[-k] = conj(x[k])``.
    n, axis, norm
        As for :func:`irfft`.

    Returns
    -------
    Array
        Real, of the precision of ``x``.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError, ValueError
        As :func:`fft`.
    """
    return along_one(np.fft.hfft, checked(x, "hfft", norm), n, axis, norm, inverse=True)


@host.served
def ihfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: Norm = "backward") -> Array:
    """Return the first half of the inverse Fourier transforms of real numbers.

    Parameters
    ----------
    x : Array
        Real floating-point.
    n, axis, norm
        As for :func:`fft`.

    Returns
    -------
    Array
        Complex, of the precision of ``x``, with ``n // 2 + 1`` numbers along the axis.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError, ValueError
        As :func:`fft`; complex arrays are a TypeError.
    """
    return along_one(np.fft.ihfft, checked(x, "ihfft", norm, real=True), n, axis, norm, half=True)
