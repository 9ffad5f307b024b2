"""Exponentials, logarithms, powers and roots, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Real, Scalar


def exp(x: Array, /) -> Array:
    """Return e to the power of each element.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; infinity on overflow, 0 for negative infinity.

    See Also
    --------
    expm1 : More precise near zero.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.exp(pa.asarray([0.0, pa.inf, -pa.inf])).tolist()
    [1.0, inf, 0.0]
    >>> round(float(pa.exp(pa.asarray(1))), 6)
    2.718282
    """
    return call.unary("exp", x)


def expm1(x: Array, /) -> Array:
    """Return ``exp(x) - 1`` of each element, precise for small ones too.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; -1 for negative infinity. Zeros keep their sign.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray(1e-20, dtype=pa.float64)
    >>> float(pa.exp(x) - 1), float(pa.expm1(x))
    (0.0, 1e-20)
    """
    return call.unary("expm1", x)


def log(x: Array, /) -> Array:
    """Return the natural logarithm of each element.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype.

    Notes
    -----
    Both zeros give negative infinity and negative real numbers NaN; nothing is raised, but devices
    of NumPy warn as :func:`numpy.errstate` says. A complex x has its branch cut on the negative
    real axis: the imaginary part is within [-π, π].

    Examples
    --------
    >>> import portarray as pa
    >>> pa.log(pa.asarray([1.0, pa.inf, pa.nan])).tolist()
    [0.0, inf, nan]
    """
    return call.unary("log", x)


def log1p(x: Array, /) -> Array:
    """Return the natural logarithm of ``1 + x`` of each element, precise for small ones too.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; negative infinity at -1 and NaN below. Zeros keep their
        sign.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray(1e-20, dtype=pa.float64)
    >>> float(pa.log(1 + x)), float(pa.log1p(x))
    (0.0, 1e-20)
    >>> pa.log1p(pa.asarray([-0.0, pa.inf])).tolist()
    [-0.0, inf]
    """
    return call.unary("log1p", x)


def log2(x: Array, /) -> Array:
    """Return the base-2 logarithm of each element.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; special values and branch cut as :func:`log` has them.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.log2(pa.asarray([1, 8, 1024])).tolist()
    [0.0, 3.0, 10.0]
    >>> pa.log2(pa.asarray([0.25, pa.inf])).tolist()
    [-2.0, inf]
    """
    return call.unary("log2", x)


def log10(x: Array, /) -> Array:
    """Return the base-10 logarithm of each element.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; special values and branch cut as :func:`log` has them.

    Examples
    --------
    >>> import portarray as pa
    >>> [round(v, 6) for v in pa.log10(pa.asarray([1, 20, 1000])).tolist()]
    [0.0, 1.30103, 3.0]
    >>> [round(v, 6) for v in pa.log10(pa.asarray([0.01, pa.inf])).tolist()]
    [-2.0, inf]
    """
    return call.unary("log10", x)


def logaddexp(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return ``log(exp(x1) + exp(x2))`` of each pair of elements, without overflow in between.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Logarithms of the summands; real, at least one an array; their shapes broadcast. Integers
        and booleans are converted to the device's default floating-point dtype.

    Returns
    -------
    Array
        The broadcast shape and the real floating-point dtype to which both promote. NaN if either
        is NaN, infinity if either is infinity; two negative infinities give negative infinity.

    Examples
    --------
    >>> import portarray as pa
    >>> log_p = pa.asarray([-1000.0, -pa.inf])
    >>> pa.exp(log_p).tolist()
    [0.0, 0.0]
    >>> [round(v, 6) for v in pa.logaddexp(log_p, log_p).tolist()]
    [-999.306853, -inf]
    """
    return call.binary("logaddexp", x1, x2)


def pow(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return each first element raised to the power of the second.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Base and exponent; numbers, at least one an array; their shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote: integers stay integers.

    Raises
    ------
    TypeError
        For two boolean operands.

    Notes
    -----
    Integers wrap around on overflow; a negative exponent of an integer is undefined by the
    standard, and devices may raise or give zero: convert the base to floating-point first. Any
    base to the power 0 is 1, even NaN; a negative real base with a fractional exponent gives NaN.
    Complex powers are ``exp(x2 * log(x1))`` and have the branch cut of :func:`log`.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.pow(pa.asarray([2, 3]), 3).tolist()
    [8, 27]
    """
    return call.binary("pow", x1, x2)


def sqrt(x: Array, /) -> Array:
    """Return the principal square root of each element.

    Parameters
    ----------
    x : Array
        Any shape. Integers and booleans are converted to the device's default floating-point
        dtype.

    Returns
    -------
    Array
        x's shape and floating-point dtype; NaN for negative real numbers.

    Notes
    -----
    -0.0 gives -0.0. A complex x has its branch cut on the negative real axis: the real part of the
    root is not negative.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.sqrt(pa.asarray([4.0, -0.0, pa.inf])).tolist()
    [2.0, -0.0, inf]

    A negative number has a root among the complex numbers:

    >>> complex(pa.sqrt(pa.asarray(-4 + 0j)))
    2j
    """
    return call.unary("sqrt", x)


def square(x: Array, /) -> Array:
    """Return the square of each element.

    Parameters
    ----------
    x : Array
        Any shape and dtype.

    Returns
    -------
    Array
        x's shape and dtype; integers wrap around on overflow.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.square(pa.asarray([3, -4])).tolist()
    [9, 16]
    >>> pa.square(pa.asarray([15, 16], dtype=pa.uint8)).tolist()
    [225, 0]
    """
    return call.unary("square", x)
