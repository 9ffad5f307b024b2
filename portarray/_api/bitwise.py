"""Operations on the bits of integers, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array


def bitwise_and(x1: Array | int, x2: Array | int, /) -> Array:
    """Return the bits that are set in both elements of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Integers or booleans, at least one an array; their shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote.

    Raises
    ------
    TypeError
        For floating-point operands.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.bitwise_and(pa.asarray([0b1100, 0b1011]), 0b1010).tolist()
    [8, 10]
    >>> pa.bitwise_and(pa.asarray([1, 2, 3, 4]), 1).tolist()
    [1, 0, 1, 0]
    """
    return call.binary("bitwise_and", x1, x2)


def bitwise_invert(x: Array, /) -> Array:
    """Return each element with every bit flipped; booleans are negated.

    Parameters
    ----------
    x : Array
        Integers or booleans; any shape.

    Returns
    -------
    Array
        x's shape and dtype: ``-x - 1`` for signed integers.

    Raises
    ------
    TypeError
        For floating-point elements.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.bitwise_invert(pa.asarray([0, 5, -1])).tolist()
    [-1, -6, 0]
    >>> pa.bitwise_invert(pa.asarray([0, 5], dtype=pa.uint8)).tolist()
    [255, 250]
    >>> pa.bitwise_invert(pa.asarray([True, False])).tolist()
    [False, True]
    """
    return call.unary("bitwise_invert", x)


def bitwise_left_shift(x1: Array | int, x2: Array | int, /) -> Array:
    """Return the bits of each first element moved up by the second; zeros follow.

    Parameters
    ----------
    x1 : Array or int
        Integers.
    x2 : Array or int
        How many places, not negative; at least one of both an array; the shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote; bits beyond its width are lost.

    Raises
    ------
    TypeError
        For operands that are not integers.

    Notes
    -----
    The standard leaves shifts by a negative number, or by the width or more, undefined: devices
    may differ there.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.bitwise_left_shift(pa.asarray([1, 3]), 4).tolist()
    [16, 48]
    """
    return call.binary("bitwise_left_shift", x1, x2)


def bitwise_or(x1: Array | int, x2: Array | int, /) -> Array:
    """Return the bits that are set in either element of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Integers or booleans, at least one an array; their shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote.

    Raises
    ------
    TypeError
        For floating-point operands.

    Examples
    --------
    >>> import portarray as pa
    >>> bin(int(pa.bitwise_or(pa.asarray(0b1100), 0b1010)))
    '0b1110'
    >>> pa.bitwise_or(pa.asarray([True, False]), False).tolist()
    [True, False]
    """
    return call.binary("bitwise_or", x1, x2)


def bitwise_right_shift(x1: Array | int, x2: Array | int, /) -> Array:
    """Return the bits of each first element moved down by the second, keeping its sign.

    Parameters
    ----------
    x1 : Array or int
        Integers.
    x2 : Array or int
        How many places, not negative; at least one of both an array; the shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote: ``floor(x1 / 2**x2)``.

    Raises
    ------
    TypeError
        For operands that are not integers.

    Notes
    -----
    The standard leaves shifts by a negative number, or by the width or more, undefined: devices
    may differ there.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.bitwise_right_shift(pa.asarray([48, -5]), 1).tolist()
    [24, -3]
    """
    return call.binary("bitwise_right_shift", x1, x2)


def bitwise_xor(x1: Array | int, x2: Array | int, /) -> Array:
    """Return the bits that differ between the elements of each pair.

    Parameters
    ----------
    x1, x2 : Array, int or bool
        Integers or booleans, at least one an array; their shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote.

    Raises
    ------
    TypeError
        For floating-point operands.

    Examples
    --------
    >>> import portarray as pa
    >>> bin(int(pa.bitwise_xor(pa.asarray(0b1100), 0b1010)))
    '0b110'
    >>> x = pa.asarray([3, 14, 15])
    >>> pa.bitwise_xor(pa.bitwise_xor(x, 42), 42).tolist()
    [3, 14, 15]
    """
    return call.binary("bitwise_xor", x1, x2)
