"""Decompositions, by NumPy's LAPACK on the host.

On devices that compute in host memory LAPACK reads the arrays where they lie. float16 and
bfloat16 are computed in float32. Accuracy is LAPACK's: residuals of a few ``n * eps`` at the scale
of the matrix's norm, the same on every device.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from portarray.clarray.array import Array
from portarray.clarray.engine import host
from portarray.clarray.linalg.lapack import full, matrices, on_host, square
from portarray.clarray.linalg.results import EighResult, EigResult, QRResult, SVDResult

__all__ = ["cholesky", "eig", "eigh", "eigvals", "eigvalsh", "qr", "svd", "svdvals"]

NumpyArray = np.ndarray[Any, Any]


def _complex(x: NumpyArray) -> NumpyArray:
    """Return an array in the complex dtype of its precision."""
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


@host.served
def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return triangles whose product with their conjugate transpose is a matrix.

    Parameters
    ----------
    x : Array
        Floating-point, of shape ``(..., M, M)``, Hermitian and positive definite; one triangle
        is looked at.
    upper : bool, default: False
        Whether ``U`` with ``x = U^H U`` is meant rather than ``L`` with ``x = L L^H``.

    Returns
    -------
    Array
        Of the shape and dtype of ``x``; the other triangle is 0.

    Raises
    ------
    numpy.linalg.LinAlgError
        If a matrix is not positive definite.
    TypeError, ValueError
        If the argument is no floating-point array of square matrices.
    """
    found: Array = on_host(lambda a: np.linalg.cholesky(a, upper=upper), square(x, "cholesky"))
    return found


@host.served
def eigh(x: Array, /) -> EighResult:
    """Return eigenvalues and eigenvectors of Hermitian matrices.

    Parameters
    ----------
    x : Array
        Floating-point, of shape ``(..., M, M)``; its lower triangle is looked at.

    Returns
    -------
    EighResult
        ``eigenvalues``, real, ascending, of shape ``(..., M)``; ``eigenvectors``, orthonormal, in
        the columns of an array of the shape and dtype of ``x``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the iteration does not converge.
    TypeError, ValueError
        If the argument is no floating-point array of square matrices.
    """
    return EighResult(*on_host(lambda a: tuple(np.linalg.eigh(a)), square(x, "eigh")))


@host.served
def eigvalsh(x: Array, /) -> Array:
    """Return eigenvalues of Hermitian matrices.

    Parameters
    ----------
    x : Array
        Floating-point, of shape ``(..., M, M)``; its lower triangle is looked at.

    Returns
    -------
    Array
        Real, ascending, of shape ``(..., M)``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the iteration does not converge.
    TypeError, ValueError
        If the argument is no floating-point array of square matrices.
    """
    found: Array = on_host(np.linalg.eigvalsh, square(x, "eigvalsh"))
    return found


@host.served
def eig(x: Array, /) -> EigResult:
    """Return eigenvalues and eigenvectors of square matrices.

    Parameters
    ----------
    x : Array
        Floating-point, of shape ``(..., M, M)``.

    Returns
    -------
    EigResult
        ``eigenvalues`` of shape ``(..., M)``, in no order; ``eigenvectors``, of length one, in the
        columns of an array of the shape of ``x``. Both are complex, also where all are real.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the iteration does not converge.
    TypeError, ValueError
        If the argument is no floating-point array of square matrices.
    """

    def decompose(a: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
        values, vectors = np.linalg.eig(a)
        return _complex(values), _complex(vectors)

    return EigResult(*host.run(lambda a: decompose(full(a)), square(x, "eig")))


@host.served
def eigvals(x: Array, /) -> Array:
    """Return eigenvalues of square matrices.

    Parameters
    ----------
    x : Array
        Floating-point, of shape ``(..., M, M)``.

    Returns
    -------
    Array
        Complex, also where all are real, of shape ``(..., M)``, in no order.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the iteration does not converge.
    TypeError, ValueError
        If the argument is no floating-point array of square matrices.
    """
    found: Array = host.run(lambda a: _complex(np.linalg.eigvals(full(a))), square(x, "eigvals"))
    return found


@host.served
def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult:
    """Return an orthonormal basis of the columns of matrices, and the columns in it.

    Parameters
    ----------
    x : Array
        Floating-point, of shape ``(..., M, N)``.
    mode : {"reduced", "complete"}
        Whether ``Q`` has ``K = min(M, N)`` columns or ``M``.

    Returns
    -------
    QRResult
        ``Q`` of shape ``(..., M, K)`` with orthonormal columns, and ``R``, upper triangular, of
        shape ``(..., K, N)``; ``x = Q R``.

    Raises
    ------
    TypeError, ValueError
        If the argument is no floating-point array of matrices, or the mode is another.
    """
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is {mode!r}; use 'reduced' or 'complete'")
    return QRResult(*on_host(lambda a: tuple(np.linalg.qr(a, mode)), matrices(x, "qr")))


@host.served
def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult:
    """Return singular values and vectors of matrices.

    Parameters
    ----------
    x : Array
        Floating-point, of shape ``(..., M, N)``.
    full_matrices : bool, default: True
        Whether ``U`` and ``Vh`` are square; else they have ``K = min(M, N)`` columns and rows.

    Returns
    -------
    SVDResult
        ``U`` with orthonormal columns, ``S`` of shape ``(..., K)``, real and descending, and ``Vh``
        with orthonormal rows; ``x = U S Vh``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the iteration does not converge.
    TypeError, ValueError
        If the argument is no floating-point array of matrices.
    """
    return SVDResult(
        *on_host(lambda a: tuple(np.linalg.svd(a, full_matrices=full_matrices)), matrices(x, "svd"))
    )


@host.served
def svdvals(x: Array, /) -> Array:
    """Return singular values of matrices.

    Parameters
    ----------
    x : Array
        Floating-point, of shape ``(..., M, N)``.

    Returns
    -------
    Array
        Real, descending, of shape ``(..., min(M, N))``.

    Raises
    ------
    numpy.linalg.LinAlgError
        If the iteration does not converge.
    TypeError, ValueError
        If the argument is no floating-point array of matrices.
    """
    found: Array = on_host(np.linalg.svdvals, matrices(x, "svdvals"))
    return found
