"""Decompositions of matrices."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from portarray._api import arguments
from portarray._array import call
from portarray._result_types import EighResult, EigResult, QRResult, SVDResult

if TYPE_CHECKING:
    from portarray._array.array import Array


def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return Cholesky factors of Hermitian, positive-definite matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``. That the matrices are Hermitian is not checked: one
        triangle is read. Integers and booleans are converted to the device's default
        floating-point dtype first.
    upper : bool, default: False
        Whether to return upper triangles ``U`` with ``x = U^H U``, instead of lower triangles
        ``L`` with ``x = L L^H``.

    Returns
    -------
    Array
        Array of the shape of `x`; the other triangle is zero.

    Raises
    ------
    LinAlgError
        If the matrices are not square, or one is not positive-definite; where a library does not
        look, looking waits for the result, which ``pa.config(check_linalg=False)`` saves.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[4.0, 2.0], [2.0, 5.0]])
    >>> lower = pa.linalg.cholesky(x)
    >>> lower.tolist()
    [[2.0, 0.0], [1.0, 2.0]]
    >>> (lower @ lower.mT).tolist()
    [[4.0, 2.0], [2.0, 5.0]]
    """
    if upper is not False:
        upper = arguments.flag(upper, "upper")
    return call.options("linalg.cholesky", x, upper=upper)


def eig(x: Array, /) -> EigResult[Array]:
    """Return eigenvalues and eigenvectors of square matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``; integers and booleans are converted to the device's default
        floating-point dtype first.

    Returns
    -------
    EigResult
        Named tuple ``(eigenvalues, eigenvectors)`` of complex arrays of shapes ``(..., M)`` and
        ``(..., M, M)``; column ``i`` of the second belongs to element ``i`` of the first.

    Raises
    ------
    LinAlgError
        If the matrices are not square. NaN and infinity in a matrix make its eigenvalues NaN.

    See Also
    --------
    eigh : Return those of Hermitian matrices: real, faster and more exact.

    Notes
    -----
    The order of the eigenvalues, and length and phase of the eigenvectors, differ between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[2.0, 1.0], [0.0, 3.0]])
    >>> values, vectors = pa.linalg.eig(x)
    >>> values.dtype, vectors.shape
    (dtype('complex128'), (2, 2))
    >>> bool(pa.max(pa.abs(x @ vectors - vectors * values)) < 1e-6)
    True
    """
    return EigResult(*call.several("linalg.eig", x))


def eigh(x: Array, /) -> EighResult[Array]:
    """Return eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``. That the matrices are Hermitian is not checked: one
        triangle is read. Integers and booleans are converted to the device's default
        floating-point dtype first.

    Returns
    -------
    EighResult
        Named tuple ``(eigenvalues, eigenvectors)``: real values of shape ``(..., M)`` and
        orthonormal vectors of shape ``(..., M, M)`` in the dtype of `x`; column ``i`` of the
        second belongs to element ``i`` of the first.

    Raises
    ------
    LinAlgError
        If the matrices are not square. NaN and infinity in a matrix make its eigenvalues NaN.

    Notes
    -----
    The sign (phase) of the eigenvectors differs between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[2.0, 1.0], [1.0, 2.0]])
    >>> values, vectors = pa.linalg.eigh(x)
    >>> pa.round(pa.sort(values)).tolist()
    [1.0, 3.0]
    >>> pa.round((vectors * values) @ vectors.mT).tolist()
    [[2.0, 1.0], [1.0, 2.0]]
    """
    return EighResult(*call.several("linalg.eigh", x))


def eigvals(x: Array, /) -> Array:
    """Return the eigenvalues of square matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``; integers and booleans are converted to the device's default
        floating-point dtype first.

    Returns
    -------
    Array
        Complex array of shape ``(..., M)``, in an order that differs between devices.

    Raises
    ------
    LinAlgError
        If the matrices are not square. NaN and infinity in a matrix make its eigenvalues NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> turn = pa.asarray([[0.0, -1.0], [1.0, 0.0]])
    >>> sorted(round(v.imag, 6) for v in pa.linalg.eigvals(turn).tolist())
    [-1.0, 1.0]
    """
    return call.options("linalg.eigvals", x)


