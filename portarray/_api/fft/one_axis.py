"""Transforms along one axis."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call
from portarray._array.array import Array
from portarray._dispatch import argument_rules

if TYPE_CHECKING:
    from portarray.typing import FftNorm

NORMS = ("backward", "ortho", "forward")
"""What takes the factor of a transform and its inverse; :mod:`portarray.fft` says how."""


def fft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward") -> Array:
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
        If `x` has no element along the axis, `n` is less than 1 or `norm` is unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.fft.fft(pa.asarray([1.0, 0.0, 0.0])).tolist()
    [(1+0j), (1+0j), (1+0j)]
    """
    return _along_axis("fft.fft", x, n, axis, norm)


def ifft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward") -> Array:
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
        If `x` has no element along the axis, `n` is less than 1 or `norm` is unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1.0, 2.0, 3.0, 4.0])
    >>> y = pa.fft.ifft(pa.fft.fft(x))
    >>> y.dtype, pa.round(pa.real(y)).tolist()
    (dtype('complex128'), [1.0, 2.0, 3.0, 4.0])
    """
    return _along_axis("fft.ifft", x, n, axis, norm)


def rfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward") -> Array:
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
        If `x` has no element along the axis, `n` is less than 1 or `norm` is unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1.0, 0.0, 0.0, 0.0])
    >>> pa.fft.fft(x).shape, pa.fft.rfft(x).shape
    ((4,), (3,))
    >>> pa.real(pa.fft.rfft(x)).tolist()
    [1.0, 1.0, 1.0]
    """
    return _along_axis("fft.rfft", x, n, axis, norm)


def irfft(
    x: Array, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward"
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
        If `x` has no element along the axis, `n` is less than 1 or `norm` is unknown.

    Notes
    -----
    Whether the original had an even or an odd size is not to be seen in `x`: pass `n` if it was
    odd. The imaginary parts of the first and, for an even `n`, last element are not used.

    Examples
    --------
    >>> import portarray as pa
    >>> half = pa.fft.rfft(pa.asarray([1.0, 2.0, 3.0, 4.0, 5.0]))
    >>> pa.round(pa.fft.irfft(half, n=5)).tolist()
    [1.0, 2.0, 3.0, 4.0, 5.0]
    >>> pa.fft.irfft(half).shape
    (4,)
    """
    return _along_axis("fft.irfft", x, n, axis, norm)


def hfft(x: Array, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward") -> Array:
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
        If `x` has no element along the axis, `n` is less than 1 or `norm` is unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.fft.hfft(pa.asarray([1.0, 2.0, 3.0])).tolist()
    [8.0, -2.0, 0.0, -2.0]
    >>> pa.real(pa.fft.fft(pa.asarray([1.0, 2.0, 3.0, 2.0]))).tolist()
    [8.0, -2.0, 0.0, -2.0]
    """
    return _along_axis("fft.hfft", x, n, axis, norm)


def ihfft(
    x: Array, /, *, n: int | None = None, axis: int = -1, norm: FftNorm = "backward"
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
        If `x` has no element along the axis, `n` is less than 1 or `norm` is unknown.

    Examples
    --------
    >>> import portarray as pa
    >>> half = pa.fft.ihfft(pa.asarray([8.0, -2.0, 0.0, -2.0]))
    >>> half.dtype, pa.real(half).tolist()
    (dtype('complex128'), [1.0, 2.0, 3.0])
    """
    return _along_axis("fft.ihfft", x, n, axis, norm)


def _along_axis(name: str, x: Array, n: int | None, axis: int, norm: str) -> Array:
    """Transform along one axis, after checking what all transforms check."""
    axis = arguments.axis(axis, x)
    if norm not in NORMS:
        arguments.choice(norm, "norm", NORMS)
    if n is not None:
        n = arguments.size(n, "n")
    if type(x) is Array:
        argument_rules.check_transformed(name, x.shape, n, axis)
    return call.options(name, x, n=n, axis=axis, norm=norm)
