"""Logic, element by element; numbers count as true where they are not zero."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Scalar


def logical_and(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Tell of each pair of elements whether both are true.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Truth values of any dtype, at least one an array; their shapes broadcast. NaN is true.

    Returns
    -------
    Array
        Booleans, of the broadcast shape.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.0, 0.5, 2.0])
    >>> pa.logical_and(x > 0, x < 1).tolist()
    [False, True, False]
    >>> pa.logical_and(pa.asarray([0.0, 2.0, pa.nan]), True).tolist()
    [False, True, True]
    """
    return call.binary("logical_and", x1, x2)


def logical_not(x: Array, /) -> Array:
    """Tell of each element whether it is false.

    Parameters
    ----------
    x : Array
        Truth values of any shape and dtype. NaN is true.

    Returns
    -------
    Array
        Booleans, of x's shape.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.logical_not(pa.asarray([0.0, -0.0, 2.0, pa.nan])).tolist()
    [True, True, False, False]
    """
    return call.unary("logical_not", x)


def logical_or(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Tell of each pair of elements whether at least one is true.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Truth values of any dtype, at least one an array; their shapes broadcast. NaN is true.

    Returns
    -------
    Array
        Booleans, of the broadcast shape.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.0, 0.5, 2.0])
    >>> pa.logical_or(x < 0, x > 1).tolist()
    [True, False, True]
    >>> pa.logical_or(pa.asarray([0, 3]), False).tolist()
    [False, True]
    """
    return call.binary("logical_or", x1, x2)


def logical_xor(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Tell of each pair of elements whether exactly one is true.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Truth values of any dtype, at least one an array; their shapes broadcast. NaN is true.

    Returns
    -------
    Array
        Booleans, of the broadcast shape.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.logical_xor(pa.asarray([True, True, False]), True).tolist()
    [False, False, True]
    """
    return call.binary("logical_xor", x1, x2)
