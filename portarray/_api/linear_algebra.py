"""Products of arrays as vectors, matrices and tensors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array


def matmul(x1: Array, x2: Array, /) -> Array:
    """Multiply matrices.

    Parameters
    ----------
    x1 : Array
        Numeric array of shape ``(..., M, K)`` or ``(K,)``.
    x2 : Array
        Numeric array of shape ``(..., K, N)`` or ``(K,)``. Promoted together with `x1`.

    Returns
    -------
    Array
        Array of shape ``(..., M, N)``; the leading axes of both are broadcast. A 1-d operand is
        a row on the left and a column on the right, and its axis is missing from the result.

    Raises
    ------
    ValueError
        If an operand is 0-d or the shapes do not fit.
    TypeError
        If an operand is boolean.

    Notes
    -----
    Integers stay integers and wrap around. Devices add in different orders, and some multiply
    float32 in a lower precision where they are told to.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.matmul(pa.asarray([[1, 2], [3, 4]]), pa.asarray([1, 1])).tolist()
    [3, 7]
    """
    return call.aligned("matmul", x1, x2)


def matrix_transpose(x: Array, /) -> Array:
    """Swap the last two axes of an array.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``.

    Returns
    -------
    Array
        Array of shape ``(..., N, M)``, a view where the library has views. Complex numbers are
        not conjugated.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.matrix_transpose(pa.asarray([[1, 2, 3], [4, 5, 6]])).tolist()
    [[1, 4], [2, 5], [3, 6]]
    >>> pa.matrix_transpose(pa.ones((5, 2, 3))).shape
    (5, 3, 2)
    """
    arguments.matrices(x, "matrix_transpose")
    return call.options("matrix_transpose", x)


def tensordot(
    x1: Array, x2: Array, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> Array:
    """Contract two arrays: multiply them and sum over pairs of axes.

    Parameters
    ----------
    x1, x2 : Array
        Numeric arrays, promoted together.
    axes : int or pair of sequences of int, default: 2
        ``N`` contracts the last ``N`` axes of `x1` with the first ``N`` of `x2`; 0 gives the outer
        product. A pair names the axes of `x1` and, in the same order, those of `x2`.

    Returns
    -------
    Array
        Array with the axes of `x1` that were not contracted, then those of `x2`.

    Raises
    ------
    AxisError
        If an array has no such axis.
    ValueError
        If `axes` is negative, or contracted axes differ in number or size. They are not broadcast.

    Notes
    -----
    Complex numbers are not conjugated.

    Examples
    --------
    >>> import portarray as pa
    >>> x1, x2 = pa.ones((2, 3, 4)), pa.ones((4, 3, 5))
    >>> pa.tensordot(x1, x2, axes=1).shape
    (2, 3, 3, 5)
    >>> pa.tensordot(x1, x2, axes=((1, 2), (1, 0))).tolist()
    [[12.0, 12.0, 12.0, 12.0, 12.0], [12.0, 12.0, 12.0, 12.0, 12.0]]
    """
    if isinstance(axes, int):
        count = arguments.size(axes, "axes")
        if arguments.is_array(x1) and arguments.is_array(x2) and count > min(x1.ndim, x2.ndim):
            raise ValueError(
                f"tensordot: axes={axes} exceeds the number of axes, {x1.ndim} and {x2.ndim}"
            )
        return call.aligned("tensordot", x1, x2, axes=count)
    if not isinstance(axes, (list, tuple)):
        raise TypeError(
            f"tensordot: axes must be an integer or a pair of tuples of integers, not {axes!r}"
        )
    first, second = (
        arguments.axis_tuple(contracted, x, "axes")
        for contracted, x in zip(axes, (x1, x2), strict=True)
    )
    return call.aligned("tensordot", x1, x2, axes=(first, second))


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Multiply vectors: the dot products along an axis.

    Parameters
    ----------
    x1 : Array
        Numeric array; it is conjugated if complex.
    x2 : Array
        Numeric array. Promoted together with `x1`.
    axis : int, default: -1
        Axis that holds the vectors, the same for both; their sizes must be equal there. All other
        axes are broadcast.

    Returns
    -------
    Array
        Array of the broadcast shape without `axis`.

    Raises
    ------
    AxisError
        If an operand has no such axis.
    ValueError
        If the vectors differ in size. They are not broadcast.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.vecdot(pa.asarray([[1, 2], [3, 4]]), pa.asarray([10, 1])).tolist()
    [12, 34]
    >>> complex(pa.vecdot(pa.asarray([1j, 2]), pa.asarray([1, 1])))
    (2-1j)
    """
    axis = arguments.axis(axis, x1)
    if axis < 0:
        arguments.axis(axis, x2)
    return call.aligned("vecdot", x1, x2, axis=axis)
