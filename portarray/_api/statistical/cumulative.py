"""Running sums and products."""

from __future__ import annotations

from typing import TYPE_CHECKING, Never

from portarray import _name_hints
from portarray._api import arguments
from portarray._array import call, slow_path

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import DTypeLike


@_name_hints.hide_var_keywords
def cumulative_prod(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    **unknown: Never,
) -> Array:
    """Multiply up the elements along an axis.

    Parameters
    ----------
    x : Array
        Array with at least one axis, of any dtype; booleans count as integers.
    axis : int, optional
        Axis to run along. May be left out for a 1-d array only.
    dtype : dtype, optional
        Dtype to convert the elements to, compute in and return. By default that of `x`, but narrow
        integers are widened to the device's default integer (unsigned ones to the unsigned dtype of
        that width).
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
    TypeError
        If `dtype` is bool, or real where `x` is complex.

    See Also
    --------
    prod : Return only the last of these.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.cumulative_prod(pa.asarray([2, 3, 4]), include_initial=True).tolist()
    [1, 2, 6, 24]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(cumulative_prod, unknown)
    if include_initial is not False:
        include_initial = arguments.flag(include_initial, "include_initial")
    axis = _running_axis(axis, x, "cumulative_prod")
    if dtype is None:
        return call.options("cumulative_prod", x, axis=axis, include_initial=include_initial)
    arguments.numeric(dtype, "cumulative_prod", x)
    return slow_path.apply(
        "cumulative_prod", (x,), axis=axis, dtype=dtype, include_initial=include_initial
    )


@_name_hints.hide_var_keywords
def cumulative_sum(
    x: Array,
    /,
    *,
    axis: int | None = None,
    dtype: DTypeLike | None = None,
    include_initial: bool = False,
    **unknown: Never,
) -> Array:
    """Add up the elements along an axis.

    Parameters
    ----------
    x : Array
        Array with at least one axis, of any dtype; booleans count as integers.
    axis : int, optional
        Axis to run along. May be left out for a 1-d array only.
    dtype : dtype, optional
        Dtype to convert the elements to, compute in and return. By default that of `x`, but narrow
        integers are widened to the device's default integer (unsigned ones to the unsigned dtype of
        that width).
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
    TypeError
        If `dtype` is bool, or real where `x` is complex.

    See Also
    --------
    sum : Return only the last of these.

    Examples
    --------
    >>> import portarray as pa
    >>> sizes = pa.asarray([2, 3, 5])
    >>> pa.cumulative_sum(sizes).tolist()
    [2, 5, 10]
    >>> pa.cumulative_sum(sizes, include_initial=True).tolist()
    [0, 2, 5, 10]
    >>> pa.cumulative_sum(pa.asarray([[1, 2], [3, 4]]), axis=0).tolist()
    [[1, 2], [4, 6]]
    """
    if unknown:
        raise _name_hints.unexpected_keyword(cumulative_sum, unknown)
    if include_initial is not False:
        include_initial = arguments.flag(include_initial, "include_initial")
    axis = _running_axis(axis, x, "cumulative_sum")
    if dtype is None:
        return call.options("cumulative_sum", x, axis=axis, include_initial=include_initial)
    arguments.numeric(dtype, "cumulative_sum", x)
    return slow_path.apply(
        "cumulative_sum", (x,), axis=axis, dtype=dtype, include_initial=include_initial
    )


def _running_axis(axis: int | None, x: Array, function: str) -> int:
    if axis is not None:
        return arguments.axis(axis, x)
    if arguments.is_array(x) and x.ndim != 1:
        raise ValueError(
            f"{function}: axis is required for an array of {x.ndim} axes"
            f"{'' if x.ndim else '; a 0-d array has none'}"
        )
    return 0
