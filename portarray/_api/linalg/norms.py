"""Norms of vectors and matrices."""

from __future__ import annotations

from math import inf
from typing import TYPE_CHECKING, Literal

from portarray._api import arguments
from portarray._array import call

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import Axes

_SINGULAR_VALUES = (2, "nuc")
_OF_NOTHING = (1, inf, *_SINGULAR_VALUES)
_MATRIX_ORDERS = ("fro", "nuc", 1, 2, inf, -1, -2, -inf)


def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: int | float | Literal["fro", "nuc"] | None = "fro"
) -> Array:
    """Return norms of matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)`` and any dtype; integers and booleans are converted to the
        device's default floating-point dtype first.
    keepdims : bool, default: False
        Whether the last two axes stay, with size 1.
    ord : {"fro", "nuc", 1, 2, inf, -1, -2, -inf} or None, default: "fro"
        Which norm: ``"fro"`` (and None) the Frobenius norm, ``"nuc"`` the sum of the singular
        values, 1 the largest sum of absolute values in a column, `inf` in a row, 2 the largest
        singular value. The negative ones take the smallest instead.

    Returns
    -------
    Array
        Real array of shape ``(...)``.

    Raises
    ------
    ValueError
        If `ord` is unknown, `x` has fewer than two axes, or there is no element to choose from.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, -2.0], [3.0, 4.0]])
    >>> float(pa.linalg.matrix_norm(x, ord=1)), float(pa.linalg.matrix_norm(x, ord=pa.inf))
    (6.0, 7.0)
    >>> pa.linalg.matrix_norm(pa.ones((5, 2, 2))).tolist()
    [2.0, 2.0, 2.0, 2.0, 2.0]
    """
    arguments.matrices(x, "linalg.matrix_norm")
    if ord is None:
        ord = "fro"
    arguments.choice(ord, "ord", _MATRIX_ORDERS)
    if keepdims is not False:
        keepdims = arguments.flag(keepdims, "keepdims")
    # The norm of an empty matrix is 0, but libraries look for the largest of no elements.
    if ord in _OF_NOTHING and arguments.is_array(x) and not x.size:
        half = x.dtype.itemsize == 2  # which has no singular values: refused below
        ord = ord if half and ord in _SINGULAR_VALUES else "fro"
    return call.options("linalg.matrix_norm", x, keepdims=keepdims, ord=ord)


def vector_norm(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, ord: int | float = 2
) -> Array:
    """Return norms of vectors.

    Parameters
    ----------
    x : Array
        Array of any dtype; integers and booleans are converted to the device's default
        floating-point dtype first.
    axis : int or tuple of int, optional
        Axis that holds the vectors; several hold one vector together. By default all of `x` is
        one vector.
    keepdims : bool, default: False
        Whether these axes stay, with size 1.
    ord : int or float, default: 2
        Which norm: ``p`` is ``sum(abs(x) ** p) ** (1 / p)``, `inf` the largest absolute value,
        ``-inf`` the smallest, and 0 the number of elements that are not zero.

    Returns
    -------
    Array
        Real array without these axes.

    Raises
    ------
    AxisError
        If `x` has no such axis.
    TypeError
        If `ord` is not a real number.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[3.0, -4.0], [0.0, 12.0]])
    >>> float(pa.linalg.vector_norm(x)), pa.linalg.vector_norm(x, axis=1).tolist()
    (13.0, [5.0, 12.0])
    >>> [float(pa.linalg.vector_norm(x, ord=n)) for n in (1, pa.inf, 0)]
    [19.0, 12.0, 3.0]
    """
    if keepdims is not False:
        keepdims = arguments.flag(keepdims, "keepdims")
    if axis is not None:
        axis = arguments.axes(axis, x)
    order = arguments.real_number(ord, "ord")
    if order == inf and arguments.is_array(x) and not x.size:
        order = 1  # as for matrices
    return call.options("linalg.vector_norm", x, axis=axis, keepdims=keepdims, ord=order)
