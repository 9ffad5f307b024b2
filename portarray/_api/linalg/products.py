"""Products of vectors, and diagonals of matrices."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call, slow_path

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import DTypeLike


def cross(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Multiply vectors of three elements: the cross products along an axis.

    Parameters
    ----------
    x1, x2 : Array
        Arrays with 3 elements along `axis`; all other axes are broadcast. Promoted together.
    axis : int, default: -1
        Axis that holds the vectors, counted from the end of both shapes.

    Returns
    -------
    Array
        Array of the broadcast shape.

    Raises
    ------
    AxisError
        If an operand has no such axis.
    ValueError
        If an operand does not have 3 elements along the axis.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.linalg.cross(pa.asarray([1, 2, 3]), pa.asarray([4, 5, 6])).tolist()
    [-3, 6, -3]
    >>> pa.linalg.cross(pa.ones((4, 3)), pa.ones((2, 1, 3))).shape
    (2, 4, 3)
    """
    axis = arguments.axis(axis, x1)
    arguments.axis(axis, x2)
    for x in (x1, x2):
        if arguments.is_array(x) and x.shape[axis] != 3:
            raise ValueError(
                f"cross: vectors must have 3 elements, and shape {x.shape} has {x.shape[axis]} "
                f"along "
                f"axis {axis}"
            )
    return call.aligned("linalg.cross", x1, x2, axis=axis)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return a diagonal of matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``.
    offset : int, default: 0
        Which diagonal: 0 is the main one, positive ones lie above it, negative ones below.

    Returns
    -------
    Array
        Array of shape ``(..., K)`` with the ``K`` elements of the diagonal, none for a diagonal
        outside the matrix.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 2, 3], [4, 5, 6]])
    >>> pa.linalg.diagonal(x).tolist(), pa.linalg.diagonal(x, offset=1).tolist()
    ([1, 5], [2, 6])
    >>> pa.linalg.diagonal(x, offset=3).shape
    (0,)
    """
    arguments.matrices(x, "linalg.diagonal")
    return call.options("linalg.diagonal", x, offset=index(offset))


def outer(x1: Array, x2: Array, /) -> Array:
    """Multiply each element of a vector with each of another.

    Parameters
    ----------
    x1, x2 : Array
        1-d arrays of sizes ``N`` and ``M``. Promoted together.

    Returns
    -------
    Array
        Array of shape ``(N, M)``. Complex numbers are not conjugated.

    Raises
    ------
    ValueError
        If an operand is not 1-d.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.linalg.outer(pa.asarray([1, 2]), pa.asarray([10, 20, 30])).tolist()
    [[10, 20, 30], [20, 40, 60]]
    """
    for x in (x1, x2):
        if arguments.is_array(x) and x.ndim != 1:
            raise ValueError(f"outer: expected 1-d arrays, got shape {x.shape}")
    return call.aligned("linalg.outer", x1, x2)


def trace(x: Array, /, *, offset: int = 0, dtype: DTypeLike | None = None) -> Array:
    """Add the elements of a diagonal of matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``; booleans are counted.
    offset : int, default: 0
        Which diagonal: 0 is the main one, positive ones lie above it, negative ones below.
    dtype : dtype, optional
        Dtype to compute in and return. By default that of `x`, but narrow integers are widened to
        the device's default integer (unsigned ones to the unsigned dtype of that width).

    Returns
    -------
    Array
        Array of shape ``(...)``.

    Raises
    ------
    ValueError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[100, 2], [3, 100]], dtype=pa.int8)
    >>> int(pa.linalg.trace(x)), pa.linalg.trace(x).dtype
    (200, dtype('int64'))
    >>> int(pa.linalg.trace(x, offset=1))
    2
    """
    arguments.matrices(x, "linalg.trace")
    if dtype is None:
        return call.options("linalg.trace", x, offset=index(offset))
    arguments.numeric(dtype, "trace")
    return slow_path.apply("linalg.trace", (x,), offset=index(offset), dtype=dtype)
