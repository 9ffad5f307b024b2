"""Fourier transforms, by NumPy on the host.

On devices that compute in host memory NumPy reads the arrays where they lie and writes into the
results' memory. Single precision stays single; float16 and bfloat16 are computed in float32.
Accuracy is pocketfft's: a few ``log2(n) * eps`` at the scale of the sum of the magnitudes. Sample
frequencies and shifts are computed on the device.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

import numpy as np

from portarray.clarray.arguments import (
    Axes,
    array_of,
    axes_of,
    axis_of,
    default_dtype,
    dtype_on,
    integer_of,
)
from portarray.clarray.arithmetic import divide
from portarray.clarray.array import Array
from portarray.clarray.creation import arange
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine import host
from portarray.clarray.manipulation import roll
from portarray.clarray.runtime.device import device_of

__all__ = [
    "fft",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfftn",
    "rfft",
    "rfftfreq",
    "rfftn",
]

Norm: TypeAlias = Literal["backward", "ortho", "forward"]
_NORMS = ("backward", "ortho", "forward")


def _checked(x: object, function: str, norm: str, real: bool = False) -> Array:
    """Return an argument that must be a floating-point array, a real one where that is asked."""
    found = array_of(x, function)
    kinds = ("real",) if real else ("real", "complex")
    if kind_of(found.dtype) not in kinds:
        wanted = "real floating-point" if real else "floating-point"
        raise TypeError(
            f"{function} takes {wanted} arrays, got dtype {found.dtype}; "
            + ("use fft" if real and found.dtype.kind == "c" else "convert with astype first")
        )
    if norm not in _NORMS:
        raise ValueError(f"{function}: norm is {norm!r}; use 'backward', 'ortho' or 'forward'")
    return found


def _results(x: Array, real: bool) -> np.dtype[Any]:
    """Return the dtype of results in the precision of an array."""
    double = x.dtype.itemsize == (16 if x.dtype.kind == "c" else 8)
    if real:
        return np.dtype(np.float64 if double else np.float32)
    return np.dtype(np.complex128 if double else np.complex64)


def _one(
    function: Callable[..., Any],
    x: Array,
    n: int | None,
    axis: int,
    norm: str,
    *,
    inverse: bool = False,
    half: bool = False,
) -> Array:
    """Return a transform along one axis.

    Parameters
    ----------
    function : callable
        NumPy's.
    x : Array
        What to transform.
    n : int, optional
        Length of the longer side.
    axis, norm
        As the public functions say.
    inverse : bool
        Whether results are real, and the longer side.
    half : bool
        Whether results are the shorter side.
    """
    name = function.__name__
    place = axis_of(axis, x.ndim)
    size = x.shape[place]
    length = (2 * (size - 1) if inverse else size) if n is None else integer_of(n, "n")
    if length < 1:
        raise ValueError(f"{name} needs at least one sample, got n={length} for shape {x.shape}")
    side = length // 2 + 1 if half else length
    shape = (*x.shape[:place], side, *x.shape[place + 1 :])

    def transform(out: np.ndarray[Any, Any], values: np.ndarray[Any, Any]) -> None:
        full = values.astype(np.float32) if values.dtype.itemsize == 2 else values
        found = function(full, n=length, axis=place, norm=norm, out=out)
        if found is not out:  # hfft takes ``out`` and leaves it alone, up to NumPy 2.4 at least
            out[...] = found

    return host.fill(shape, _results(x, inverse), x.device, transform, x)


def _several(
    function: Callable[..., Any],
    x: Array,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str,
) -> Array:
    """Return a transform along several axes, all by default."""
    name = function.__name__
    places = axes_of(axes, x.ndim, "axes")
    if s is not None:
        if axes is None:
            raise ValueError(f"{name}: s is {s!r}, but axes is None; name the axes it belongs to")
        if len(s) != len(places):
            raise ValueError(f"{name}: s is {s!r} and axes are {axes!r}; they must pair up")
        if any(integer_of(one, "s") < 1 for one in s):
            raise ValueError(f"{name} needs at least one sample along each axis, got s={s!r}")

    def transform(values: np.ndarray[Any, Any]) -> Any:
        full = values.astype(np.float32) if values.dtype.itemsize == 2 else values
        return function(full, s=s, axes=places, norm=norm)

    found: Array = host.run(transform, x)
    return found


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
    return _one(np.fft.fft, _checked(x, "fft", norm), n, axis, norm)


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
    return _one(np.fft.ifft, _checked(x, "ifft", norm), n, axis, norm)


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
    return _one(np.fft.rfft, _checked(x, "rfft", norm, real=True), n, axis, norm, half=True)


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
    return _one(np.fft.irfft, _checked(x, "irfft", norm), n, axis, norm, inverse=True)


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
    return _one(np.fft.hfft, _checked(x, "hfft", norm), n, axis, norm, inverse=True)


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
    return _one(np.fft.ihfft, _checked(x, "ihfft", norm, real=True), n, axis, norm, half=True)


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
    return _several(np.fft.fftn, _checked(x, "fftn", norm), s, axes, norm)


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
    return _several(np.fft.ifftn, _checked(x, "ifftn", norm), s, axes, norm)


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
    return _several(np.fft.rfftn, _checked(x, "rfftn", norm, real=True), s, axes, norm)


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
    return _several(np.fft.irfftn, _checked(x, "irfftn", norm), s, axes, norm)


def _frequencies(first: int, last: int, n: int, d: float, dtype: Any, device: object) -> Array:
    """Return the whole numbers from ``first`` to ``last``, divided by ``d * n``."""
    where = device_of(device)
    found = default_dtype(where, "real floating") if dtype is None else dtype_on(dtype, where)
    if kind_of(found) != "real":
        raise TypeError(f"sample frequencies are real numbers; dtype is {found}")
    return divide(arange(first, last, dtype=found, device=where), float(d * n))


def _samples(n: object, function: str) -> int:
    found = integer_of(n, "n")
    if found < 1:
        raise ValueError(f"{function} needs at least one sample, got n={found}")
    return found


def fftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Array:
    """Return the sample frequencies of :func:`fft`, in its order.

    Parameters
    ----------
    n : int
        How many samples.
    d : float, default: 1.0
        Time between samples; frequencies are in cycles per unit of it.
    dtype : dtype, optional
        Real; the device's default by default.
    device : device-like, optional
        Where the result is.

    Returns
    -------
    Array
        ``[0, 1, ..., (n-1)//2, -(n//2), ..., -1] / (d*n)``.

    Raises
    ------
    ValueError
        If there are no samples.
    TypeError
        If the dtype is not real.
    """
    n = _samples(n, "fftfreq")
    found = _frequencies(-(n // 2), (n + 1) // 2, n, d, dtype, device)
    return roll(found, -(n // 2))


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: Any = None, device: object = None) -> Array:
    """Return the sample frequencies of :func:`rfft`.

    Parameters
    ----------
    n, d, dtype, device
        As for :func:`fftfreq`.

    Returns
    -------
    Array
        ``[0, 1, ..., n//2] / (d*n)``.

    Raises
    ------
    ValueError, TypeError
        As :func:`fftfreq`.
    """
    n = _samples(n, "rfftfreq")
    return _frequencies(0, n // 2 + 1, n, d, dtype, device)


def fftshift(x: Array, /, *, axes: Axes | None = None) -> Array:
    """Return an array with frequency 0 moved to the middle.

    Parameters
    ----------
    x : Array
        Of any dtype.
    axes : int or sequence of int, optional
        Along which axes; all by default.

    Returns
    -------
    Array
        A new array of the shape and dtype of ``x``.

    Raises
    ------
    TypeError
        If the argument is no array.
    numpy.exceptions.AxisError
        If there is no such axis.
    """
    x = array_of(x, "fftshift")
    places = axes_of(axes, x.ndim, "axes")
    return roll(x, tuple(x.shape[axis] // 2 for axis in places), axis=places)


def ifftshift(x: Array, /, *, axes: Axes | None = None) -> Array:
    """Return an array with frequency 0 moved from the middle to the front.

    Parameters
    ----------
    x, axes
        As for :func:`fftshift`, which this undoes.

    Returns
    -------
    Array
        A new array of the shape and dtype of ``x``.

    Raises
    ------
    TypeError, numpy.exceptions.AxisError
        As :func:`fftshift`.
    """
    x = array_of(x, "ifftshift")
    places = axes_of(axes, x.ndim, "axes")
    return roll(x, tuple(-(x.shape[axis] // 2) for axis in places), axis=places)
