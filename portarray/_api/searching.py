"""Searching functions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Never, overload

from portarray import _name_hints
from portarray._api import arguments
from portarray._api.reductions import reduced
from portarray._array import call, operands, slow_path
from portarray._array.array import Array

if TYPE_CHECKING:
    from portarray.typing import Axes, Real, Scalar


@_name_hints.hide_var_keywords
def argmax(
    x: Array, /, *, axis: int | None = None, keepdims: bool = False, **unknown: Never
) -> Array:
    """Return the index of the largest element along an axis.

    Parameters
    ----------
    x : Array
        Boolean or real array.
    axis : int, optional
        Axis to search along. By default the array is searched as if flattened.
    keepdims : bool, default: False
        Whether the searched axes stay, with size 1.

    Returns
    -------
    Array
        Indices in the device's index dtype. Of equal elements the first is taken.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If there is no element to choose from.
    TypeError
        If `x` is complex: complex numbers have no order.

    Notes
    -----
    The first NaN counts as the largest element.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 9, 9], [7, 3, 5]])
    >>> pa.argmax(x, axis=1).tolist(), int(pa.argmax(x))
    ([1, 0], 1)
    >>> int(pa.argmax(pa.asarray([1.0, pa.nan, 3.0])))
    1
    """
    if unknown:
        raise _name_hints.unexpected_keyword(argmax, unknown)
    if keepdims is not False:
        keepdims = arguments.flag(keepdims, "keepdims")
    if axis is not None:
        axis = arguments.axis(axis, x)
    return call.options("argmax", x, axis=axis, keepdims=keepdims)


@_name_hints.hide_var_keywords
def argmin(
    x: Array, /, *, axis: int | None = None, keepdims: bool = False, **unknown: Never
) -> Array:
    """Return the index of the smallest element along an axis.

    Parameters
    ----------
    x : Array
        Boolean or real array.
    axis : int, optional
        Axis to search along. By default the array is searched as if flattened.
    keepdims : bool, default: False
        Whether the searched axes stay, with size 1.

    Returns
    -------
    Array
        Indices in the device's index dtype. Of equal elements the first is taken.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    ValueError
        If there is no element to choose from.
    TypeError
        If `x` is complex: complex numbers have no order.

    Notes
    -----
    The first NaN counts as the smallest element.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[4, 2, 2], [7, 1, 5]])
    >>> pa.argmin(x, axis=1).tolist(), int(pa.argmin(x))
    ([1, 1], 4)
    >>> int(pa.argmin(pa.asarray([1.0, pa.nan, -3.0])))
    1
    """
    if unknown:
        raise _name_hints.unexpected_keyword(argmin, unknown)
    if keepdims is not False:
        keepdims = arguments.flag(keepdims, "keepdims")
    if axis is not None:
        axis = arguments.axis(axis, x)
    return call.options("argmin", x, axis=axis, keepdims=keepdims)


@_name_hints.hide_var_keywords
def count_nonzero(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, **unknown: Never
) -> Array:
    """Count the elements that are not zero.

    Parameters
    ----------
    x : Array
        Array of any dtype. NaN counts, and so does a complex number with one part that is not
        zero.
    axis : int or tuple of int, optional
        Axes to count along; all of them by default.
    keepdims : bool, default: False
        Whether the counted axes stay, with size 1.

    Returns
    -------
    Array
        Counts in the device's index dtype.

    Raises
    ------
    AxisError
        If `x` has no such axis.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[0.0, 1.0], [pa.nan, -2.0]])
    >>> int(pa.count_nonzero(x)), pa.count_nonzero(x, axis=0).tolist()
    (3, [1, 2])
    >>> int(pa.count_nonzero(x > 0))
    1
    """
    if unknown:
        raise _name_hints.unexpected_keyword(count_nonzero, unknown)
    if axis is None and keepdims is False:
        return call.unary("count_nonzero", x)
    return reduced("count_nonzero", x, axis, keepdims)


def nonzero(x: Array, /) -> tuple[Array, ...]:
    """Return the indices of the elements that are not zero.

    Parameters
    ----------
    x : Array
        Array of any dtype with at least one axis.

    Returns
    -------
    tuple of Array
        For each axis of `x` one 1-d array of indices, in row-major order and the device's index
        dtype.

    Raises
    ------
    ValueError
        If `x` is 0-d.

    Notes
    -----
    The size of the results depends on the data, so a device must be waited for.

    Examples
    --------
    >>> import portarray as pa
    >>> rows, columns = pa.nonzero(pa.asarray([[0, 5], [6, 0]]))
    >>> rows.tolist(), columns.tolist()
    ([0, 1], [1, 0])
    """
    if arguments.is_array(x) and x.ndim == 0:
        raise ValueError("nonzero: a 0-d array has no axis to index\nHint: reshape it to (1,)")
    return call.several("nonzero", x)


def searchsorted(
    x1: Array,
    x2: Array | Real,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: Array | None = None,
) -> Array:
    """Find where values would have to be inserted into a sorted array to keep it sorted.

    Parameters
    ----------
    x1 : Array
        1-d array in ascending order, or in any order if `sorter` says how to sort it.
    x2 : Array or scalar
        Values to find a place for, of any shape. Promoted together with `x1`.
    side : {"left", "right"}, default: "left"
        Whether a value goes before or after the elements equal to it.
    sorter : Array, optional
        Indices that sort `x1`, as ``argsort`` returns them.

    Returns
    -------
    Array
        Indices from 0 to the size of `x1`, of the shape of `x2`, in the device's index dtype.
        With ``side="left"`` index ``i`` has ``x1[i - 1] < v <= x1[i]``, with ``"right"``
        ``x1[i - 1] <= v < x1[i]``.

    Raises
    ------
    ValueError
        If `x1` is not 1-d, if `sorter` is not of its shape, or if `side` is unknown.

    Notes
    -----
    NaN is larger than every number, as in ``sort``.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.searchsorted(pa.asarray([1, 3, 3, 5]), pa.asarray([3, 9]), side="right").tolist()
    [3, 4]
    """
    arguments.choice(side, "side", ("left", "right"))
    if not arguments.is_array(x1):
        raise operands.refused(x1, "searchsorted", scalars=False)
    if x1.ndim != 1:
        raise ValueError(f"searchsorted: x1 must have one axis, and has shape {x1.shape}")
    arguments.indices(sorter, "sorter")
    if sorter is not None and getattr(sorter, "shape", x1.shape) != x1.shape:
        raise ValueError(
            f"searchsorted: sorter must have the shape of x1, {x1.shape}, and has {sorter.shape}"
        )
    if sorter is None:
        return call.aligned("searchsorted", x1, x2, side=side)
    return slow_path.apply(
        "searchsorted", operands.promote("searchsorted", x1, x2), side=side, sorter=sorter
    )


@overload
def where(condition: Array, x1: Array | Scalar, x2: Array | Scalar, /) -> Array: ...
@overload
def where(condition: Array, /) -> tuple[Array, ...]: ...
def where(
    condition: Array, x1: Array | Scalar | None = None, x2: Array | Scalar | None = None, /
) -> Array | tuple[Array, ...]:
    """Choose elements from one of two arrays.

    Parameters
    ----------
    condition : Array
        Boolean array: where it is True the element comes from `x1`, elsewhere from `x2`.
    x1, x2 : Array or scalar
        What to choose from, promoted together. Two scalars promote as two 0-d arrays would.

    Returns
    -------
    Array
        Array of the broadcast shape of the three, in the dtype that `x1` and `x2` promote to.
        Without `x1` and `x2` the answer is that of :func:`nonzero`: so do NumPy, PyTorch, CuPy
        and JAX, beyond the standard.

    Raises
    ------
    TypeError
        If `condition` is not boolean, or only one of `x1` and `x2` is given.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([-1.0, 2.0])
    >>> pa.where(x > 0, x, 0).tolist()
    [0.0, 2.0]
    """
    if x1 is None and x2 is None:
        return nonzero(condition)
    if x1 is None or x2 is None:
        raise TypeError("where: expected both x1 and x2, or neither")
    if arguments.is_array(condition) and condition.dtype.kind != "b":
        raise TypeError(
            f"where: the condition must be boolean, and has dtype {condition.dtype}\n"
            f"Hint: compare it first, as in x != 0"
        )
    if not arguments.is_array(x1) and not arguments.is_array(x2) and arguments.is_array(condition):
        x1 = operands.from_scalar(x1, "where", condition.device)
    if not arguments.is_array(condition):
        raise operands.refused(condition, "where", scalars=False)
    return call.where(condition, x1, x2)
