"""Comparisons, extremes of pairs, and tests for NaN and infinity, element by element."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array import call, slow_path

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Real, Scalar


def clip(x: Array, /, min: Array | Real | None = None, max: Array | Real | None = None) -> Array:
    """Limit each element to a range.

    Parameters
    ----------
    x : Array
        Real; any shape.
    min, max : Array, scalar or None, optional
        Lower and upper bound, of a shape that broadcasts with x and of no higher kind. None leaves
        that side open, and so does an integer beyond the range of x's dtype.

    Returns
    -------
    Array
        The broadcast shape and x's dtype, whatever the dtypes of the bounds.

    Raises
    ------
    TypeError
        If a bound is of a higher kind than x, such as a float for integers: the result has x's
        dtype, which does not hold such a bound.
    OverflowError
        If a scalar bound leaves no value of an integer dtype.

    See Also
    --------
    maximum, minimum : One bound, with promotion of both dtypes.

    Notes
    -----
    NaN as element or as bound gives NaN. Where the lower bound exceeds the upper, the standard
    leaves the result undefined and devices may differ.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.clip(pa.asarray([-1, 5, 12]), 0, 10).tolist()
    [0, 5, 10]
    """
    result: Array = slow_path.apply("clip", (x, min, max))
    return result


def equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Tell of each pair of elements whether they are equal.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Operands of any dtype, at least one an array; their shapes broadcast. They are compared in
        the dtype to which both promote.

    Returns
    -------
    Array
        Booleans, of the broadcast shape.

    Notes
    -----
    NaN equals nothing, itself included; the two zeros are equal.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.equal(pa.asarray([1.0, 0.0, pa.nan]), pa.asarray([1.0, -0.0, pa.nan])).tolist()
    [True, True, False]
    >>> pa.equal(pa.asarray([1, 2]), 2.0).tolist()
    [False, True]
    """
    return call.binary("equal", x1, x2)


def greater(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Tell of each pair of elements whether the first is greater.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Real operands, at least one an array; their shapes broadcast. They are compared in the
        dtype to which both promote.

    Returns
    -------
    Array
        Booleans of the broadcast shape; False where either operand is NaN.

    Raises
    ------
    TypeError
        For complex numbers, which have no order.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.0, 2.0, pa.nan])
    >>> pa.greater(x, 0).tolist()
    [False, True, False]
    >>> x[pa.greater(x, 0)].tolist()
    [2.0]
    """
    return call.binary("greater", x1, x2)


def greater_equal(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Tell of each pair of elements whether the first is greater or both are equal.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Real operands, at least one an array; their shapes broadcast. They are compared in the
        dtype to which both promote.

    Returns
    -------
    Array
        Booleans of the broadcast shape; False where either operand is NaN.

    Raises
    ------
    TypeError
        For complex numbers, which have no order.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.greater_equal(pa.asarray([1, 2, 3]), pa.asarray([[2], [3]])).tolist()
    [[False, True, True], [False, False, True]]
    >>> pa.greater_equal(pa.asarray([pa.nan]), pa.asarray([pa.nan])).tolist()
    [False]
    """
    return call.binary("greater_equal", x1, x2)


def isfinite(x: Array, /) -> Array:
    """Tell of each element whether it is neither infinite nor NaN.

    Parameters
    ----------
    x : Array
        Any shape and dtype; both parts of a complex number must be finite.

    Returns
    -------
    Array
        Booleans, of x's shape; True throughout for integers and booleans.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1.0, pa.inf, pa.nan])
    >>> pa.isfinite(x).tolist()
    [True, False, False]
    >>> x[pa.isfinite(x)].tolist()
    [1.0]
    """
    return call.unary("isfinite", x)


def isinf(x: Array, /) -> Array:
    """Tell of each element whether it is infinite, of either sign.

    Parameters
    ----------
    x : Array
        Any shape and dtype; one infinite part makes a complex number infinite.

    Returns
    -------
    Array
        Booleans, of x's shape; False throughout for integers and booleans.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.isinf(pa.asarray([pa.inf, -pa.inf, pa.nan, 1.0])).tolist()
    [True, True, False, False]
    >>> pa.isinf(pa.asarray([complex(1, pa.inf)])).tolist()
    [True]
    """
    return call.unary("isinf", x)


