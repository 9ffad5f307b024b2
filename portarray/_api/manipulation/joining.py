"""Arrays joined, split and repeated."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Never

from portarray import _name_hints
from portarray._api import arguments
from portarray._array import call, operands, slow_path
from portarray._array.array import Array

if TYPE_CHECKING:
    from portarray.typing import ShapeLike


@_name_hints.hide_var_keywords
def concat(arrays: Sequence[Array], /, *, axis: int | None = 0, **unknown: Never) -> Array:
    """Join arrays along an axis that they have.

    Parameters
    ----------
    arrays : sequence of Array
        At least one array. But for `axis` their shapes are equal. They are promoted together.
    axis : int or None, default: 0
        Axis to join along. None flattens the arrays first.

    Returns
    -------
    Array
        The joined array.

    Raises
    ------
    ValueError
        If there are no arrays, or their shapes do not fit.
    AxisError
        If the arrays have no such axis; 0-d arrays have none.

    See Also
    --------
    stack : Join along a new axis.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.concat([pa.asarray([1, 2]), pa.asarray([3])]).tolist()
    [1, 2, 3]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(concat, unknown)
    arrays = _joinable(arrays, "concat")
    if axis is not None:
        axis = arguments.axis(axis, arrays[0])
        ndim = arrays[0].ndim
        for x in arrays:
            if x.ndim != ndim:
                counts = ", ".join(str(x.ndim) for x in arrays)
                raise ValueError(f"concat: arrays have {counts} axes; the numbers must be equal")
    return call.joined("concat", arrays, axis=axis)


@_name_hints.hide_var_keywords
def stack(arrays: Sequence[Array], /, *, axis: int = 0, **unknown: Never) -> Array:
    """Join arrays along a new axis.

    Parameters
    ----------
    arrays : sequence of Array
        At least one array. All have one shape. They are promoted together.
    axis : int, default: 0
        Position of the new axis in the result.

    Returns
    -------
    Array
        Array with one more axis, of the number of arrays.

    Raises
    ------
    ValueError
        If there are no arrays, or their shapes differ.
    AxisError
        If the result has no such axis.

    See Also
    --------
    concat : Join along an axis that the arrays have.
    unstack : The inverse.

    Examples
    --------
    >>> import portarray as pa
    >>> x, y = pa.asarray([1, 2, 3]), pa.asarray([4, 5, 6])
    >>> pa.stack([x, y]).tolist()
    [[1, 2, 3], [4, 5, 6]]
    >>> pa.stack([x, y], axis=-1).tolist()
    [[1, 4], [2, 5], [3, 6]]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(stack, unknown)
    arrays = _joinable(arrays, "stack")
    axis = arguments.axis(axis, arrays[0], extra=1)
    return call.joined("stack", arrays, axis=axis)


def unstack(x: Array, /, *, axis: int = 0) -> tuple[Array, ...]:
    """Split an array along an axis into arrays without it.

    Parameters
    ----------
    x : Array
        Array with at least one axis.
    axis : int, default: 0
        Axis to split along.

    Returns
    -------
    tuple of Array
        As many arrays as the axis is long, views where the library has views.

    Raises
    ------
    AxisError
        If `x` has no such axis.

    See Also
    --------
    stack : The inverse.

    Examples
    --------
    >>> import portarray as pa
    >>> x, y = pa.unstack(pa.asarray([[1, 4], [2, 5], [3, 6]]), axis=1)
    >>> x.tolist(), y.tolist()
    ([1, 2, 3], [4, 5, 6])
    """
    axis = arguments.axis(axis, x)
    return call.several("unstack", x, axis=axis)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    repeats : int or Array
        How often: one number for all, or a 1-d integer array with a number for each element along
        `axis`.
    axis : int, optional
        Axis to repeat along. By default `x` is flattened first.

    Returns
    -------
    Array
        Array of the dtype of `x`, longer along `axis`.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If `repeats` is negative, or is an array of the wrong size.

    See Also
    --------
    tile : Repeat the array as a whole.

    Notes
    -----
    With an array of repeats the size of the result depends on data, so a device must be waited
    for.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.repeat(pa.asarray([1, 2]), pa.asarray([3, 1])).tolist()
    [1, 1, 1, 2]
    """
    if axis is not None:
        axis = arguments.axis(axis, x)
    if type(repeats) is Array:
        arguments.indices(repeats, "repeats")
    else:
        repeats = arguments.size(repeats, "repeats")
        slow_path.check_countable("repeat", x, (repeats,), times=True)
        return call.options("repeat", x, repeats, axis=axis)
    return slow_path.apply("repeat", (x, repeats), axis=axis)


def tile(x: Array, repetitions: ShapeLike, /) -> Array:
    """Tile copies of an array along its axes.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    repetitions : int or sequence of int
        How often along each axis. If there are fewer than axes they are those of the last axes; if
        there are more, `x` gets axes of size 1 in front.

    Returns
    -------
    Array
        Array of the dtype of `x`.

    Raises
    ------
    ValueError
        If a number is negative.

    See Also
    --------
    repeat : Repeat each element.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.tile(pa.asarray([1, 2]), (2, 2)).tolist()
    [[1, 2, 1, 2], [1, 2, 1, 2]]
    """
    counts = arguments.integers(repetitions, "repetitions")
    if counts and min(counts) < 0:
        raise ValueError(f"tile: repetitions must not be negative, got {repetitions!r}")
    slow_path.check_countable("tile", x, counts, times=True)
    return call.options("tile", x, counts)


def _joinable(arrays: Sequence[Array], function: str) -> Sequence[Array]:
    if not isinstance(arrays, (list, tuple)):
        arrays = list(arrays)
    if not arrays:
        raise ValueError(f"{function}: expected at least one array")
    for x in arrays:
        if type(x) is not Array:
            raise operands.refused(x, function)
    return arrays
