"""Axes and elements in another order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Axes


def flip(x: Array, /, *, axis: Axes | None = None) -> Array:
    """Reverse the order of the elements along axes.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    axis : int or tuple of int, optional
        Axes to reverse; all of them by default.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`.

    Raises
    ------
    AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 2], [3, 4]])
    >>> pa.flip(x).tolist()
    [[4, 3], [2, 1]]
    >>> pa.flip(x, axis=1).tolist()
    [[2, 1], [4, 3]]
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.options("flip", x, axis=axis)


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Array:
    """Move axes to new places; the others keep their order.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    source : int or tuple of int
        Axes to move.
    destination : int or tuple of int
        Positions of the moved axes in the result.

    Returns
    -------
    Array
        Array with its axes reordered, a view where the library has views.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If an axis is named twice, or `source` and `destination` differ in length.

    Examples
    --------
    >>> import portarray as pa
    >>> images = pa.zeros((8, 32, 64, 3))
    >>> pa.moveaxis(images, -1, 1).shape
    (8, 3, 32, 64)
    >>> pa.moveaxis(images, (0, 1), (-1, -2)).shape
    (64, 3, 32, 8)
    """
    origin = arguments.axis_tuple(source, x, "source")
    target = arguments.axis_tuple(destination, x, "destination")
    if len(origin) != len(target):
        raise ValueError(
            f"moveaxis: source {source!r} and destination {destination!r} must have the same length"
        )
    return call.options("moveaxis", x, origin, target)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """Reorder the axes of an array.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    axes : sequence of int
        Every axis of `x` once, in the order they take in the result. Negative ones count from the
        end.

    Returns
    -------
    Array
        Array with its axes reordered, a view where the library has views.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `axes` is not a permutation of the axes of `x`.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.permute_dims(pa.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    order = arguments.axis_tuple(axes, x, "axes")
    if arguments.is_array(x) and len(order) != x.ndim:
        raise ValueError(f"permute_dims: axes {axes!r} must list each of {x.ndim} axes once")
    return call.options("permute_dims", x, axes=order)


def roll(x: Array, /, shift: int | Sequence[int], *, axis: Axes | None = None) -> Array:
    """Shift elements along axes; those that leave at one end come in at the other.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    shift : int or tuple of int
        By how many places, towards larger indices if positive. A tuple has a number for each of
        the axes.
    axis : int or tuple of int, optional
        Axes to shift along. By default the array is flattened, shifted and shaped back.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `shift` and `axis` differ in length.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.roll(pa.asarray([1, 2, 3]), 1).tolist()
    [3, 1, 2]
    """
    shifts = arguments.integers(shift, "shift")
    if axis is None:
        if len(shifts) != 1:
            raise ValueError(
                f"roll: shift {shift!r} needs axis=\nHint: pass an axis for each shift"
            )
        return call.options("roll", x, shift=shifts[0])
    # An axis may be named twice here: its shifts add up.
    normalized = tuple([arguments.axis(item, x) for item in arguments.integers(axis, "axis")])
    if len(shifts) == 1:
        shifts *= len(normalized)
    if len(shifts) != len(normalized):
        raise ValueError(
            f"roll: shift {shift!r} does not match axis {axis!r}\nHint: pass one shift, or one for "
            f"each axis"
        )
    return call.options("roll", x, shift=shifts, axis=normalized)
