"""Linear algebra on dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeVar

import dpnp
import numpy as np
from dpnp import ndarray

from portarray.backends.composed.results import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)
from portarray.backends.dpnp.namespace.linear_algebra import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from portarray.backends.dpnp.namespace.promotion import cast, inexact, pair

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eig", "eigh", "eigvals", "eigvalsh", "inv", "matmul",
    "matrix_norm", "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr",
    "slogdet", "solve", "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip

DType = np.dtype[Any]
F = TypeVar("F", bound=Callable[..., Any])

diagonal = dpnp.linalg.diagonal


def cholesky(x: ndarray, /, *, upper: bool = False) -> ndarray:
    """Return Cholesky factors."""
    return dpnp.linalg.cholesky(x, upper=upper)


def cross(x1: ndarray, x2: ndarray, /, *, axis: int = -1) -> ndarray:
    """Return cross products."""
    return dpnp.linalg.cross(*pair(x1, x2), axis=axis)


def det(x: ndarray, /) -> ndarray:
    """Return determinants."""
    return dpnp.linalg.det(x)


def _on_host(function: F) -> F:
    """Mark a function that dpnp itself computes with NumPy."""
    function.__portarray_served__ = "host"  # type: ignore[attr-defined]
    return function


def _complex(x: ndarray) -> ndarray:
    return x if x.dtype.kind == "c" else cast(x, np.dtype(f"c{2 * x.dtype.itemsize}"))


@_on_host
def eig(x: ndarray, /) -> EigResult[ndarray]:
    """Return eigenvalues and eigenvectors, complex also where all are real."""
    values, vectors = dpnp.linalg.eig(inexact(x))
    return EigResult(_complex(values), _complex(vectors))


@_on_host
def eigvals(x: ndarray, /) -> ndarray:
    """Return eigenvalues, complex also where all are real."""
    return _complex(dpnp.linalg.eigvals(inexact(x)))


def eigh(x: ndarray, /) -> EighResult[ndarray]:
    """Return eigenvalues and eigenvectors of Hermitian matrices."""
    return EighResult(*dpnp.linalg.eigh(x))


def eigvalsh(x: ndarray, /) -> ndarray:
    """Return eigenvalues of Hermitian matrices."""
    # dpnp refuses parts of larger matrices, and views that repeat one, where eigh copies them.
    return dpnp.linalg.eigvalsh(dpnp.ascontiguousarray(x))


def inv(x: ndarray, /) -> ndarray:
    """Return inverses."""
    return dpnp.linalg.inv(x)


def matrix_norm(x: ndarray, /, *, keepdims: bool = False, ord: Any = "fro") -> ndarray:
    """Return norms of matrices."""
    return dpnp.linalg.matrix_norm(inexact(x), keepdims=keepdims, ord=ord)


def matrix_power(x: ndarray, n: int, /) -> ndarray:
    """Return powers of square matrices; negative ones of integers are floating-point."""
    return dpnp.linalg.matrix_power(inexact(x) if n < 0 else x, n)


def matrix_rank(x: ndarray, /, *, rtol: float | ndarray | None = None) -> ndarray:
    """Return ranks."""
    return dpnp.linalg.matrix_rank(x, rtol=rtol)


def outer(x1: ndarray, x2: ndarray, /) -> ndarray:
    """Return products of all pairs."""
    return dpnp.linalg.outer(*pair(x1, x2))


def pinv(x: ndarray, /, *, rtol: float | ndarray | None = None) -> ndarray:
    """Return pseudo-inverses."""
    return dpnp.linalg.pinv(x, rtol=rtol)


def qr(x: ndarray, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult[ndarray]:
    """Return QR decompositions."""
    return QRResult(*dpnp.linalg.qr(x, mode=mode))


def slogdet(x: ndarray, /) -> SlogdetResult[ndarray]:
    """Return sign and logarithm of determinants."""
    return SlogdetResult(*dpnp.linalg.slogdet(x))


def solve(x1: ndarray, x2: ndarray, /) -> ndarray:
    """Solve linear equations."""
    return dpnp.linalg.solve(*pair(x1, x2))


def svd(x: ndarray, /, *, full_matrices: bool = True) -> SVDResult[ndarray]:
    """Return singular value decompositions."""
    return SVDResult(*dpnp.linalg.svd(x, full_matrices=full_matrices))


def svdvals(x: ndarray, /) -> ndarray:
    """Return singular values, in descending order."""
    return dpnp.linalg.svdvals(x)


def trace(x: ndarray, /, *, offset: int = 0, dtype: DType | None = None) -> ndarray:
    """Return sums along diagonals."""
    return dpnp.linalg.trace(x, offset=offset, dtype=dtype)


def vector_norm(
    x: ndarray,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> ndarray:
    """Return norms of vectors."""
    return dpnp.linalg.vector_norm(inexact(x), axis=axis, keepdims=keepdims, ord=ord)
