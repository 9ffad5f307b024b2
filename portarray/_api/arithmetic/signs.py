"""Magnitudes, signs and neighbours of numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Real


def abs(x: Array, /) -> Array:
    """Return the magnitude of each element.

    Parameters
    ----------
    x : Array
        Any shape and dtype.

    Returns
    -------
    Array
        x's shape and dtype, but the real dtype of the same precision for a complex x.

    Notes
    -----
    The magnitude of a complex number with an infinite part is infinity, even if the other is NaN.
    The most negative integer of a signed dtype has no positive counterpart; its result is
    undefined and may differ between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.abs(pa.asarray([3 - 4j, -1])).tolist()
    [5.0, 1.0]
    """
    return call.unary("abs", x)


def copysign(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return the magnitude of each first element with the sign of the second.

    Parameters
    ----------
    x1 : Array or scalar
        Magnitudes; real. Integers and booleans are converted to the device's default
        floating-point dtype.
    x2 : Array or scalar
        Signs; real, at least one of both an array; the shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the real floating-point dtype to which both promote.

    See Also
    --------
    sign : -1, 0 or 1.
    signbit : Whether the sign is negative.

    Notes
    -----
    The signs of zeros and NaNs count: ``copysign(1.0, -0.0)`` is -1.0.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.copysign(pa.asarray([1.0, -2.0, 3.0]), pa.asarray([-0.0, 5.0, -5.0])).tolist()
    [-1.0, 2.0, -3.0]
    """
    return call.binary("copysign", x1, x2)


def nextafter(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return the representable number next to each first element, towards the second.

    Parameters
    ----------
    x1 : Array or scalar
        Where to start; real. Integers and booleans are converted to the device's default
        floating-point dtype.
    x2 : Array or scalar
        Where to go; real, at least one of both an array; the shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the real floating-point dtype to which both promote. Equal elements
        give x2's element, so that the sign of a zero follows x2; NaN gives NaN.

    Notes
    -----
    The neighbour of zero is subnormal: a device that flushes subnormal numbers gives zero.

    Examples
    --------
    >>> import portarray as pa
    >>> (pa.nextafter(pa.asarray(1.0), 2.0) > 1.0).tolist()
    True
    """
    return call.binary("nextafter", x1, x2)


def sign(x: Array, /) -> Array:
    """Return the sign of each element: -1, 0 or 1, and ``x / abs(x)`` for complex numbers.

    Parameters
    ----------
    x : Array
        Numbers; any shape.

    Returns
    -------
    Array
        x's shape and dtype; NaN for NaN.

    Raises
    ------
    TypeError
        For booleans, which have no sign.

    See Also
    --------
    signbit : Tells negative zero from positive zero.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.sign(pa.asarray([-3.5, 0.0, pa.nan])).tolist()
    [-1.0, 0.0, nan]
    >>> complex(pa.sign(pa.asarray(4j)))
    1j
    """
    return call.unary("sign", x)


def signbit(x: Array, /) -> Array:
    """Tell of each element whether its sign bit is set: negative numbers, -0.0, negative NaN.

    Parameters
    ----------
    x : Array
        Real; any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        Booleans, of x's shape.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.signbit(pa.asarray([0.0, -0.0, -1.0])).tolist()
    [False, True, True]
    """
    return call.unary("signbit", x)
