"""Statistical functions: sums, products, extremes, means and spreads."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Axes, DTypeLike, Real

__all__ = [
    "cumulative_prod",
    "cumulative_sum",
    "max",
    "mean",
    "min",
    "prod",
    "std",
    "sum",
    "var",
]


def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Multiply up the elements along an axis.

    Parameters
    ----------
    x : Array
        Array with at least one axis, of any dtype; booleans count as integers.
    axis : int, optional
        Axis to run along. May be left out for a 1-d array only.
    dtype : dtype, optional
        Dtype to compute in and return. By default that of `x`, but narrow integers are widened to
        the device's default integer (unsigned ones to the unsigned dtype of that width).
    include_initial : bool, default: False
        Whether the result begins with 1, and is one element longer along `axis`.

    Returns
    -------
    Array
        Array of the shape of `x`: each element is the product up to and including its place.

    Raises
    ------
    ValueError
        If `axis` is missing for several axes, or `x` is 0-d.
    AxisError
        If `x` has no such axis.

    See Also
    --------
    prod : Return only the last of these.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.cumulative_prod(pa.asarray([2, 3, 4]), include_initial=True).tolist()
    [1, 2, 6, 24]
    """
    axis = _running_axis(axis, x, "cumulative_prod")
    arguments.numeric(dtype, "cumulative_prod")
    return call.apply(
        "cumulative_prod", (x,), axis=axis, dtype=dtype, include_initial=include_initial
    )


def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
) -> Array:
    """Add up the elements along an axis.

    Parameters
    ----------
    x : Array
        Array with at least one axis, of any dtype; booleans count as integers.
    axis : int, optional
        Axis to run along. May be left out for a 1-d array only.
    dtype : dtype, optional
        Dtype to compute in and return. By default that of `x`, but narrow integers are widened to
        the device's default integer (unsigned ones to the unsigned dtype of that width).
    include_initial : bool, default: False
        Whether the result begins with 0, and is one element longer along `axis`.

    Returns
    -------
    Array
        Array of the shape of `x`: each element is the sum up to and including its place.

    Raises
    ------
    ValueError
        If `axis` is missing for several axes, or `x` is 0-d.
    AxisError
        If `x` has no such axis.

    See Also
    --------
    sum : Return only the last of these.
    """
    axis = _running_axis(axis, x, "cumulative_sum")
    arguments.numeric(dtype, "cumulative_sum")
    return call.apply(
        "cumulative_sum", (x,), axis=axis, dtype=dtype, include_initial=include_initial
    )


def _running_axis(axis: int | None, x: Array, function: str) -> int:
    if axis is not None:
        return arguments.axis(axis, x)
    if getattr(x, "ndim", 1) != 1:
        raise ValueError(
            f"{function} got an array of {x.ndim} axes without axis=; "
            f"{'name the axis to run along' if x.ndim else 'a 0-d array has none to run along'}"
        )
    return 0


def max(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
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
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.apply("max", (x,), axis=axis, keepdims=keepdims)


def mean(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
    """Return the arithmetic mean.

    Parameters
    ----------
    x : Array
        Array of any dtype. Integers and booleans are converted to the device's default
        floating-point dtype first.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    keepdims : bool, default: False
        Whether the reduced axes stay, with size 1.

    Returns
    -------
    Array
        Floating-point array without the reduced axes; the dtype is that of `x` if `x` has a
        floating-point dtype.

    Raises
    ------
    AxisError
        If `x` has no such axis.

    Notes
    -----
    A NaN among the elements makes the result NaN, and so does having no elements.
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.apply("mean", (x,), axis=axis, keepdims=keepdims)


def min(x: Array, /, *, axis: Axes | None = None, keepdims: bool = False) -> Array:
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
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.apply("min", (x,), axis=axis, keepdims=keepdims)


def prod(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> Array:
    """Multiply the elements.

    Parameters
    ----------
    x : Array
        Array of any dtype; booleans count as integers.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    dtype : dtype, optional
        Dtype to compute in and return. By default that of `x`, but narrow integers are widened to
        the device's default integer (unsigned ones to the unsigned dtype of that width).
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
        If `dtype` is bool.
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    if dtype is not None:
        arguments.numeric(dtype, "prod")
    return call.apply("prod", (x,), axis=axis, dtype=dtype, keepdims=keepdims)


def std(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    correction: Real = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the standard deviation, the square root of the variance.

    Parameters
    ----------
    x : Array
        Boolean or real array. Integers and booleans are converted to the device's default
        floating-point dtype first.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    correction : int or float, default: 0.0
        Subtracted from the number of elements ``M`` in the divisor ``M - correction``; 1 gives
        the usual estimate from a sample.
    keepdims : bool, default: False
        Whether the reduced axes stay, with size 1.

    Returns
    -------
    Array
        Real floating-point array without the reduced axes.

    Raises
    ------
    AxisError
        If `x` has no such axis.

    See Also
    --------
    var : Return the variance.

    Notes
    -----
    A NaN among the elements makes the result NaN, and so does a divisor that is not positive.
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.apply("std", (x,), axis=axis, correction=correction, keepdims=keepdims)


def sum(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    dtype: DTypeLike | None = None,
    keepdims: bool = False,
) -> Array:
    """Add the elements.

    Parameters
    ----------
    x : Array
        Array of any dtype; booleans are counted.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    dtype : dtype, optional
        Dtype to compute in and return. By default that of `x`, but narrow integers are widened to
        the device's default integer (unsigned ones to the unsigned dtype of that width).
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

    Notes
    -----
    Devices add in different orders, so floating-point sums may differ in their last bits.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.sum(pa.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [4, 6]
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    if dtype is not None:
        arguments.numeric(dtype, "sum")
    return call.apply("sum", (x,), axis=axis, dtype=dtype, keepdims=keepdims)


def var(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    correction: Real = 0.0,
    keepdims: bool = False,
) -> Array:
    """Return the variance: the mean squared distance from the mean.

    Parameters
    ----------
    x : Array
        Boolean or real array. Integers and booleans are converted to the device's default
        floating-point dtype first.
    axis : int or tuple of int, optional
        Axes to reduce; all of them by default.
    correction : int or float, default: 0.0
        Subtracted from the number of elements ``M`` in the divisor ``M - correction``; 1 gives
        the usual estimate from a sample.
    keepdims : bool, default: False
        Whether the reduced axes stay, with size 1.

    Returns
    -------
    Array
        Real floating-point array without the reduced axes.

    Raises
    ------
    AxisError
        If `x` has no such axis.

    See Also
    --------
    std : Return its square root.

    Notes
    -----
    A NaN among the elements makes the result NaN, and so does a divisor that is not positive.

    Examples
    --------
    >>> import portarray as pa
    >>> float(pa.var(pa.asarray([1, 2, 3]), correction=1))
    1.0
    """
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.apply("var", (x,), axis=axis, correction=correction, keepdims=keepdims)
