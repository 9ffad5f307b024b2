"""The operations of arithmetic."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Real, Scalar


def add(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the sum of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Summands of any dtype, at least one an array; their shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote.

    Raises
    ------
    DeviceMismatchError
        If the arrays are on two devices.

    Notes
    -----
    Integers wrap around on overflow. Two booleans add to their logical or. Infinities of opposite
    sign add to NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.add(pa.asarray([[1], [2]]), pa.asarray([10, 20])).tolist()
    [[11, 21], [12, 22]]
    """
    return call.binary("add", x1, x2)


def divide(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the quotient of each pair of elements: true division.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Dividend and divisor, at least one an array; their shapes broadcast. Integers and booleans
        are converted to the device's default floating-point dtype.

    Returns
    -------
    Array
        The broadcast shape and the floating-point dtype to which both promote.

    See Also
    --------
    floor_divide : The quotient rounded down.

    Notes
    -----
    A nonzero number divided by zero is an infinity, whose sign counts the sign of the zero; zero
    by zero and infinity by infinity are NaN. Nothing is raised; devices of NumPy warn as
    :func:`numpy.errstate` says.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.divide(pa.asarray([1, 3, -4]), 2).tolist()
    [0.5, 1.5, -2.0]
    """
    return call.binary("divide", x1, x2)


def floor_divide(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return the quotient of each pair of elements, rounded towards negative infinity.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Dividend and divisor; integer or real floating-point, at least one an array; their shapes
        broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote.

    See Also
    --------
    remainder : What is left over.

    Notes
    -----
    Floating-point zero by zero is NaN, and another number by zero is an infinity or NaN. The
    standard leaves an integer divided by zero undefined, and an infinite dividend or divisor in
    part: devices may differ there.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.floor_divide(pa.asarray([7, -7]), 2).tolist()
    [3, -4]
    """
    return call.binary("floor_divide", x1, x2)


def multiply(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the product of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Factors of any dtype, at least one an array; their shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote.

    See Also
    --------
    matmul : The matrix product.

    Notes
    -----
    Integers wrap around on overflow. Two booleans multiply to their logical and. Zero times
    infinity is NaN. For complex factors with infinite parts devices may differ in which part of
    the product is NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.multiply(pa.asarray([[1], [2]]), pa.asarray([10, 20])).tolist()
    [[10, 20], [20, 40]]
    >>> pa.multiply(pa.asarray([15, 16], dtype=pa.uint8), 16).tolist()
    [240, 0]
    >>> pa.multiply(pa.asarray([True, False]), True).tolist()
    [True, False]
    """
    return call.binary("multiply", x1, x2)


def negative(x: Array, /) -> Array:
    """Return each element with its sign changed.

    Parameters
    ----------
    x : Array
        Numbers; any shape. Unsigned integers wrap around: ``2**bits - x``.

    Returns
    -------
    Array
        x's shape and dtype.

    Raises
    ------
    TypeError
        For booleans; :func:`logical_not` inverts them.

    Notes
    -----
    The most negative integer of a signed dtype has no positive counterpart; its result is
    undefined and may differ between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.negative(pa.asarray([1.5, 0.0])).tolist()
    [-1.5, -0.0]
    >>> pa.negative(pa.asarray([0, 1, 2], dtype=pa.uint8)).tolist()
    [0, 255, 254]
    """
    return call.unary("negative", x)


def positive(x: Array, /) -> Array:
    """Return each element as it is.

    Parameters
    ----------
    x : Array
        Any shape and dtype.

    Returns
    -------
    Array
        A new array with x's shape, dtype and elements.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1, -2])
    >>> y = pa.positive(x)
    >>> y[0] = 5
    >>> x.tolist(), y.tolist()
    ([1, -2], [5, -2])
    """
    return call.unary("positive", x)


def reciprocal(x: Array, /) -> Array:
    """Return one divided by each element.

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
    A zero gives infinity with the zero's sign, an infinity gives zero with its sign.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.reciprocal(pa.asarray([4.0, pa.inf, -pa.inf])).tolist()
    [0.25, 0.0, -0.0]
    >>> pa.reciprocal(pa.asarray([2, 4])).tolist()
    [0.5, 0.25]
    """
    return call.unary("reciprocal", x)


def remainder(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return the remainder of each division, with the divisor's sign: Python's ``%``.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Dividend and divisor; integer or real floating-point, at least one an array; their shapes
        broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote.

    See Also
    --------
    floor_divide : The quotient that belongs to it.

    Notes
    -----
    With floating-point numbers, a zero divisor and an infinite dividend give NaN; a finite
    dividend with an infinite divisor is the dividend where the signs agree, else the divisor.
    The standard leaves an integer modulo zero undefined: devices may differ there.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.remainder(pa.asarray([7, -7, 7]), pa.asarray([3, 3, -3])).tolist()
    [1, 2, -2]
    """
    return call.binary("remainder", x1, x2)


def subtract(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Return the difference of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Numbers, at least one of both an array; the second is taken from the first; their shapes
        broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote.

    Raises
    ------
    TypeError
        For two boolean operands; :func:`logical_xor` tells where they differ.

    Notes
    -----
    Integers wrap around on overflow. Infinities of equal sign differ by NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1, 4, 9])
    >>> pa.subtract(x[:, None], x).tolist()
    [[0, -3, -8], [3, 0, -5], [8, 5, 0]]
    >>> pa.subtract(pa.asarray([0], dtype=pa.uint8), 1).tolist()
    [255]
    """
    return call.binary("subtract", x1, x2)
