"""Arrays of a shape, or of another array's shape, filled with one value or not at all."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call, dispatch, operands, slow_path
from portarray._array.array import Array
from portarray._devices import selection

if TYPE_CHECKING:
    from portarray.typing import DeviceLike, DTypeLike, Scalar, ShapeLike


def empty(
    shape: ShapeLike, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Array:
    """Return an array whose elements are not set.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result.
    dtype : dtype, optional
        Dtype of the result; the device's default floating-point dtype if None.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        Array whose elements have whatever values the memory had.

    Raises
    ------
    ValueError
        If a size is negative.
    OutOfMemoryError
        If the device runs out of memory.

    Examples
    --------
    >>> import portarray as pa
    >>> squares = pa.empty(3, dtype=pa.int64)
    >>> squares[...] = pa.arange(3) ** 2
    >>> squares.tolist()
    [0, 1, 4]
    """
    sizes = arguments.shape(shape)
    return slow_path.create("empty", (sizes,), dtype=dtype, device=device, shape=sizes)


def empty_like(
    x: Array, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Array:
    """Return an array with the shape of another, whose elements are not set.

    Parameters
    ----------
    x : Array
        Array to take the shape from.
    dtype, device : optional
        Dtype and device of the result; those of `x` if None.

    Returns
    -------
    Array
        Array whose elements have whatever values the memory had.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.empty_like(pa.asarray([[1, 2, 3]]), dtype=pa.float32)
    >>> x.shape, x.dtype
    ((1, 3), dtype('float32'))
    """
    if device is None:
        if dtype is None:
            return call.options("empty_like", x)
        return slow_path.apply("empty_like", (x,), dtype=dtype)
    shape, dtype = _pattern("empty_like", x, dtype)
    return slow_path.create("empty", (shape,), dtype=dtype, device=device, shape=shape)


def full(
    shape: ShapeLike,
    fill_value: Scalar | Array,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return an array whose elements all have one value.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result.
    fill_value : scalar or 0-d Array
        The value.
    dtype : dtype, optional
        Dtype of the result. By default that of `fill_value` if it is an array, else the device's
        default dtype of its kind.
    device : device-like, optional
        Device of the result; the default device if None, also for an array as `fill_value`.

    Returns
    -------
    Array
        Array filled with the value.

    Raises
    ------
    ValueError
        If a size is negative.
    OverflowError
        If an integer dtype cannot hold the value.
    TypeError
        If the value is complex and the dtype is not, or the value is not a number.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.full((2, 2), 7).tolist()
    [[7, 7], [7, 7]]
    >>> pa.full(2, 7).dtype, pa.full(2, 7.0).dtype, pa.full(2, True).dtype
    (dtype('int64'), dtype('float64'), dtype('bool'))
    """
    if dtype is None and type(fill_value) is Array:
        dtype = fill_value.dtype
    value = arguments.number(fill_value, "fill_value") if dtype is None else fill_value
    if type(value) is int and dtype is None:
        dtype = dispatch.default_dtype(selection.resolve(device), "i")
    value = arguments.fill_value(value, dtype)
    sizes = arguments.shape(shape)
    kind = _DEFAULTS[type(value)]
    return slow_path.create(
        "full", (sizes, value), dtype=dtype, device=device, shape=sizes, default=kind
    )


_DEFAULTS = {bool: "bool", int: "integral", float: "real floating", complex: "complex floating"}


def full_like(
    x: Array,
    /,
    fill_value: Scalar | Array,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return an array with the shape of another, whose elements all have one value.

    Parameters
    ----------
    x : Array
        Array to take the shape from.
    fill_value : scalar or 0-d Array
        The value.
    dtype, device : optional
        Dtype and device of the result; those of `x` if None.

    Returns
    -------
    Array
        Array filled with the value.

    Raises
    ------
    OverflowError
        If an integer dtype cannot hold the value.
    TypeError
        If the value is complex and the dtype is not, or the value is not a number.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1.5, 2.5], dtype=pa.float32)
    >>> pa.full_like(x, 7)
    Array([7., 7.], dtype=float32, device='numpy:cpu:0')
    """
    shape, result_dtype = _pattern("full_like", x, dtype)
    value = arguments.fill_value(fill_value, result_dtype)
    if device is None:
        if dtype is None:
            return call.options("full_like", x, fill_value=value)
        return slow_path.apply("full_like", (x,), fill_value=value, dtype=dtype)
    return slow_path.create("full", (shape, value), dtype=result_dtype, device=device, shape=shape)


def ones(
    shape: ShapeLike, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Array:
    """Return an array of ones.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result.
    dtype : dtype, optional
        Dtype of the result; the device's default floating-point dtype if None.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        Array filled with one, or True.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.ones((1, 2)).tolist()
    [[1.0, 1.0]]
    >>> pa.ones(2, dtype=pa.bool).tolist()
    [True, True]
    """
    sizes = arguments.shape(shape)
    return slow_path.create("ones", (sizes,), dtype=dtype, device=device, shape=sizes)


def ones_like(
    x: Array, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Array:
    """Return an array of ones with the shape of another.

    Parameters
    ----------
    x : Array
        Array to take the shape from.
    dtype, device : optional
        Dtype and device of the result; those of `x` if None.

    Returns
    -------
    Array
        Array filled with one, or True.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.ones_like(pa.asarray([[5, 6]])).tolist()
    [[1, 1]]
    >>> pa.ones_like(pa.asarray([5, 6]), dtype=pa.float64).tolist()
    [1.0, 1.0]
    """
    if device is None:
        if dtype is None:
            return call.options("ones_like", x)
        return slow_path.apply("ones_like", (x,), dtype=dtype)
    shape, dtype = _pattern("ones_like", x, dtype)
    return slow_path.create("ones", (shape,), dtype=dtype, device=device, shape=shape)


def zeros(
    shape: ShapeLike, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Array:
    """Return an array of zeros.

    Parameters
    ----------
    shape : int or sequence of int
        Shape of the result.
    dtype : dtype, optional
        Dtype of the result; the device's default floating-point dtype if None.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        Array filled with zero, or False.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.zeros((2, 3), dtype=pa.int64).tolist()
    [[0, 0, 0], [0, 0, 0]]
    >>> pa.zeros(()).shape
    ()
    """
    sizes = arguments.shape(shape)
    return slow_path.create("zeros", (sizes,), dtype=dtype, device=device, shape=sizes)


def zeros_like(
    x: Array, /, *, dtype: DTypeLike | None = None, device: DeviceLike | None = None
) -> Array:
    """Return an array of zeros with the shape of another.

    Parameters
    ----------
    x : Array
        Array to take the shape from.
    dtype, device : optional
        Dtype and device of the result; those of `x` if None.

    Returns
    -------
    Array
        Array filled with zero, or False.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.zeros_like(pa.asarray([[5, 6]])).tolist()
    [[0, 0]]
    >>> pa.zeros_like(pa.asarray([True, False])).tolist()
    [False, False]
    """
    if device is None:
        if dtype is None:
            return call.options("zeros_like", x)
        return slow_path.apply("zeros_like", (x,), dtype=dtype)
    shape, dtype = _pattern("zeros_like", x, dtype)
    return slow_path.create("zeros", (shape,), dtype=dtype, device=device, shape=shape)


def _pattern(function: str, x: Array, dtype: DTypeLike | None) -> tuple[tuple[int, ...], DTypeLike]:
    """Return shape and dtype for an array like another."""
    if type(x) is not Array:
        raise operands.refused(x, function)
    return x.shape, x.dtype if dtype is None else dtype
