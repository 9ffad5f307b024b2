"""Manipulation functions: shapes, axes and the joining of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import array as _array
from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Axes, ShapeLike

__all__ = [
    "broadcast_arrays",
    "broadcast_shapes",
    "broadcast_to",
    "concat",
    "expand_dims",
    "flip",
    "moveaxis",
    "permute_dims",
    "repeat",
    "reshape",
    "roll",
    "squeeze",
    "stack",
    "tile",
    "unstack",
]


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to one shape.

    Parameters
    ----------
    *arrays : Array
        Arrays of any dtypes on one device.

    Returns
    -------
    tuple of Array
        The arrays in their common shape, each in its own dtype. They are views where the library
        has views, and several of their elements may share memory.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.
    """
    if not arrays:
        return ()
    return call.spread("broadcast_arrays", arrays)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to.

    Parameters
    ----------
    *shapes : sequence of int
        Shapes. Axes of unknown size (None) do not exist here: sizes of arrays are always known.

    Returns
    -------
    tuple of int
        The common shape, ``()`` for no shapes at all.

    Raises
    ------
    ValueError
        If the shapes do not broadcast.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.broadcast_shapes((3, 1), (4,))
    (3, 4)
    """
    checked = [arguments.shape(one) for one in shapes]
    count = max((len(one) for one in checked), default=0)
    out = [1] * count
    for one in checked:
        for place, size in enumerate(one, start=count - len(one)):
            if size == 1 or size == out[place]:
                continue
            if out[place] != 1:
                raise ValueError(
                    f"shapes {', '.join(map(str, checked))} do not broadcast: sizes "
                    f"{out[place]} and {size} meet, and neither is 1"
                )
            out[place] = size
    return tuple(out)


def broadcast_to(x: Array, /, shape: ShapeLike) -> Array:
    """Broadcast an array to a shape.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    shape : int or sequence of int
        Shape with at least as many axes as `x`; each of its sizes is that of `x`, or that of `x`
        is 1.

    Returns
    -------
    Array
        Array of that shape, a view where the library has views: several of its elements may share
        memory, so copy it before writing to it.

    Raises
    ------
    ValueError
        If `x` does not broadcast to the shape.
    """
    return call.apply("broadcast_to", (x,), shape=arguments.shape(shape))


def concat(arrays: Sequence[Array], /, *, axis: int | None = 0) -> Array:
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
    arrays = _joinable(arrays, "concat")
    if axis is not None:
        axis = arguments.axis(axis, arrays[0])
        counts = [getattr(x, "ndim", None) for x in arrays]
        if counts.count(counts[0]) < len(counts):
            raise ValueError(
                f"concat got arrays with {', '.join(map(str, counts))} axes; "
                f"the numbers must be equal"
            )
    return call.sequence("concat", arrays, promote=True, axis=axis)


def _joinable(arrays: Sequence[Array], function: str) -> Sequence[Array]:
    if not isinstance(arrays, (list, tuple)):
        arrays = list(arrays)
    if not arrays:
        raise ValueError(f"{function} got no arrays; it needs at least one")
    return arrays


def expand_dims(x: Array, /, axis: Axes) -> Array:
    """Insert axes of size 1.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    axis : int or tuple of int
        Where the new axes stand *in the result*; negative ones count from its end.

    Returns
    -------
    Array
        Array with one more axis for each in `axis`, a view where the library has views.

    Raises
    ------
    AxisError
        If the result has no such axis.
    ValueError
        If an axis is named twice.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.expand_dims(pa.ones((2, 3)), (0, -1)).shape
    (1, 2, 3, 1)
    """
    places = arguments.integers(axis, "axis")
    for one in places:
        arguments.axis(one, x, extra=len(places))
    count = getattr(x, "ndim", 0) + len(places)
    if len({one % count for one in places}) < len(places):
        raise ValueError(f"axis={axis!r} names an axis twice; each axis may be named once")
    return call.apply("expand_dims", (x,), axis=places[0] if len(places) == 1 else places)


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
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.apply("flip", (x,), axis=axis)


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Array:
    """Move axes to new places; the others keep their order.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    source : int or tuple of int
        Axes to move.
    destination : int or tuple of int
        Where each of them stands in the result.

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
    """
    origin = arguments.axes(arguments.integers(source, "source"), x, name="source")
    target = arguments.axes(arguments.integers(destination, "destination"), x, name="destination")
    if len(origin) != len(target):  # type: ignore[arg-type]  # both are tuples here
        raise ValueError(
            f"moveaxis got source {source!r} and destination {destination!r}; "
            f"they must name equally many axes"
        )
    return call.apply("moveaxis", (x,), origin, target)


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
        If `axes` is no permutation of the axes of `x`.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.permute_dims(pa.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    order = arguments.axes(arguments.integers(axes, "axes"), x, name="axes")
    if len(order) != getattr(x, "ndim", len(order)):  # type: ignore[arg-type]
        raise ValueError(
            f"permute_dims got axes {axes!r} for {x.ndim} axes; name each of them once"
        )
    return call.apply("permute_dims", (x,), axes=order)


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
    if isinstance(repeats, _array.Array):
        arguments.indices(repeats, "repeats")
    else:
        repeats = arguments.size(repeats, "repeats")
    return call.apply("repeat", (x, repeats), axis=axis)


def reshape(x: Array, /, shape: ShapeLike, *, copy: bool | None = None) -> Array:
    """Give an array another shape with the same elements in row-major order.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    shape : int or sequence of int
        The new shape. One of its sizes may be -1: it is computed from the others.
    copy : bool, optional
        True always copies; False never does and raises where it would have to; None copies where
        it has to.

    Returns
    -------
    Array
        Array of the new shape.

    Raises
    ------
    ValueError
        If the number of elements differs, if several sizes are -1, or if ``copy=False`` and the
        elements would have to be copied.

    Notes
    -----
    Whether a copy is needed depends on the library: one without strided views copies where
    another does not.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.reshape(pa.asarray([[1, 2, 3], [4, 5, 6]]), (3, -1)).tolist()
    [[1, 2], [3, 4], [5, 6]]
    """
    if type(shape) is not tuple:
        shape = arguments.integers(shape, "shape")
    if shape and min(shape) < 0 and (min(shape) < -1 or shape.count(-1) > 1):
        raise ValueError(f"reshape got shape {shape!r}; one size may be -1, and none less")
    return call.apply("reshape", (x,), shape=shape, copy=copy)


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
            raise ValueError(f"roll got shift {shift!r} without axis=; name an axis for each shift")
        return call.apply("roll", (x,), shift=shifts[0])
    # An axis may be named twice here: its shifts add up.
    places = tuple([arguments.axis(one, x) for one in arguments.integers(axis, "axis")])
    if len(shifts) == 1:
        shifts *= len(places)
    if len(shifts) != len(places):
        raise ValueError(
            f"roll got shift {shift!r} for axis {axis!r}; give one shift, or one for each axis"
        )
    return call.apply("roll", (x,), shift=shifts, axis=places)


def squeeze(x: Array, /, axis: Axes) -> Array:
    """Remove axes of size 1.

    Parameters
    ----------
    x : Array
        Array of any dtype.
    axis : int or tuple of int
        Axes to remove.

    Returns
    -------
    Array
        Array without these axes, a view where the library has views.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If an axis has another size, or is named twice.
    """
    places = arguments.axes(arguments.integers(axis, "axis"), x)
    for one in places if isinstance(places, tuple) else ():
        if hasattr(x, "shape") and x.shape[one] != 1:
            raise ValueError(
                f"squeeze got axis {one} of size {x.shape[one]} (shape {x.shape}); "
                f"only axes of size 1 can be removed"
            )
    return call.apply("squeeze", (x,), axis=places)


def stack(arrays: Sequence[Array], /, *, axis: int = 0) -> Array:
    """Join arrays along a new axis.

    Parameters
    ----------
    arrays : sequence of Array
        At least one array. All have one shape. They are promoted together.
    axis : int, default: 0
        Where the new axis stands in the result.

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
    """
    arrays = _joinable(arrays, "stack")
    axis = arguments.axis(axis, arrays[0], extra=1)
    return call.sequence("stack", arrays, promote=True, axis=axis)


def tile(x: Array, repetitions: ShapeLike, /) -> Array:
    """Lay copies of an array beside each other.

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
        raise ValueError(f"repetitions is {repetitions!r}; numbers must not be negative")
    return call.apply("tile", (x,), counts)


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
    """
    axis = arguments.axis(axis, x)
    return call.several("unstack", (x,), axis=axis)
