"""Trigonometric and hyperbolic functions, element by element; angles are in radians."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Real


def acos(x: Array, /) -> Array:
    """Return the angle within [0, π] whose cosine each element is.

    Parameters
    ----------
    x : Array
        Cosines; any shape. Integers and booleans are converted to the device's default
        floating-point dtype.

    Returns
    -------
    Array
        Radians, of x's shape and floating-point dtype; NaN for real numbers beyond [-1, 1].

    Notes
    -----
    A complex x has its branch cuts on the real axis below -1 and above 1.

    Examples
    --------
    >>> import portarray as pa
    >>> degrees = pa.acos(pa.asarray([1.0, 0.5, 0.0, -1.0])) * 180 / pa.pi
    >>> pa.round(degrees).tolist()
    [0.0, 60.0, 90.0, 180.0]
    """
    return call.unary("acos", x)


def acosh(x: Array, /) -> Array:
    """Return the number that is not negative and whose hyperbolic cosine each element is.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; NaN for real numbers below 1.

    Notes
    -----
    A complex x has its branch cut on the real axis below 1; the imaginary part of the result is
    within [-π, π].

    Examples
    --------
    >>> import portarray as pa
    >>> pa.acosh(pa.asarray([1.0, pa.inf])).tolist()
    [0.0, inf]
    >>> round(float(pa.acosh(pa.cosh(pa.asarray(-2.0)))), 6)
    2.0
    """
    return call.unary("acosh", x)


def asin(x: Array, /) -> Array:
    """Return the angle within [-π/2, π/2] whose sine each element is.

    Parameters
    ----------
    x : Array
        Sines; any shape. Integers and booleans are converted to the device's default
        floating-point dtype.

    Returns
    -------
    Array
        Radians, of x's shape and floating-point dtype; NaN for real numbers beyond [-1, 1]. Zeros
        keep their sign.

    Notes
    -----
    A complex x has its branch cuts on the real axis below -1 and above 1.

    Examples
    --------
    >>> import portarray as pa
    >>> degrees = pa.asin(pa.asarray([-1.0, -0.0, 0.5, 1.0])) * 180 / pa.pi
    >>> pa.round(degrees).tolist()
    [-90.0, -0.0, 30.0, 90.0]
    """
    return call.unary("asin", x)


def asinh(x: Array, /) -> Array:
    """Return the number whose hyperbolic sine each element is.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype. Zeros and infinities keep their sign.

    Notes
    -----
    A complex x has its branch cuts on the imaginary axis below -1j and above 1j.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.asinh(pa.asarray([-0.0, -pa.inf])).tolist()
    [-0.0, -inf]
    >>> round(float(pa.asinh(pa.sinh(pa.asarray(-2.0)))), 6)
    -2.0
    """
    return call.unary("asinh", x)


def atan(x: Array, /) -> Array:
    """Return the angle within [-π/2, π/2] whose tangent each element is.

    Parameters
    ----------
    x : Array
        Tangents; any shape. Integers and booleans are converted to the device's default
        floating-point dtype.

    Returns
    -------
    Array
        Radians, of x's shape and floating-point dtype; ±π/2 for infinities. Zeros keep their sign.

    See Also
    --------
    atan2 : The angle of a point, in the right quadrant.

    Notes
    -----
    A complex x has its branch cuts on the imaginary axis below -1j and above 1j.

    Examples
    --------
    >>> import portarray as pa
    >>> degrees = pa.atan(pa.asarray([1.0, -0.0, pa.inf])) * 180 / pa.pi
    >>> pa.round(degrees).tolist()
    [45.0, -0.0, 90.0]
    """
    return call.unary("atan", x)


def atan2(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return the angle within [-π, π] of each point, seen from the origin.

    Parameters
    ----------
    x1, x2 : Array or scalar
        The points' y-coordinates, *then* their x-coordinates; real, at least one an array; their
        shapes broadcast. Integers and booleans are converted to the device's default
        floating-point dtype.

    Returns
    -------
    Array
        Radians, of the broadcast shape and the real floating-point dtype to which both promote.

    Notes
    -----
    The signs of zeros count: ``atan2(0.0, -1.0)`` is π and ``atan2(-0.0, -1.0)`` is -π. Infinite
    coordinates give the multiples of π/4 that are their limits.

    Examples
    --------
    >>> import portarray as pa
    >>> (4 / pa.pi * pa.atan2(pa.asarray([1.0, 1.0]), pa.asarray([1.0, -1.0]))).tolist()
    [1.0, 3.0]
    """
    return call.binary("atan2", x1, x2)