def isnan(x: Array, /) -> Array:
    """Tell of each element whether it is NaN.

    Parameters
    ----------
    x : Array
        Any shape and dtype; one part that is NaN makes a complex number NaN.

    Returns
    -------
    Array
        Booleans, of x's shape; False throughout for integers and booleans.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1.0, pa.nan, pa.inf])
    >>> pa.isnan(x).tolist()
    [False, True, False]
    >>> pa.where(pa.isnan(x), 0.0, x).tolist()
    [1.0, 0.0, inf]
    """
    return call.unary("isnan", x)


def less(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Tell of each pair of elements whether the first is less.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Real operands, at least one an array; their shapes broadcast. They are compared in the
        dtype to which both promote.

    Returns
    -------
    Array
        Booleans of the broadcast shape; False where either operand is NaN.

    Raises
    ------
    TypeError
        For complex numbers, which have no order.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.less(pa.asarray([1.0, 2.0, pa.nan]), 2).tolist()
    [True, False, False]
    >>> pa.less(pa.arange(3), pa.arange(3)[:, None]).tolist()
    [[False, False, False], [True, False, False], [True, True, False]]
    """
    return call.binary("less", x1, x2)


def less_equal(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Tell of each pair of elements whether the first is less or both are equal.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Real operands, at least one an array; their shapes broadcast. They are compared in the
        dtype to which both promote.

    Returns
    -------
    Array
        Booleans of the broadcast shape; False where either operand is NaN.

    Raises
    ------
    TypeError
        For complex numbers, which have no order.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1.0, 2.0, 3.0, pa.nan])
    >>> pa.less_equal(x, 2).tolist()
    [True, True, False, False]
    >>> int(pa.count_nonzero(pa.less_equal(x, 2)))
    2
    """
    return call.binary("less_equal", x1, x2)


def maximum(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return the greater of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Real operands, at least one an array; their shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote; NaN where either operand is NaN.

    See Also
    --------
    max : The greatest element along axes.

    Notes
    -----
    Which of the two zeros counts as greater is undefined: devices may differ.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.maximum(pa.asarray([-1.0, 2.0, pa.nan]), 0.0).tolist()
    [0.0, 2.0, nan]
    """
    return call.binary("maximum", x1, x2)


def minimum(x1: Array | Real, x2: Array | Real, /) -> Array:
    """Return the lesser of each pair of elements.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Real operands, at least one an array; their shapes broadcast.

    Returns
    -------
    Array
        The broadcast shape and the dtype to which both promote; NaN where either operand is NaN.

    See Also
    --------
    min : The least element along axes.

    Notes
    -----
    Which of the two zeros counts as lesser is undefined: devices may differ.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.minimum(pa.asarray([[1, 5], [7, 2]]), pa.asarray([3, 4])).tolist()
    [[1, 4], [3, 2]]
    >>> pa.minimum(pa.asarray([1.0, pa.nan]), 0.0).tolist()
    [0.0, nan]
    """
    return call.binary("minimum", x1, x2)


def not_equal(x1: Array | Scalar, x2: Array | Scalar, /) -> Array:
    """Tell of each pair of elements whether they differ.

    Parameters
    ----------
    x1, x2 : Array or scalar
        Operands of any dtype, at least one an array; their shapes broadcast. They are compared in
        the dtype to which both promote.

    Returns
    -------
    Array
        Booleans, of the broadcast shape.

    Notes
    -----
    NaN differs from everything, itself included; the two zeros do not differ.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([1.0, -0.0, pa.nan])
    >>> pa.not_equal(x, 0.0).tolist()
    [True, False, True]
    >>> pa.not_equal(x, x).tolist()
    [False, False, True]
    """
    return call.binary("not_equal", x1, x2)
