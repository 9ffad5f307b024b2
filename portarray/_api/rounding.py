"""Rounding to integer values, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array


def ceil(x: Array, /) -> Array:
    """Return the least integer value not below each element.

    Parameters
    ----------
    x : Array
        Real; any shape.

    Returns
    -------
    Array
        x's shape and dtype. Zeros keep their sign, as do results that become zero; infinities and
        NaN stay.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.ceil(pa.asarray([-1.5, -0.5, 1.2])).tolist()
    [-1.0, -0.0, 2.0]
    >>> pa.ceil(pa.asarray([1, 2])).dtype
    dtype('int64')
    """
    return call.unary("ceil", x)


def floor(x: Array, /) -> Array:
    """Return the greatest integer value not above each element.

    Parameters
    ----------
    x : Array
        Real; any shape.

    Returns
    -------
    Array
        x's shape and dtype. Zeros keep their sign; infinities and NaN stay.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.floor(pa.asarray([-1.5, -0.0, 1.7, pa.inf])).tolist()
    [-2.0, -0.0, 1.0, inf]
    >>> pa.floor(pa.asarray([1, 2])).dtype
    dtype('int64')
    """
    return call.unary("floor", x)


def round(x: Array, /) -> Array:
    """Return the integer value nearest to each element, the even one of two equally near.

    Parameters
    ----------
    x : Array
        Any shape and dtype; the parts of complex numbers are rounded by themselves.

    Returns
    -------
    Array
        x's shape and dtype. Zeros keep their sign; infinities and NaN stay.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.round(pa.asarray([0.5, 1.5, 2.5])).tolist()
    [0.0, 2.0, 2.0]
    """
    return call.unary("round", x)


def trunc(x: Array, /) -> Array:
    """Return the integer value nearest to each element in the direction of zero.

    Parameters
    ----------
    x : Array
        Real; any shape.

    Returns
    -------
    Array
        x's shape and dtype. Zeros keep their sign, as do results that become zero; infinities and
        NaN stay.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.trunc(pa.asarray([-1.7, -0.5, 1.7])).tolist()
    [-1.0, -0.0, 1.0]
    >>> pa.trunc(pa.asarray([1, 2])).dtype
    dtype('int64')
    """
    return call.unary("trunc", x)
