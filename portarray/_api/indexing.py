"""Indexing functions."""

from __future__ import annotations

from typing import Never

from portarray import _name_hints
from portarray._api import arguments
from portarray._array import call, operands
from portarray._array.array import Array


@_name_hints.hide_var_keywords
def take(x: Array, indices: Array, /, *, axis: int | None = None, **unknown: Never) -> Array:
    """Return the elements at given indices along an axis.

    Parameters
    ----------
    x : Array
        Array with at least one axis.
    indices : Array
        Integer array, usually 1-d. Negative indices count from the end.
    axis : int, optional
        Axis to select along. May be left out for a 1-d array only.

    Returns
    -------
    Array
        Array of the dtype of `x`; the axes of `indices` stand in the place of `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `axis` is missing for several axes.
    TypeError
        If `indices` is not an integer array.
    IndexError
        For an index out of bounds, on devices that check: those with their own memory may not,
        and then the element is not defined.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.take(pa.asarray([10, 20, 30]), pa.asarray([2, 0])).tolist()
    [30, 10]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(take, unknown)
    if axis is not None:
        axis = arguments.axis(axis, x)
    elif arguments.is_array(x) and x.ndim != 1:
        raise ValueError(f"take: axis is required for an array of {x.ndim} axes")
    if not arguments.is_array(indices) and arguments.is_array(x):
        indices = operands.from_scalar(indices, "take", x.device)
    arguments.indices(indices, "indices")
    return call.pair("take", x, indices, axis=axis)


def take_along_axis(x: Array, indices: Array, /, *, axis: int = -1) -> Array:
    """Return the elements at given indices along an axis, with indices of their own at each place.

    Parameters
    ----------
    x : Array
        Array with at least one axis.
    indices : Array
        Integer array with as many axes as `x`. But for `axis` its shape must broadcast with that
        of `x`. Negative indices count from the end.
    axis : int, default: -1
        Axis to select along.

    Returns
    -------
    Array
        Array of the dtype of `x`, of the broadcast shape, with the size of `indices` along `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If the numbers of axes differ.
    TypeError
        If `indices` is not an integer array.
    IndexError
        For an index out of bounds, on devices that check: those with their own memory may not,
        and then the element is not defined.

    See Also
    --------
    argsort : Its result, used as `indices`, gives the sorted array.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[3, 1, 2], [4, 6, 5]])
    >>> pa.take_along_axis(x, pa.argsort(x, axis=1), axis=1).tolist()
    [[1, 2, 3], [4, 5, 6]]
    >>> pa.take_along_axis(x, pa.argmax(x, axis=1, keepdims=True), axis=1).tolist()
    [[3], [6]]
    """
    axis = arguments.axis(axis, x)
    if not arguments.is_array(indices):
        raise operands.refused(indices, "take_along_axis", scalars=False)
    if arguments.is_array(x) and indices.ndim != x.ndim:
        raise ValueError(
            f"take_along_axis: x has {x.ndim} axes and indices has {indices.ndim}; "
            f"the numbers must be equal"
        )
    arguments.indices(indices, "indices")
    return call.pair("take_along_axis", x, indices, axis=axis)
