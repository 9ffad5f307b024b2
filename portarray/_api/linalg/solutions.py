"""Determinants, inverses, powers and ranks of matrices, and systems of equations."""

from __future__ import annotations

from operator import index

from portarray._api import arguments
from portarray._array import call, slow_path
from portarray._array.array import Array
from portarray._result_types import SlogdetResult


def det(x: Array, /) -> Array:
    """Return the determinants of square matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``; integers and booleans are converted to the device's default
        floating-point dtype first.

    Returns
    -------
    Array
        Array of shape ``(...)``; 1 for matrices of size 0.

    Raises
    ------
    LinAlgError
        If the matrices are not square.

    See Also
    --------
    slogdet : Determinants too large or too small for the dtype.

    Examples
    --------
    >>> import portarray as pa
    >>> float(pa.linalg.det(pa.asarray([[4.0, 3.0], [2.0, 1.0]])))
    -2.0
    >>> pa.linalg.det(pa.ones((5, 0, 0))).tolist()
    [1.0, 1.0, 1.0, 1.0, 1.0]
    """
    return call.options("linalg.det", x)


def inv(x: Array, /) -> Array:
    """Return the inverses of square matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``; integers and booleans are converted to the device's default
        floating-point dtype first.

    Returns
    -------
    Array
        Array of the shape of `x`.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or one is singular; where a library does not look, looking
        waits for the result, which ``pa.config(check_linalg=False)`` saves.

    See Also
    --------
    solve : Solve equations, faster and more exactly than with an inverse.
    pinv : Return an inverse in the least-squares sense.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.linalg.inv(pa.asarray([[4, 2], [2, 2]])).tolist()
    [[0.5, -0.5], [-0.5, 1.0]]
    >>> pa.linalg.inv(pa.zeros((2, 2)))
    Traceback (most recent call last):
        ...
    portarray.errors.LinAlgError: ... a matrix of shape (2, 2) is singular
    Hint: pa.linalg.pinv computes a least-squares inverse
    """
    return call.options("linalg.inv", x)


def matrix_power(x: Array, n: int, /) -> Array:
    """Raise square matrices to an integer power.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``. Integers stay integers unless `n` is negative.
    n : int
        Exponent: 0 gives identity matrices, negative ones the powers of the inverses.

    Returns
    -------
    Array
        Array of the shape of `x`.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or `n` is negative and one is singular.
    TypeError
        If `n` is not an integer.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1, 1], [1, 0]])
    >>> pa.linalg.matrix_power(x, 10).tolist()
    [[89, 55], [55, 34]]
    >>> pa.linalg.matrix_power(x, 0).tolist()
    [[1, 0], [0, 1]]
    >>> pa.linalg.matrix_power(x, -1).dtype
    dtype('float64')
    """
    n = index(n)
    if n < 0:
        x, n = inv(x), -n
    elif n == 1 and type(x) is Array:
        x = x.copy()  # libraries return the same memory
    return slow_path.apply("linalg.matrix_power", (x,), n)


def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the ranks of matrices: how many singular values are not zero.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``; integers and booleans are converted to the device's default
        floating-point dtype first.
    rtol : float or Array, optional
        Singular values of at most `rtol` times the largest one count as zero. An array must
        broadcast with shape ``(...)``. By default ``max(M, N)`` times the dtype's epsilon.

    Returns
    -------
    Array
        Array of shape ``(...)`` in the device's default integer dtype.

    Raises
    ------
    LinAlgError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import portarray as pa
    >>> int(pa.linalg.matrix_rank(pa.asarray([[1.0, 2.0], [2.0, 4.0]])))
    1
    >>> x = pa.asarray([[1.0, 0.0], [0.0, 1e-3]])
    >>> int(pa.linalg.matrix_rank(x)), int(pa.linalg.matrix_rank(x, rtol=0.01))
    (2, 1)
    """
    arguments.matrices(x, "linalg.matrix_rank")
    if rtol is None:
        return call.options("linalg.matrix_rank", x)
    return slow_path.apply("linalg.matrix_rank", (x,), rtol=_tolerance(rtol))


def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return the pseudo-inverses of matrices, by singular value decomposition.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``; integers and booleans are converted to the device's default
        floating-point dtype first.
    rtol : float or Array, optional
        Singular values of at most `rtol` times the largest one count as zero. An array must
        broadcast with shape ``(...)``. By default ``max(M, N)`` times the dtype's epsilon.

    Returns
    -------
    Array
        Array of shape ``(..., N, M)``.

    Raises
    ------
    LinAlgError
        If `x` has fewer than two axes.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> y = pa.linalg.pinv(x)
    >>> y.shape
    (2, 3)
    >>> pa.round(x @ y @ x).tolist()
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    """
    arguments.matrices(x, "linalg.pinv")
    if rtol is None:
        return call.options("linalg.pinv", x)
    return slow_path.apply("linalg.pinv", (x,), rtol=_tolerance(rtol))


def slogdet(x: Array, /) -> SlogdetResult[Array]:
    """Return signs and logarithms of the determinants of square matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``; integers and booleans are converted to the device's default
        floating-point dtype first.

    Returns
    -------
    SlogdetResult
        Named tuple ``(sign, logabsdet)`` of arrays of shape ``(...)``: the determinant divided by
        its absolute value, in the dtype of `x`, and the natural logarithm of its absolute value,
        which is real. For a determinant of zero they are 0 and -infinity.

    Raises
    ------
    LinAlgError
        If the matrices are not square.

    Examples
    --------
    >>> import portarray as pa
    >>> x = -1e-200 * pa.eye(3, dtype=pa.float64)
    >>> sign, logabsdet = pa.linalg.slogdet(x)
    >>> float(pa.abs(pa.linalg.det(x))), float(sign), round(float(logabsdet), 3)
    (0.0, -1.0, -1381.551)
    """
    return SlogdetResult(*call.several("linalg.slogdet", x))


def solve(x1: Array, x2: Array, /) -> Array:
    """Solve systems of linear equations ``x1 @ x = x2``.

    Parameters
    ----------
    x1 : Array
        Coefficients of shape ``(..., M, M)``.
    x2 : Array
        Right-hand sides of shape ``(..., M, K)``, or ``(M,)`` for one. Promoted together with
        `x1`; integers and booleans are converted to the device's default floating-point dtype.

    Returns
    -------
    Array
        Array of shape ``(..., M, K)``, or ``(..., M)`` for a 1-d `x2`; leading axes are broadcast.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or one is singular; see :func:`inv`.
    ValueError
        If the shapes do not fit.

    Examples
    --------
    >>> import portarray as pa
    >>> pa.linalg.solve(pa.asarray([[2.0, 0.0], [0.0, 4.0]]), pa.asarray([1.0, 2.0])).tolist()
    [0.5, 0.5]
    """
    return call.aligned("linalg.solve", x1, x2)


def _tolerance(rtol: float | Array) -> float | Array:
    return rtol if type(rtol) is Array else arguments.real_number(rtol, "rtol")
