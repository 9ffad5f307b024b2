"""Decompositions, by NumPy's LAPACK on the host.

On devices whose memory is host memory LAPACK works on views. float16 and bfloat16 are computed in
float32. Errors are LAPACK's: residuals of a few ``n * eps`` at the scale of the matrix's norm.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np

from portarray._result_types import EighResult, EigResult, QRResult, SVDResult
from portarray.clarray.engine import host
from portarray.clarray.linalg.lapack import matrices, on_host, square
from portarray.clarray.strided import Array

NumpyArray = np.ndarray[Any, Any]


def _complex(x: NumpyArray) -> NumpyArray:
    """Return an array in the complex dtype of its precision."""
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


@host.served
def cholesky(x: Array, /, *, upper: bool = False) -> Array:
    """Return triangles whose product with their conjugate transpose is a matrix."""
    factor: Array = on_host(lambda a: np.linalg.cholesky(a, upper=upper), square(x, "cholesky"))
    return factor


@host.served
def eigh(x: Array, /) -> EighResult[Array]:
    """Return eigenvalues and eigenvectors of Hermitian matrices."""
    return EighResult(*on_host(lambda a: tuple(np.linalg.eigh(a)), square(x, "eigh")))


@host.served
def eigvalsh(x: Array, /) -> Array:
    """Return eigenvalues of Hermitian matrices."""
    values: Array = on_host(np.linalg.eigvalsh, square(x, "eigvalsh"))
    return values


@host.served
def eig(x: Array, /) -> EigResult[Array]:
    """Return eigenvalues and eigenvectors of square matrices."""

    def decompose(a: NumpyArray) -> tuple[NumpyArray, NumpyArray]:
        values, vectors = np.linalg.eig(a)
        return _complex(values), _complex(vectors)

    return EigResult(*host.run(lambda a: decompose(host.full(a)), square(x, "eig")))


@host.served
def eigvals(x: Array, /) -> Array:
    """Return eigenvalues of square matrices."""
    values: Array = host.run(
        lambda a: _complex(np.linalg.eigvals(host.full(a))), square(x, "eigvals")
    )
    return values


@host.served
def qr(x: Array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult[Array]:
    """Return an orthonormal basis of the columns of matrices, and the columns in it."""
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode is {mode!r}\nHint: use 'reduced' or 'complete'")
    return QRResult(*on_host(lambda a: tuple(np.linalg.qr(a, mode)), matrices(x, "qr")))


@host.served
def svd(x: Array, /, *, full_matrices: bool = True) -> SVDResult[Array]:
    """Return singular values and vectors of matrices."""
    return SVDResult(
        *on_host(lambda a: tuple(np.linalg.svd(a, full_matrices=full_matrices)), matrices(x, "svd"))
    )


@host.served
def svdvals(x: Array, /) -> Array:
    """Return singular values of matrices."""
    values: Array = on_host(np.linalg.svdvals, matrices(x, "svdvals"))
    return values
