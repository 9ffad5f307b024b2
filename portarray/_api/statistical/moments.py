"""Means and spreads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from portarray import _name_hints
from portarray._api import arguments
from portarray._api.reductions import reduced
from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Axes, Real


@_name_hints.hide_var_keywords
def mean(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, **unknown: Never
) -> Array:
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

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 2], [3, 6]])
    >>> float(pa.mean(x)), pa.mean(x, axis=0).tolist()
    (3.0, [2.0, 4.0])
    >>> (x - pa.mean(x, axis=1, keepdims=True)).tolist()
    [[-0.5, 0.5], [-1.5, 1.5]]
    >>> float(pa.mean(pa.asarray([1.0, pa.nan])))
    nan
    """
    if unknown:
        raise _name_hints.unexpected_keyword(mean, unknown)
    if axis is None and keepdims is False:
        return call.unary("mean", x)
    return reduced("mean", x, axis, keepdims)


@_name_hints.hide_var_keywords
def std(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    correction: Real = 0.0,
    keepdims: bool = False,
    **unknown: Never,
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

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1, 3])
    >>> float(pa.std(x)), round(float(pa.std(x, correction=1)), 6)
    (1.0, 1.414214)
    >>> float(pa.std(pa.asarray([1.0]), correction=1))
    nan
    """
    if unknown:
        raise _name_hints.unexpected_keyword(std, unknown)
    if type(correction) is not float:
        correction = arguments.real_number(correction, "correction")
    if keepdims is not False:
        keepdims = arguments.flag(keepdims, "keepdims")
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.options("std", x, axis=axis, correction=correction, keepdims=keepdims)


@_name_hints.hide_var_keywords
def var(
    x: Array,
    /,
    *,
    axis: Axes | None = None,
    correction: Real = 0.0,
    keepdims: bool = False,
    **unknown: Never,
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
    if unknown:
        raise _name_hints.unexpected_keyword(var, unknown)
    if type(correction) is not float:
        correction = arguments.real_number(correction, "correction")
    if keepdims is not False:
        keepdims = arguments.flag(keepdims, "keepdims")
    if axis is not None:
        axis = arguments.axes(axis, x)
    return call.options("var", x, axis=axis, correction=correction, keepdims=keepdims)
