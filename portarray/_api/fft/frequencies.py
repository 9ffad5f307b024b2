"""Frequencies, and the order that transforms have them in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call, dtypes, slow_path
from portarray._array.array import Array

if TYPE_CHECKING:
    from portarray.typing import DeviceLike, DTypeLike


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike | None = None
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
    n: int, /, *, d: float = 1.0, dtype: DTypeLike | None = None, device: DeviceLike | None = None
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

    Examples
    --------
    >>> import portarray as pa
    >>> pa.fft.rfftfreq(4).tolist()
    [0.0, 0.25, 0.5]

    Of 8 samples taken every 0.125 s, in hertz:

    >>> pa.fft.rfftfreq(8, d=0.125).tolist()
    [0.0, 1.0, 2.0, 3.0, 4.0]
    """
    return _frequencies("fft.rfftfreq", n, d, dtype, device)


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

    Examples
    --------
    >>> import portarray as pa
    >>> pa.fft.fftshift(pa.fft.fftfreq(4, d=0.25)).tolist()
    [-2.0, -1.0, 0.0, 1.0]
    >>> pa.fft.fftshift(pa.asarray([0, 1, 2, -2, -1])).tolist()
    [-2, -1, 0, 1, 2]
    """
    if axes is not None:
        axes = arguments.axis_tuple(axes, x, "axes")
    elif arguments.is_array(x) and x.ndim == 0:
        return x.copy()
    return call.options("fft.fftshift", x, axes=axes)


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

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.fft.fftshift(pa.arange(5))
    >>> x.tolist()
    [3, 4, 0, 1, 2]
    >>> pa.fft.ifftshift(x).tolist()
    [0, 1, 2, 3, 4]
    """
    if axes is not None:
        axes = arguments.axis_tuple(axes, x, "axes")
    elif arguments.is_array(x) and x.ndim == 0:
        return x.copy()
    return call.options("fft.ifftshift", x, axes=axes)


def _frequencies(
    name: str, n: int, d: float, dtype: DTypeLike | None, device: DeviceLike | None
) -> Array:
    n = arguments.size(n, "n")
    if n == 0:
        raise ValueError(f"{name}: n must not be 0")
    if dtype is not None and dtypes.kind_of(dtypes.canonical(dtype)) != "f":
        raise TypeError(f"{name}: expected a real floating-point dtype, got {dtype}")
    spacing = arguments.real_number(d, "d")
    return slow_path.create(name, (n,), dtype=dtype, device=device, shape=(n,), d=spacing)
