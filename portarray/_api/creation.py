"""Creation functions."""

from __future__ import annotations

import builtins
from math import isfinite
from operator import index
from typing import TYPE_CHECKING, Any, Literal

from portarray._api import arguments
from portarray._array import array as _array
from portarray._array import call, conversion, dispatch, dtypes, operands
from portarray._devices import selection

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import (
        DeviceLike,
        DTypeLike,
        NestedSequence,
        Real,
        Scalar,
        ShapeLike,
        SupportsBuffer,
        SupportsDLPack,
    )

__all__ = [
    "arange",
    "asarray",
    "empty",
    "empty_like",
    "eye",
    "from_dlpack",
    "full",
    "full_like",
    "linspace",
    "logspace",
    "meshgrid",
    "ones",
    "ones_like",
    "tril",
    "triu",
    "zeros",
    "zeros_like",
]


def arange(
    start: Real,
    /,
    stop: Real | None = None,
    step: Real = 1,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return evenly spaced numbers of a half-open interval.

    Parameters
    ----------
    start : int or float
        First number; the end of the interval if `stop` is missing, which then starts at 0.
    stop : int or float, optional
        End of the interval, not included.
    step : int or float, default: 1
        Distance between neighbours; negative to count down.
    dtype : dtype, optional
        Dtype of the result. By default the device's default integer dtype if all arguments are
        integers, else its default floating-point dtype.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        1-d array of ``ceil((stop - start) / step)`` numbers, or none if that is negative.

    Raises
    ------
    ValueError
        If `step` is 0 or an argument is not finite.
    TypeError
        If an argument is no real number or `dtype` is bool.

    Notes
    -----
    With steps that are no integers rounding may let `stop` in; ``linspace`` counts instead.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.arange(2, 8, 3).tolist()
    [2, 5]
    """
    if stop is None:
        start, stop = 0, start
    bounds = (
        arguments.real_number(start, "start"),
        arguments.real_number(stop, "stop"),
        arguments.real_number(step, "step"),
    )
    if bounds[2] == 0:
        raise ValueError("arange got step 0; the step must not be zero")
    if not builtins.all(isfinite(one) for one in bounds):
        raise ValueError(f"arange got start, stop, step = {bounds}; all must be finite")
    kind = None if dtype is None else dtypes.kind_of(dtypes.canonical(dtype))
    if kind == "b":
        raise TypeError("arange got dtype bool; it makes numbers")
    if kind == "c":  # few libraries count in complex numbers
        real = arange(*bounds, dtype=None, device=device)
        return conversion.astype(real, dtype, copy=False)
    exact = builtins.all(isinstance(one, int) for one in bounds)
    default = "integral" if exact else "real floating"
    return call.create("arange", bounds, dtype=dtype, device=device, default=default)


def asarray(
    obj: Array | Scalar | NestedSequence[Scalar] | SupportsBuffer | SupportsDLPack | Any,
    /,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    copy: bool | None = None,
    narrow: bool = False,
) -> Array:
    """Make an array from anything sensible.

    Parameters
    ----------
    obj : object
        An :class:`Array`; a native array of any installed library; an object with DLPack, the
        buffer protocol or ``__array__``; a Python or NumPy scalar; nested sequences of scalars.
    dtype : dtype, optional
        Dtype of the result. By default that of `obj`; Python numbers take the device's default
        dtype of their kind.
    device : device-like, optional
        Device of the result. By default arrays and native arrays stay where they are, NumPy's and
        everything else go to the default device.
    copy : bool, optional
        True always copies; False never does and raises where it would have to; None copies where
        it has to.
    narrow : bool, default: False
        Whether data of a dtype that the device lacks may be converted to the nearest dtype that it
        has, such as float64 to float32.

    Returns
    -------
    Array
        Array with the values of `obj`. Without a copy it shares memory with `obj`.

    Raises
    ------
    TypeError
        For strings, objects and whatever else is no number.
    ValueError
        If rows of a nested sequence differ in length, or ``copy=False`` cannot be met.
    DTypeNotSupportedError
        If the device lacks the dtype and `narrow` is False.

    Notes
    -----
    Moving to a device whose memory is not host memory copies.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.asarray([[1, 2], [3, 4]], dtype=pa.float32).shape
    (2, 2)
    """
    return conversion.asarray(obj, dtype=dtype, device=device, copy=copy, narrow=narrow)


def empty(
    shape: ShapeLike,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
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
        If the device has not enough memory.
    """
    args = (arguments.shape(shape),)
    return call.create("empty", args, dtype=dtype, device=device, default="real floating")


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
    """
    if device is None:
        return call.apply("empty_like", (x,), dtype=dtype)
    shape, dtype = _pattern("empty_like", x, dtype)
    return call.create("empty", (shape,), dtype=dtype, device=device, default=None)


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return a matrix with ones on a diagonal and zeros elsewhere.

    Parameters
    ----------
    n_rows : int
        Number of rows.
    n_cols : int, optional
        Number of columns; as many as rows if None.
    k : int, default: 0
        Which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
    dtype : dtype, optional
        Dtype of the result; the device's default floating-point dtype if None.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        Array of shape ``(n_rows, n_cols)``.

    Raises
    ------
    ValueError
        If a size is negative.
    """
    rows = arguments.size(n_rows, "n_rows")
    columns = rows if n_cols is None else arguments.size(n_cols, "n_cols")
    # A diagonal beyond the corners is empty; some libraries overflow there.
    k = max(-rows, min(columns, index(k)))
    return call.create(
        "eye", (rows, columns), dtype=dtype, device=device, default="real floating", k=k
    )


def from_dlpack(
    x: object, /, *, device: DeviceLike | None = None, copy: bool | None = None
) -> Array:
    """Make an array from an object that exports its memory through DLPack.

    Parameters
    ----------
    x : object
        Object with ``__dlpack__`` and ``__dlpack_device__``: an array of nearly any library.
    device : device-like, optional
        Device of the result. By default the one whose memory `x` is in.
    copy : bool, optional
        True always copies; False never does and raises where it would have to; None copies where
        it has to.

    Returns
    -------
    Array
        Array with the values of `x`. Without a copy it shares memory with `x`.

    Raises
    ------
    TypeError
        If `x` has no DLPack methods.
    BufferError
        If `x` cannot be exported.
    ValueError
        If ``copy=False`` cannot be met.

    See Also
    --------
    asarray : Make an array from anything sensible.
    """
    return conversion.from_dlpack(x, device=device, copy=copy)


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
        If the value is complex and the dtype is not, or the value is no number.
    """
    if dtype is None and isinstance(fill_value, _array.Array):
        dtype = fill_value.dtype
    value = arguments.number(fill_value, "fill_value")
    if type(value) is int and dtype is None:
        dtype = dispatch.default_dtype(selection.resolve(device), "i")
    value = arguments.fill_value(value, dtype)
    default = {bool: "bool", int: "integral", float: "real floating", complex: "complex floating"}
    args = (arguments.shape(shape), value)
    kind = default.get(type(value), "real floating")
    return call.create("full", args, dtype=dtype, device=device, default=kind)


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
        If the value is complex and the dtype is not, or the value is no number.
    """
    shape, wanted = _pattern("full_like", x, dtype)
    value = arguments.fill_value(fill_value, wanted)
    if device is None:
        return call.apply("full_like", (x,), fill_value=value, dtype=dtype)
    return call.create("full", (shape, value), dtype=wanted, device=device, default=None)


def linspace(
    start: Scalar,
    stop: Scalar,
    /,
    num: int,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
    endpoint: bool = True,
) -> Array:
    """Return a number of evenly spaced values of an interval.

    Parameters
    ----------
    start, stop : scalar
        First value, and the last or, without `endpoint`, the one that would come after the last.
    num : int
        How many values.
    dtype : dtype, optional
        Dtype of the result. By default the device's default floating-point dtype, complex if
        `start` or `stop` is.
    device : device-like, optional
        Device of the result; the default device if None.
    endpoint : bool, default: True
        Whether `stop` is the last value.

    Returns
    -------
    Array
        1-d array of `num` values.

    Raises
    ------
    ValueError
        If `num` is negative.
    TypeError
        If `start` or `stop` is complex and `dtype` is not.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.linspace(0, 1, 4, endpoint=False).tolist()
    [0.0, 0.25, 0.5, 0.75]
    """
    first, last = arguments.number(start, "start"), arguments.number(stop, "stop")
    is_complex = isinstance(first, complex) or isinstance(last, complex)
    if is_complex and dtype is not None and dtypes.kind_of(dtypes.canonical(dtype)) != "c":
        raise TypeError(f"linspace got complex bounds and dtype {dtype}; use a complex dtype")
    return call.create(
        "linspace",
        (first, last, arguments.size(num, "num")),
        dtype=dtype,
        device=device,
        default="complex floating" if is_complex else "real floating",
        endpoint=endpoint,
    )


def logspace(
    start: Real,
    stop: Real,
    num: int = 50,
    endpoint: bool = True,
    base: Real = 10.0,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
) -> Array:
    """Return numbers that are evenly spaced on a logarithmic scale.

    The standard has no such function; it is here since programs for NumPy use it.

    Parameters
    ----------
    start, stop : int or float
        Exponents of the first number and of the last (without `endpoint`, of the one after it).
    num : int, default: 50
        How many numbers.
    endpoint : bool, default: True
        Whether ``base ** stop`` is the last number.
    base : int or float, default: 10.0
        Base of the logarithm.
    dtype : dtype, optional
        Dtype of the result; the device's default floating-point dtype if None.
    device : device-like, optional
        Device of the result; the default device if None.

    Returns
    -------
    Array
        1-d array ``base ** linspace(start, stop, num)``.

    Raises
    ------
    ValueError
        If `num` is negative.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.logspace(0, 3, 4, base=2).tolist()
    [1.0, 2.0, 4.0, 8.0]
    """
    exponents = linspace(start, stop, num, device=device, endpoint=endpoint)
    powers = call.binary("pow", arguments.real_number(base, "base"), exponents)
    return powers if dtype is None else conversion.astype(powers, dtype, copy=False)


def meshgrid(*arrays: Array, indexing: Literal["xy", "ij"] = "xy") -> tuple[Array, ...]:
    """Return the coordinates of all points of a grid.

    Parameters
    ----------
    *arrays : Array
        1-d arrays: the coordinates along each axis of the grid.
    indexing : {"xy", "ij"}, default: "xy"
        ``"ij"`` orders the axes of the results as the arguments; ``"xy"`` swaps the first two, as
        in a plot.

    Returns
    -------
    tuple of Array
        For each argument an array with its coordinate of every point.

    Raises
    ------
    ValueError
        If `indexing` is unknown or an array has several axes.

    Examples
    --------
    >>> import portarray as pa
    >>> x, y = pa.meshgrid(pa.asarray([1, 2, 3]), pa.asarray([5, 6]))
    >>> x.tolist(), y.tolist()
    ([[1, 2, 3], [1, 2, 3]], [[5, 5, 5], [6, 6, 6]])
    """
    arguments.choice(indexing, "indexing", ("xy", "ij"))
    for x in arrays:
        if getattr(x, "ndim", 1) > 1:
            raise ValueError(f"meshgrid got an array of shape {x.shape}; it takes 1-d arrays")
    if not arrays:
        return ()
    return call.spread("meshgrid", arrays, indexing=indexing)


def ones(
    shape: ShapeLike,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
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
    """
    args = (arguments.shape(shape),)
    return call.create("ones", args, dtype=dtype, device=device, default="real floating")


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
    """
    if device is None:
        return call.apply("ones_like", (x,), dtype=dtype)
    shape, dtype = _pattern("ones_like", x, dtype)
    return call.create("ones", (shape,), dtype=dtype, device=device, default=None)


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangle of matrices, with zeros above it.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``.
    k : int, default: 0
        Last diagonal that is kept: 0 is the main one, positive ones lie above it.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.
    """
    arguments.matrices(x, "tril")
    return call.apply("tril", (x,), k=index(k))


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangle of matrices, with zeros below it.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``.
    k : int, default: 0
        First diagonal that is kept: 0 is the main one, positive ones lie above it.

    Returns
    -------
    Array
        Array of the shape and dtype of `x`.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.
    """
    arguments.matrices(x, "triu")
    return call.apply("triu", (x,), k=index(k))


def zeros(
    shape: ShapeLike,
    *,
    dtype: DTypeLike | None = None,
    device: DeviceLike | None = None,
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
    """
    args = (arguments.shape(shape),)
    return call.create("zeros", args, dtype=dtype, device=device, default="real floating")


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
    """
    if device is None:
        return call.apply("zeros_like", (x,), dtype=dtype)
    shape, dtype = _pattern("zeros_like", x, dtype)
    return call.create("zeros", (shape,), dtype=dtype, device=device, default=None)


def _pattern(function: str, x: Array, dtype: DTypeLike | None) -> tuple[tuple[int, ...], DTypeLike]:
    """Return shape and dtype for an array like another."""
    if not isinstance(x, _array.Array):
        raise operands.refused(x, function)
    return x.shape, x.dtype if dtype is None else dtype
