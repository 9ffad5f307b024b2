"""Sums, products and extremes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from portarray import _name_hints
from portarray._api.reductions import reduced
from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Axes, DTypeLike


@_name_hints.hide_var_keywords
def max(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, **unknown: Never
) -> Array:
    """Return the largest element.

    Parameters
    ----------
    x : Array
        Boolean or real array.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    keepdims : bool, default: False
        Whether the reduced axes stay, with size 1.

    Returns
    -------
    Array
        Array of the dtype of `x` without the reduced axes.

    Raises
    ------
    ValueError
        If there is no element to choose from.
    AxisError
        If `x` has no such axis.
    TypeError
        If `x` is complex: complex numbers have no order.

    Notes
    -----
    A NaN among the elements makes the result NaN. Which of 0.0 and -0.0 is returned may differ
    between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 7], [5, 2]])
    >>> int(pa.max(x)), pa.max(x, axis=0).tolist()
    (7, [5, 7])
    >>> float(pa.max(pa.asarray([1.0, pa.nan])))
    nan
    """
    if unknown:
        raise _name_hints.unexpected_keyword(max, unknown)
    if axis is None and keepdims is False:
        return call.unary("max", x)
    return reduced("max", x, axis, keepdims)


@_name_hints.hide_var_keywords
def min(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, **unknown: Never
) -> Array:
    """Return the smallest element.

    Parameters
    ----------
    x : Array
        Boolean or real array.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    keepdims : bool, default: False
        Whether the reduced axes stay, with size 1.

    Returns
    -------
    Array
        Array of the dtype of `x` without the reduced axes.

    Raises
    ------
    ValueError
        If there is no element to choose from.
    AxisError
        If `x` has no such axis.
    TypeError
        If `x` is complex: complex numbers have no order.

    Notes
    -----
    A NaN among the elements makes the result NaN. Which of 0.0 and -0.0 is returned may differ
    between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 7], [5, 2]])
    >>> int(pa.min(x)), pa.min(x, axis=1, keepdims=True).tolist()
    (1, [[1], [2]])
    >>> float(pa.min(pa.asarray([1.0, pa.nan])))
    nan
    """
    if unknown:
        raise _name_hints.unexpected_keyword(min, unknown)
    if axis is None and keepdims is False:
        return call.unary("min", x)
    return reduced("min", x, axis, keepdims)


@_name_hints.hide_var_keywords
def prod(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    **unknown: Never,
) -> Array:
    """Multiply the elements.

    Parameters
    ----------
    x : Array
        Array of any dtype; booleans count as integers.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    dtype : dtype, optional
        Dtype to convert the elements to, compute in and return. By default that of `x`, but narrow
        integers are widened to the device's default integer (unsigned ones to the unsigned dtype of
        that width).
    keepdims : bool, default: False
        Whether the reduced axes stay, with size 1.

    Returns
    -------
    Array
        Array without the reduced axes. The product of no elements is 1.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    TypeError
        If `dtype` is bool, or real where `x` is complex.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.prod(pa.asarray([[1, 2], [3, 4]]), axis=1).tolist()
    [2, 12]
    >>> x = pa.asarray([100, 100], dtype=pa.int8)
    >>> int(pa.prod(x)), int(pa.prod(x, dtype=pa.int8))
    (10000, 16)
    >>> float(pa.prod(pa.zeros(0)))
    1.0
    """
    if unknown:
        raise _name_hints.unexpected_keyword(prod, unknown)
    if axis is None and dtype is None and keepdims is False:
        return call.unary("prod", x)
    return reduced("prod", x, axis, keepdims, dtype)


@_name_hints.hide_var_keywords
def sum(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
    **unknown: Never,
) -> Array:
    """Add the elements.

    Parameters
    ----------
    x : Array
        Array of any dtype; booleans are counted.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    dtype : dtype, optional
        Dtype to convert the elements to, compute in and return. By default that of `x`, but narrow
        integers are widened to the device's default integer (unsigned ones to the unsigned dtype of
        that width).
    keepdims : bool, default: False
        Whether the reduced axes stay, with size 1.

    Returns
    -------
    Array
        Array without the reduced axes. The sum of no elements is 0.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    TypeError
        If `dtype` is bool, or real where `x` is complex.

    Notes
    -----
    Devices add in different orders, so floating-point sums may differ in their last bits.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.sum(pa.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(sum, unknown)
    if axis is None and dtype is None and keepdims is False:
        return call.unary("sum", x)
    return reduced("sum", x, axis, keepdims, dtype)
