"""Arithmetic, element by element."""

from __future__ import annotations

from portarray.clarray.array import Array
from portarray.clarray.engine.elementwise import binary
from portarray.clarray.engine.operation import Operation, floating, integer

__all__ = ["add"]

_ADD = Operation("add", {**integer("(T)((U)a + (U)b)"), **floating("a + b")})


def add(x1: Array | complex, x2: Array | complex, /) -> Array:
    """Return the sums of two arrays' elements.

    Parameters
    ----------
    x1, x2 : Array or Python scalar
        Numeric, at least one an array; their shapes broadcast together.

    Returns
    -------
    Array
        Of the promoted dtype. Integers wrap; floating-point numbers are correctly rounded.

    Raises
    ------
    TypeError
        For bool arrays, and for what is neither array nor Python scalar.
    ValueError
        If the shapes do not broadcast, or the arrays are on two devices.
    """
    return binary(_ADD, x1, x2)
