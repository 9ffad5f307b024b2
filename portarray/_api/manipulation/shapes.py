"""Other shapes for the same elements, in the same order."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call, native_arrays, slow_path
from portarray._array.array import Array

if TYPE_CHECKING:
    from portarray.typing import Axes, ShapeLike


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

    Examples
    --------
    >>> import portarray as pa
    >>> x, y = pa.broadcast_arrays(pa.asarray([[1], [2]]), pa.asarray([0.5, 1.5, 2.5]))
    >>> x.tolist(), x.dtype
    ([[1, 1, 1], [2, 2, 2]], dtype('int64'))
    >>> y.tolist(), y.dtype
    ([[0.5, 1.5, 2.5], [0.5, 1.5, 2.5]], dtype('float64'))
    """
    if not arrays:
        return ()
    results: tuple[Array, ...] = call.variadic("broadcast_arrays", arrays)
    return results


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
    checked = [arguments.shape(shape) for shape in shapes]
    count = max((len(shape) for shape in checked), default=0)
    out = [1] * count
    for shape in checked:
        for position, size in enumerate(shape, start=count - len(shape)):
            if size == 1 or size == out[position]:
                continue
            if out[position] != 1:
                raise ValueError(
                    f"broadcast_shapes: shapes {', '.join(map(str, checked))} cannot be broadcast: "
                    f"sizes "
                    f"{out[position]} and {size} differ, and neither is 1"
                )
            out[position] = size
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

    Examples
    --------
    >>> import portarray as pa
    >>> pa.broadcast_to(pa.asarray([1, 2]), (3, 2)).tolist()
    [[1, 2], [1, 2], [1, 2]]
    >>> pa.broadcast_to(pa.asarray([[1], [2]]), (2, 2)).tolist()
    [[1, 1], [2, 2]]
    """
    sizes = arguments.shape(shape)
    slow_path.check_countable("broadcast_to", x, sizes)
    return call.options("broadcast_to", x, shape=sizes)


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
    if type(axis) is int:
        return call.options("expand_dims", x, axis=arguments.axis(axis, x, extra=1))
    places = arguments.integers(axis, "axis")
    count = len(places)
    for item in places:
        arguments.axis(item, x, extra=count)
    if arguments.is_array(x) and len({item % (x.ndim + count) for item in places}) < count:
        raise ValueError(f"expand_dims: axis={axis!r} repeats an axis; each axis may occur once")
    return call.options("expand_dims", x, axis=places[0] if count == 1 else places)


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
        raise ValueError(f"reshape: invalid shape {shape!r}; one size may be -1, and none less")
    if copy is not None:
        copy = native_arrays.copy_flag(copy)
    return call.options("reshape", x, shape=shape, copy=copy)


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

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.zeros((1, 3, 1))
    >>> pa.squeeze(x, axis=0).shape, pa.squeeze(x, axis=(0, -1)).shape
    ((3, 1), (3,))
    """
    places = arguments.axis_tuple(axis, x, "axis")
    shape = x.shape if arguments.is_array(x) else ()
    for item in places if shape else ():
        if shape[item] != 1:
            raise ValueError(
                f"squeeze: axis {item} has size {shape[item]} (shape {shape}); "
                f"only axes of size 1 can be removed"
            )
    return call.options("squeeze", x, axis=places)
