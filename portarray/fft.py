"""Discrete Fourier transforms: the standard's ``fft`` extension, complete.

The transform of ``n`` numbers is ``X[k] = sum(x[m] * exp(-2j * pi * k * m / n))`` over ``m``; the
inverse has the opposite sign in the exponent and, by default, divides by ``n``. `norm` moves that
factor: ``"backward"`` scales the inverse by ``1 / n``, ``"forward"`` the forward transform, and
``"ortho"`` both by ``1 / sqrt(n)``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numpy.exceptions import AxisError

from portarray._api import arguments
from portarray._array import call, dtypes

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import DeviceLike, DTypeLike, FftNorm

__all__ = [
    "fft",
    "ifft",
    "fftn",
    "ifftn",
    "rfft",
    "irfft",
    "rfftn",
    "irfftn",
    "hfft",
    "ihfft",
    "fftfreq",
    "rfftfreq",
    "fftshift",
    "ifftshift",
]

_NORMS = ("backward", "ortho", "forward")


def _one(name: str, x: Array, n: int | None, axis: int, norm: str) -> Array:
    """Transform along one axis, after checking what all transforms check."""
    axis = arguments.axis(axis, x)
    arguments.choice(norm, "norm", _NORMS)
    if n is not None and arguments.size(n, "n") == 0:
        raise ValueError("n is 0; a transform needs at least one element")
    return call.apply(name, (x,), n=n, axis=axis, norm=norm)


def _several(
    name: str, x: Array, s: Sequence[int] | None, axes: Sequence[int] | None, norm: str
) -> Array:
    """Transform along several axes, after checking what all transforms check."""
    arguments.choice(norm, "norm", _NORMS)
    options: dict[str, Any] = {"norm": norm}
    if s is not None:
        sizes = arguments.integers(s, "s")
        axes = tuple(range(-len(sizes), 0)) if axes is None else axes
        options["s"] = sizes
    if axes is None and getattr(x, "ndim", None) == 0:
        raise AxisError(f"{name} got a 0-d array, which has no axes to transform along")
    if axes is not None:
        places = tuple([arguments.axis(one, x) for one in arguments.integers(axes, "axes")])
        if s is not None and len(places) != len(sizes):
            raise ValueError(f"s={s!r} and axes={axes!r} must have the same length")
        options["axes"] = places
    return call.apply(name, (x,), **options)


def fft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: FftNorm = "backward",
) -> Array:
    """Transform along an axis.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    n : int, optional
        Number of elements to transform: `x` is cut, or padded with zeros, to it.
    axis : int, default: -1
        Axis to transform along.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        No factor, ``1 / sqrt(n)`` or ``1 / n``.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with `n` elements along `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `n` is less than 1 or `norm` is unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.fft.fft(pa.asarray([1.0, 0.0, 0.0])).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    return _one("fft.fft", x, n, axis, norm)


def ifft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: FftNorm = "backward",
) -> Array:
    """Invert :func:`fft`.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    n : int, optional
        Number of elements to transform: `x` is cut, or padded with zeros, to it.
    axis : int, default: -1
        Axis to transform along.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        Factor ``1 / n``, ``1 / sqrt(n)`` or none.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with `n` elements along `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `n` is less than 1 or `norm` is unknown.
    """
    return _one("fft.ifft", x, n, axis, norm)


def fftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: FftNorm = "backward",
) -> Array:
    """Transform along several axes.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    s : sequence of int, optional
        Numbers of elements to transform along `axes`: `x` is cut, or padded with zeros, to them;
        -1 keeps the size.
    axes : sequence of int, optional
        Axes to transform along, as many as `s` has sizes. By default the last ``len(s)``, or all
        of them.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        No factor, ``1 / sqrt(n)`` or ``1 / n``, where ``n`` is the product of the sizes.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with the sizes `s` along `axes`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `s` and `axes` differ in length or `norm` is unknown.
    """
    return _several("fft.fftn", x, s, axes, norm)


def ifftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: FftNorm = "backward",
) -> Array:
    """Invert :func:`fftn`.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    s : sequence of int, optional
        Numbers of elements to transform along `axes`: `x` is cut, or padded with zeros, to them;
        -1 keeps the size.
    axes : sequence of int, optional
        Axes to transform along, as many as `s` has sizes. By default the last ``len(s)``, or all
        of them.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        Factor ``1 / n``, ``1 / sqrt(n)`` or none, where ``n`` is the product of the sizes.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with the sizes `s` along `axes`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `s` and `axes` differ in length or `norm` is unknown.
    """
    return _several("fft.ifftn", x, s, axes, norm)


def rfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: FftNorm = "backward",
) -> Array:
    """Transform real numbers along an axis, and return the half that is not redundant.

    Parameters
    ----------
    x : Array
        Real array with at least one axis. Integers and booleans are converted to the device's
        default floating-point dtype first.
    n : int, optional
        Number of elements to transform: `x` is cut, or padded with zeros, to it.
    axis : int, default: -1
        Axis to transform along.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        No factor, ``1 / sqrt(n)`` or ``1 / n``.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with ``n // 2 + 1`` elements along `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `n` is less than 1 or `norm` is unknown.
    """
    return _one("fft.rfft", x, n, axis, norm)


def irfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: FftNorm = "backward",
) -> Array:
    """Invert :func:`rfft`.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    n : int, optional
        Number of elements of the *result* along `axis`; ``2 * (M - 1)`` by default, where ``M`` is
        the size of `x`. Of `x` the first ``n // 2 + 1`` are used, zeros if there are fewer.
    axis : int, default: -1
        Axis to transform along.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        Factor ``1 / n``, ``1 / sqrt(n)`` or none.

    Returns
    -------
    Array
        Real array of the precision of `x`, with `n` elements along `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `n` is less than 1 or `norm` is unknown.

    Notes
    -----
    Whether the original had an even or an odd size is not to be seen in `x`: pass `n` if it was
    odd. The imaginary parts of the first and, for an even `n`, last element are not used.
    """
    return _one("fft.irfft", x, n, axis, norm)


def rfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: FftNorm = "backward",
) -> Array:
    """Transform real numbers along several axes, and return the half that is not redundant.

    Parameters
    ----------
    x : Array
        Real array with at least one axis. Integers and booleans are converted to the device's
        default floating-point dtype first.
    s : sequence of int, optional
        Numbers of elements to transform along `axes`: `x` is cut, or padded with zeros, to them;
        -1 keeps the size.
    axes : sequence of int, optional
        Axes to transform along, as many as `s` has sizes. By default the last ``len(s)``, or all
        of them.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        No factor, ``1 / sqrt(n)`` or ``1 / n``, where ``n`` is the product of the sizes.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with the sizes `s` along `axes`, but
        ``s[-1] // 2 + 1`` along the last of them.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `s` and `axes` differ in length or `norm` is unknown.
    """
    return _several("fft.rfftn", x, s, axes, norm)


def irfftn(
    x: Array,
    /,
    *,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: FftNorm = "backward",
) -> Array:
    """Invert :func:`rfftn`.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    s : sequence of int, optional
        Numbers of elements of the *result* along `axes`, by default those of `x`, and
        ``2 * (M - 1)`` for the last. Of `x` as many as needed are used, zeros if there are fewer.
    axes : sequence of int, optional
        Axes to transform along, as many as `s` has sizes. By default the last ``len(s)``, or all
        of them.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        Factor ``1 / n``, ``1 / sqrt(n)`` or none, where ``n`` is the product of the sizes.

    Returns
    -------
    Array
        Real array of the precision of `x`, with the sizes `s` along `axes`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `s` and `axes` differ in length or `norm` is unknown.

    Notes
    -----
    Whether the original had an even or an odd size along the last axis is not to be seen in `x`:
    pass `s` if it was odd.
    """
    return _several("fft.irfftn", x, s, axes, norm)


def hfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: FftNorm = "backward",
) -> Array:
    """Transform a signal with Hermitian symmetry, given by its first half, to real numbers.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis. Integers and booleans are converted to the
        device's default floating-point dtype first.
    n : int, optional
        Number of elements of the *result* along `axis`; ``2 * (M - 1)`` by default, where ``M`` is
        the size of `x`. Of `x` the first ``n // 2 + 1`` are used, zeros if there are fewer.
    axis : int, default: -1
        Axis to transform along.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        No factor, ``1 / sqrt(n)`` or ``1 / n``.

    Returns
    -------
    Array
        Real array of the precision of `x`, with `n` elements along `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `n` is less than 1 or `norm` is unknown.
    """
    return _one("fft.hfft", x, n, axis, norm)


def ihfft(
    x: Array,
    /,
    *,
    n: int | None = None,
    axis: int = -1,
    norm: FftNorm = "backward",
) -> Array:
    """Invert :func:`hfft`.

    Parameters
    ----------
    x : Array
        Real array with at least one axis. Integers and booleans are converted to the device's
        default floating-point dtype first.
    n : int, optional
        Number of elements to transform: `x` is cut, or padded with zeros, to it.
    axis : int, default: -1
        Axis to transform along.
    norm : {"backward", "ortho", "forward"}, default: "backward"
        Factor ``1 / n``, ``1 / sqrt(n)`` or none.

    Returns
    -------
    Array
        Complex array of the precision of `x`, with ``n // 2 + 1`` elements along `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `n` is less than 1 or `norm` is unknown.
    """
    return _one("fft.ihfft", x, n, axis, norm)


def fftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return the frequencies that the elements of a transform belong to.

    Parameters
    ----------
    n : int
        Number of elements transformed.
    d : float, default: 1.0
        Distance between samples; the frequencies are in cycles per its unit.
    dtype : dtype, optional
        Real floating-point dtype of the result; the device's default one if None.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        1-d array of `n` frequencies: from 0 up, then the negative ones, the largest first in
        absolute value.

    Raises
    ------
    ValueError
        If `n` is less than 1.
    TypeError
        If `dtype` is not real floating-point.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.fft.fftfreq(4).tolist()
    [0.0, 0.25, -0.5, -0.25]
    """
    return _frequencies("fft.fftfreq", n, d, dtype, device)