def eigvalsh(x: Array, /) -> Array:
    """Return the eigenvalues of Hermitian matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, M)``. That the matrices are Hermitian is not checked: one
        triangle is read. Integers and booleans are converted to the device's default
        floating-point dtype first.

    Returns
    -------
    Array
        Real array of shape ``(..., M)``.

    Raises
    ------
    LinAlgError
        If the matrices are not square. NaN and infinity in a matrix make its eigenvalues NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> values = pa.linalg.eigvalsh(pa.asarray([[0, -1j], [1j, 0]]))
    >>> values.dtype, pa.round(pa.sort(values)).tolist()
    (dtype('float64'), [-1.0, 1.0])
    """
    return call.options("linalg.eigvalsh", x)


def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult[Array]:
    """Factor matrices into orthonormal columns and an upper triangle.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``; integers and booleans are converted to the device's default
        floating-point dtype first.
    mode : {"reduced", "complete"}, default: "reduced"
        Whether ``Q`` has ``K = min(M, N)`` columns, or ``K = M`` of them.

    Returns
    -------
    QRResult
        Named tuple ``(Q, R)`` of arrays of shapes ``(..., M, K)`` and ``(..., K, N)``, with
        ``x = Q @ R``.

    Raises
    ------
    LinAlgError
        If `x` has fewer than two axes.
    ValueError
        If `mode` is unknown.

    Notes
    -----
    The signs of the diagonal of ``R`` differ between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> q, r = pa.linalg.qr(x)
    >>> q.shape, r.shape
    ((3, 2), (2, 2))
    >>> pa.round(q @ r).tolist()
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    >>> pa.linalg.qr(x, mode="complete").Q.shape
    (3, 3)
    """
    arguments.matrices(x, "linalg.qr")
    arguments.choice(mode, "mode", ("reduced", "complete"))
    return QRResult(*call.several("linalg.qr", x, mode=mode))


def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult[Array]:
    """Return the singular value decomposition of matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``; integers and booleans are converted to the device's default
        floating-point dtype first.
    full_matrices : bool, default: True
        Whether ``U`` and ``Vh`` are square, or have ``K = min(M, N)`` columns and rows.

    Returns
    -------
    SVDResult
        Named tuple ``(U, S, Vh)`` of arrays of shapes ``(..., M, M)`` or ``(..., M, K)``,
        ``(..., K)``, and ``(..., N, N)`` or ``(..., K, N)``. ``S`` is real and descends. With
        ``full_matrices=False``, ``x`` is ``(U * S[..., None, :]) @ Vh``.

    Raises
    ------
    LinAlgError
        If `x` has fewer than two axes. NaN and infinity in a matrix make its singular values NaN.

    Notes
    -----
    The signs (phases) of the vectors differ between devices.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    >>> u, s, vh = pa.linalg.svd(x, full_matrices=False)
    >>> u.shape, s.shape, vh.shape
    ((3, 2), (2,), (2, 2))
    >>> pa.round((u * s) @ vh).tolist()
    [[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]
    """
    arguments.matrices(x, "linalg.svd")
    if full_matrices is not True:
        full_matrices = arguments.flag(full_matrices, "full_matrices")
    return SVDResult(*call.several("linalg.svd", x, full_matrices=full_matrices))


def svdvals(x: Array, /) -> Array:
    """Return the singular values of matrices.

    Parameters
    ----------
    x : Array
        Array of shape ``(..., M, N)``; integers and booleans are converted to the device's default
        floating-point dtype first.

    Returns
    -------
    Array
        Real array of shape ``(..., min(M, N))``, descending.

    Raises
    ------
    LinAlgError
        If `x` has fewer than two axes. NaN and infinity in a matrix make its singular values NaN.

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.asarray([[0.0, 3.0, 0.0], [4.0, 0.0, 0.0]])
    >>> pa.round(pa.linalg.svdvals(x)).tolist()
    [4.0, 3.0]
    """
    arguments.matrices(x, "linalg.svdvals")
    return call.options("linalg.svdvals", x)
