"""Sorting functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from portarray import _name_hints
from portarray._api import arguments
from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array


@_name_hints.hide_var_keywords
def argsort(
    x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **unknown: Never
) -> Array:
    """Return the indices that sort an array along an axis.

    Parameters
    ----------
    x : Array
        Boolean or real array with at least one axis.
    axis : int, default: -1
        Axis to sort along.
    descending : bool, default: False
        Whether the largest element comes first.
    stable : bool, default: True
        Whether equal elements keep their order, in both directions. With False they may.

    Returns
    -------
    Array
        Indices of the shape of `x`, in the device's index dtype.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    TypeError
        If `x` is complex: complex numbers have no order.

    See Also
    --------
    sort : Return the sorted elements.
    searchsorted : Find places in a sorted array.

    Notes
    -----
    The standard leaves the place of NaN open; it comes last in ascending order on every device.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.argsort(pa.asarray([2.0, pa.nan, 1.0])).tolist()
    [2, 0, 1]
    >>> x = pa.asarray([3, 1, 3])
    >>> pa.argsort(x, descending=True).tolist()
    [0, 2, 1]
    >>> pa.take(x, pa.argsort(x)).tolist()
    [1, 3, 3]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(argsort, unknown)
    axis = arguments.axis(axis, x)
    if descending is not False:
        descending = arguments.flag(descending, "descending")
    if stable is not True:
        stable = arguments.flag(stable, "stable")
    return call.options("argsort", x, axis=axis, descending=descending, stable=stable)


@_name_hints.hide_var_keywords
def sort(
    x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True, **unknown: Never
) -> Array:
    """Return a sorted copy of an array.

    Parameters
    ----------
    x : Array
        Boolean or real array with at least one axis.
    axis : int, default: -1
        Axis to sort along.
    descending : bool, default: False
        Whether the largest element comes first.
    stable : bool, default: True
        Whether equal elements keep their order. With False they may.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    TypeError
        If `x` is complex: complex numbers have no order.

    See Also
    --------
    argsort : Return the indices that sort.

    Notes
    -----
    The standard leaves the place of NaN open; it comes last in ascending order on every device.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.sort(pa.asarray([3, 1, 2]), descending=True).tolist()
    [3, 2, 1]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(sort, unknown)
    axis = arguments.axis(axis, x)
    if descending is not False:
        descending = arguments.flag(descending, "descending")
    if stable is not True:
        stable = arguments.flag(stable, "stable")
    return call.options("sort", x, axis=axis, descending=descending, stable=stable)
