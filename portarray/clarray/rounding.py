"""Rounding to integers, element by element. Integers stay as they are; every result is exact."""

from __future__ import annotations

from portarray.clarray.array import Array
from portarray.clarray.engine.elementwise import unary
from portarray.clarray.engine.operation import Operation, integer

__all__ = ["ceil", "floor", "round", "trunc"]

_CEIL = Operation("ceil", {**integer("a"), "real": "ceil(a)"})
_FLOOR = Operation("floor", {**integer("a"), "real": "floor(a)"})
_ROUND = Operation(
    "round", {**integer("a"), "real": "rint(a)", "complex": "(C)(rint(a.x), rint(a.y))"}
)
_TRUNC = Operation("trunc", {**integer("a"), "real": "trunc(a)"})


def ceil(x: Array, /) -> Array:
    """Return the smallest integers that are not below the elements.

    Parameters
    ----------
    x : Array
        Real-valued.

    Returns
    -------
    Array
        Of the dtype of ``x``.

    Raises
    ------
    TypeError
        For arrays of other dtypes, and for what is no array.
    """
    return unary(_CEIL, x)


def floor(x: Array, /) -> Array:
    """Return the largest integers that are not above the elements.

    Parameters
    ----------
    x : Array
        Real-valued.

    Returns
    -------
    Array
        Of the dtype of ``x``.

    Raises
    ------
    TypeError
        For arrays of other dtypes, and for what is no array.
    """
    return unary(_FLOOR, x)


def round(x: Array, /) -> Array:
    """Return the nearest integers; the even one of two that are equally near.

    Parameters
    ----------
    x : Array
        Numeric; of complex numbers both parts are rounded.

    Returns
    -------
    Array
        Of the dtype of ``x``.

    Raises
    ------
    TypeError
        For arrays of other dtypes, and for what is no array.
    """
    return unary(_ROUND, x)


def trunc(x: Array, /) -> Array:
    """Return the elements without their fractions.

    Parameters
    ----------
    x : Array
        Real-valued.

    Returns
    -------
    Array
        Of the dtype of ``x``.

    Raises
    ------
    TypeError
        For arrays of other dtypes, and for what is no array.
    """
    return unary(_TRUNC, x)