def atanh(x: Array, /) -> Array:
    """Return the number whose hyperbolic tangent each element is.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; infinities at -1 and 1, NaN for real numbers beyond.
        Zeros keep their sign.

    Notes
    -----
    A complex x has its branch cuts on the real axis below -1 and above 1.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.atanh(pa.asarray([-0.0, pa.nan])).tolist()
    [-0.0, nan]
    >>> round(float(pa.atanh(pa.tanh(pa.asarray(0.5)))), 6)
    0.5
    """
    return call.unary("atanh", x)


def cos(x: Array, /) -> Array:
    """Return the cosine of each element.

    Parameters
    ----------
    x : Array
        Radians; any shape. Integers and booleans are converted to the device's default
        floating-point dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; NaN for infinite angles.

    Examples
    --------
    >>> import portarray as pa
    >>> radians = pa.asarray([0, 60, 180]) * pa.pi / 180
    >>> [round(v, 6) for v in pa.cos(radians).tolist()]
    [1.0, 0.5, -1.0]
    """
    return call.unary("cos", x)


def cosh(x: Array, /) -> Array:
    """Return the hyperbolic cosine of each element.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; infinity for infinities of either sign.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.cosh(pa.asarray([0.0, -pa.inf])).tolist()
    [1.0, inf]
    >>> x = pa.asarray(2.0)
    >>> round(float(pa.cosh(x) ** 2 - pa.sinh(x) ** 2), 6)
    1.0
    """
    return call.unary("cosh", x)


def hypot(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return the distance of each point from the origin, ``sqrt(x1**2 + x2**2)``.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Coordinates; real, at least one an array; their shapes broadcast. Integers and booleans are
        converted to the device's default floating-point dtype.

    Returns
    -------
    Array
        The broadcast shape and the real floating-point dtype to which both promote.

    Notes
    -----
    The squares neither overflow nor underflow on the way. An infinite coordinate gives infinity,
    even with NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.hypot(pa.asarray([3.0, 5.0]), pa.asarray([4.0, 12.0])).tolist()
    [5.0, 13.0]
    """
    return call.binary("hypot", x1, x2)


def sin(x: Array, /) -> Array:
    """Return the sine of each element.

    Parameters
    ----------
    x : Array
        Radians; any shape. Integers and booleans are converted to the device's default
        floating-point dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; NaN for infinite angles. Zeros keep their sign.

    Examples
    --------
    >>> import portarray as pa
    >>> radians = pa.asarray([-0.0, 30.0, 90.0]) * pa.pi / 180
    >>> [round(v, 6) for v in pa.sin(radians).tolist()]
    [-0.0, 0.5, 1.0]
    """
    return call.unary("sin", x)


def sinh(x: Array, /) -> Array:
    """Return the hyperbolic sine of each element.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype. Zeros and infinities keep their sign.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.sinh(pa.asarray([-0.0, pa.inf, -pa.inf])).tolist()
    [-0.0, inf, -inf]
    >>> round(float(pa.sinh(pa.asarray(1))), 6)
    1.175201
    """
    return call.unary("sinh", x)


def tan(x: Array, /) -> Array:
    """Return the tangent of each element.

    Parameters
    ----------
    x : Array
        Radians; any shape. Integers and booleans are converted to the device's default
        floating-point dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; NaN for infinite angles. Zeros keep their sign.

    Examples
    --------
    >>> import portarray as pa
    >>> radians = pa.asarray([-0.0, 45.0, 60.0]) * pa.pi / 180
    >>> [round(v, 6) for v in pa.tan(radians).tolist()]
    [-0.0, 1.0, 1.732051]

    No floating-point number is exactly a right angle, so its tangent is finite:

    >>> bool(pa.isfinite(pa.tan(pa.asarray(pa.pi / 2))))
    True
    """
    return call.unary("tan", x)


def tanh(x: Array, /) -> Array:
    """Return the hyperbolic tangent of each element.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; ±1 for infinities. Zeros keep their sign.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.tanh(pa.asarray([-pa.inf, -0.0, 100.0])).tolist()
    [-1.0, -0.0, 1.0]
    """
    return call.unary("tanh", x)