def rfftfreq(
    n: int,
    /,
    *,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return the frequencies that the elements of a transform of real numbers belong to.

    Parameters
    ----------
    n : int
        Number of elements transformed.
    d : float, default: 1.0
        Distance between samples; the frequencies are in cycles per its unit.
    dtype : dtype, optional
        Real floating-point dtype of the result; the device's default one if None.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        1-d array of ``n // 2 + 1`` frequencies, from 0 up.

    Raises
    ------
    ValueError
        If `n` is less than 1.
    TypeError
        If `dtype` is not real floating-point.
    """
    return _frequencies("fft.rfftfreq", n, d, dtype, device)


def _frequencies(
    name: str, n: int, d: float, dtype: DTypeLike | None, device: DeviceLike | None
) -> Array:
    if arguments.size(n, "n") == 0:
        raise ValueError("n is 0; a transform needs at least one element")
    if dtype is not None and dtypes.kind_of(dtypes.canonical(dtype)) != "f":
        raise TypeError(f"{name} got dtype {dtype}; frequencies are real floating-point numbers")
    spacing = arguments.real_number(d, "d")
    return call.create(name, (n,), dtype=dtype, device=device, default="real floating", d=spacing)


def fftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Move the zero frequency to the middle.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    axes : int or sequence of int, optional
        Axes to shift along; all of them by default.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`, rolled by half its size along each axis.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    """
    if axes is not None:
        axes = arguments.axes(arguments.integers(axes, "axes"), x, name="axes")
    return call.apply("fft.fftshift", (x,), axes=axes)


def ifftshift(x: Array, /, *, axes: int | Sequence[int] | None = None) -> Array:
    """Invert :func:`fftshift`; for odd sizes the two differ by one place.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    axes : int or sequence of int, optional
        Axes to shift along; all of them by default.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`, rolled back along each axis.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    """
    if axes is not None:
        axes = arguments.axes(arguments.integers(axes, "axes"), x, name="axes")
    return call.apply("fft.ifftshift", (x,), axes=axes)
