"""The extension ``linalg`` on arrays.

If a decomposition fails, CuPy's result is undefined unless checking is on; checking waits for the
device, and raises.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import Literal

import cupy
import cupyx
import numpy as np
from cupy import ndarray

from portarray._config import config
from portarray._result_types import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)
from portarray.backends.composed.linalg import refuse_oblong

det = cupy.linalg.det


def _looking() -> AbstractContextManager[None]:
    """Return a context in which CuPy checks for failures if ``config.check_linalg`` is set."""
    context: AbstractContextManager[None] = cupyx.errstate(
        linalg="raise" if config.check_linalg else "ignore"
    )
    return context


def cholesky(x: ndarray, /, *, upper: bool = False) -> ndarray:
    """Return the triangular factors of positive definite matrices."""
    refuse_oblong("cholesky", x)
    with _looking():
        lower = cupy.linalg.cholesky(x)
    return cupy.swapaxes(lower, -1, -2).conj() if upper else lower


def diagonal(x: ndarray, /, *, offset: int = 0) -> ndarray:
    """Return a view of the diagonals of matrices."""
    return cupy.diagonal(x, offset, -2, -1)


if hasattr(cupy.linalg, "eig") and not cupy.cuda.runtime.is_hip:
    # CuPy before version 14 and on ROCm lacks them; the host computes them there.
    def eig(x: ndarray, /) -> EigResult[ndarray]:
        """Return eigenvalues and eigenvectors, always complex; needs CUDA 12.6."""
        refuse_oblong("eig", x)
        _check_geev("eig")
        values, vectors = cupy.linalg.eig(x)
        return EigResult(_complex(values), _complex(vectors))

    def eigvals(x: ndarray, /) -> ndarray:
        """Return eigenvalues, always complex; needs CUDA 12.6."""
        refuse_oblong("eigvals", x)
        _check_geev("eigvals")
        return _complex(cupy.linalg.eigvals(x))


def _check_geev(name: str) -> None:
    # Imported here because it loads cuSOLVER.
    from cupyx import cusolver

    if not cusolver.check_availability("geev"):
        raise NotImplementedError(
            f"{name}: needs CUDA 12.6 or newer (cuSOLVER 11.7)\n"
            f"Hint: update CUDA, or move the array to the host"
        )


def _complex(x: ndarray) -> ndarray:
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


def eigh(x: ndarray, /) -> EighResult[ndarray]:
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    refuse_oblong("eigh", x)
    return EighResult(*cupy.linalg.eigh(x))


def eigvalsh(x: ndarray, /) -> ndarray:
    """Return eigenvalues, ascending, of Hermitian matrices."""
    refuse_oblong("eigvalsh", x)
    return cupy.linalg.eigvalsh(x)


def inv(x: ndarray, /) -> ndarray:
    """Return inverses."""
    refuse_oblong("inv", x)
    with _looking():
        return cupy.linalg.inv(x)


def matrix_norm(
    x: ndarray, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> ndarray:
    """Return norms of matrices."""
    return cupy.linalg.norm(x, ord, (-2, -1), keepdims)


def qr(x: ndarray, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult[ndarray]:
    """Return orthonormal and upper triangular factors."""
    return QRResult(*cupy.linalg.qr(x, mode))


def slogdet(x: ndarray, /) -> SlogdetResult[ndarray]:
    """Return sign and logarithm of the absolute value of determinants."""
    refuse_oblong("slogdet", x)
    return SlogdetResult(*cupy.linalg.slogdet(x))


def solve(x1: ndarray, x2: ndarray, /) -> ndarray:
    """Solve ``x1 @ x = x2``: one right side for 1-d x2, else matrices of columns."""
    refuse_oblong("solve", x1)
    columns = x2[:, None] if x2.ndim == 1 else x2
    if columns.shape[-2] != x1.shape[-1]:
        raise ValueError(f"solve: shapes {x1.shape} and {x2.shape} do not match")
    stack = np.broadcast_shapes(x1.shape[:-2], columns.shape[:-2])
    # CuPy does not broadcast stacks.
    matrices = cupy.broadcast_to(x1, (*stack, *x1.shape[-2:]))
    columns = cupy.broadcast_to(columns, (*stack, *columns.shape[-2:]))
    if 0 in columns.shape or 0 in matrices.shape:
        solution = cupy.zeros(columns.shape, columns.dtype)
    else:
        with _looking():
            solution = cupy.linalg.solve(matrices, columns)
    return solution[..., 0] if x2.ndim == 1 else solution


def svd(x: ndarray, /, *, full_matrices: bool = True) -> SVDResult[ndarray]:
    """Return singular vectors and singular values, descending."""
    return SVDResult(*cupy.linalg.svd(x, full_matrices))


def svdvals(x: ndarray, /) -> ndarray:
    """Return singular values, descending."""
    return cupy.linalg.svd(x, compute_uv=False)
