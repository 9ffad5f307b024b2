"""Diagonals and triangles."""

from __future__ import annotations

from operator import index
from typing import TYPE_CHECKING

from portarray._api import arguments
from portarray._array import call, slow_path

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray.typing import DeviceLike, DTypeLike


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

    Examples
    --------
    >>> import portarray as pa
    >>> pa.eye(2, 3, k=1, dtype=pa.int64).tolist()
    [[0, 1, 0], [0, 0, 1]]
    """
    rows = arguments.size(n_rows, "n_rows")
    columns = rows if n_cols is None else arguments.size(n_cols, "n_cols")
    # A diagonal beyond the corners is empty; some libraries overflow there.
    k = max(-rows, min(columns, index(k)))
    shape = (rows, columns)
    return slow_path.create("eye", shape, dtype=dtype, device=device, shape=shape, k=k)


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

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 2, 3], [4, 5, 6], [7, 8, 9]])
    >>> pa.tril(x).tolist()
    [[1, 0, 0], [4, 5, 0], [7, 8, 9]]
    >>> pa.tril(x, k=-1).tolist()
    [[0, 0, 0], [4, 0, 0], [7, 8, 0]]
    """
    arguments.matrices(x, "tril")
    return call.options("tril", x, k=index(k))


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

    Examples
    --------
    >>> import portarray as pa
    >>> pa.triu(pa.asarray([[1, 2, 3], [4, 5, 6]])).tolist()
    [[1, 2, 3], [0, 5, 6]]

    A mask of the places that come later, as attention needs it:

    >>> pa.triu(pa.ones((3, 3), dtype=pa.bool), k=1).tolist()
    [[False, True, True], [False, False, True], [False, False, False]]
    """
    arguments.matrices(x, "triu")
    return call.options("triu", x, k=index(k))
