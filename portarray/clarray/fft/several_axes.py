"""Fourier transforms along several axes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from portarray.clarray.array import Array
from portarray.clarray.engine import host
from portarray.clarray.fft.transforms import Norm, along_several, checked

__all__ = ["fftn", "ifftn", "irfftn", "rfftn"]


@host.served
def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Return discrete Fourier transforms along several axes.

    Parameters
    ----------
    x : Array
        Floating-point.
    s : sequence of int, optional
        Along each of the axes ``x`` is cut or filled with zeros to so many samples.
    axes : sequence of int, optional
        Which; all by default.
    norm : {"backward", "ortho", "forward"}
        As for :func:`fft`.

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
        If ``s`` comes without axes or does not pair with them, there are no samples, or ``norm`` is
        another.
    """
    return along_several(np.fft.fftn, checked(x, "fftn", norm), s, axes, norm)


@host.served
def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Return inverse discrete Fourier transforms along several axes.

    Parameters
    ----------
    x, s, axes, norm
        As for :func:`fftn`.

    Returns
    -------
    Array
        Complex, of the precision of ``x``.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError, ValueError
        As :func:`fftn`.
    """
    return along_several(np.fft.ifftn, checked(x, "ifftn", norm), s, axes, norm)


@host.served
def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Return the Fourier transforms of real numbers along several axes, half of the last one.

    Parameters
    ----------
    x : Array
        Real floating-point.
    s, axes, norm
        As for :func:`fftn`.

    Returns
    -------
    Array
        Complex, of the precision of ``x``, with ``n // 2 + 1`` frequencies along the last axis.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError, ValueError
        As :func:`fftn`; complex arrays are a TypeError.
    """
    return along_several(np.fft.rfftn, checked(x, "rfftn", norm, real=True), s, axes, norm)


@host.served
def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: Norm = "backward",
) -> Array:
    """Return the real numbers whose frequencies, half of the last axis, are given.

    Parameters
    ----------
    x : Array
        Floating-point.
    s : sequence of int, optional
        Sizes of the result along the axes; ``2 * (m - 1)`` along the last by default.
    axes, norm
        As for :func:`fftn`.

    Returns
    -------
    Array
        Real, of the precision of ``x``.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError, ValueError
        As :func:`fftn`.
    """
    return along_several(np.fft.irfftn, checked(x, "irfftn", norm), s, axes, norm)
