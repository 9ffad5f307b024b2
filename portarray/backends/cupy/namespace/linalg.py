"""The extension ``linalg`` on arrays.

CuPy leaves NaN, or worse, where a decomposition fails, unless it is told to look: then it waits for
the device and raises.
"""

from __future__ import annotations

import math
from typing import Literal

import cupy
import cupyx
import numpy as np
from cupy import ndarray

from portarray.backends.composed.results import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)
from portarray.backends.cupy.namespace.linear_algebra import (
    matmul,
    matrix_transpose,
    tensordot,
    vecdot,
)
from portarray.backends.cupy.namespace.manipulation import together
from portarray.backends.cupy.namespace.statistical import Axes, DType, places
from portarray.backends.cupy.namespace.statistical import sum as _sum

__all__ = [
    "cholesky", "cross", "det", "diagonal", "eigh", "eigvalsh", "inv", "matmul", "matrix_norm",
    "matrix_power", "matrix_rank", "matrix_transpose", "outer", "pinv", "qr", "slogdet", "solve",
    "svd", "svdvals", "tensordot", "trace", "vecdot", "vector_norm",
]  # fmt: skip

det = cupy.linalg.det


def _check_square(name: str, x: ndarray) -> None:
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{name} takes square matrices, got an array of shape {x.shape}")


def cholesky(x: ndarray, /, *, upper: bool = False) -> ndarray:
    """Return the triangular factors of positive definite matrices.

    Raises
    ------
    ValueError
        If a matrix is not positive definite; looking for that waits for the device.
    """
    _check_square("cholesky", x)
    with cupyx.errstate(linalg="raise"):
        lower = cupy.linalg.cholesky(x)
    return cupy.swapaxes(lower, -1, -2).conj() if upper else lower


def cross(x1: ndarray, x2: ndarray, /, *, axis: int = -1) -> ndarray:
    """Return cross products of vectors of three along an axis; other axes broadcast."""
    x1, x2 = together([x1, x2])
    least = min(x1.ndim, x2.ndim)
    if not -least <= axis < least:
        raise IndexError(f"cross's axis {axis} is out of bounds for {least} axes")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross needs axis {axis} of size 3, got {x1.shape[axis]} and {x2.shape[axis]}"
        )
    return cupy.cross(x1, x2, axis=axis)


def diagonal(x: ndarray, /, *, offset: int = 0) -> ndarray:
    """Return a view of the diagonals of matrices."""
    return cupy.diagonal(x, offset, -2, -1)


if hasattr(cupy.linalg, "eig") and not cupy.cuda.runtime.is_hip:
    # Before version 14, and on ROCm, CuPy has none; the host computes them there.
    __all__ += ["eig", "eigvals"]

    def eig(x: ndarray, /) -> EigResult[ndarray]:
        """Return eigenvalues and eigenvectors, complex always; needs CUDA 12.6."""
        _check_square("eig", x)
        _check_geev("eig")
        values, vectors = cupy.linalg.eig(x)
        return EigResult(_complex(values), _complex(vectors))

    def eigvals(x: ndarray, /) -> ndarray:
        """Return eigenvalues, complex always; needs CUDA 12.6."""
        _check_square("eigvals", x)
        _check_geev("eigvals")
        return _complex(cupy.linalg.eigvals(x))


def _check_geev(name: str) -> None:
    # Importing it loads cuSOLVER, which nothing else in the room needs before its first call.
    from cupyx import cusolver

    if not cusolver.check_availability("geev"):
        raise NotImplementedError(
            f"{name} needs CUDA 12.6 or newer (cuSOLVER 11.7); update CUDA, or move the array to "
            f"the host first"
        )


def _complex(x: ndarray) -> ndarray:
    return x.astype(np.result_type(x.dtype, np.complex64), copy=False)


def eigh(x: ndarray, /) -> EighResult[ndarray]:
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    _check_square("eigh", x)
    return EighResult(*cupy.linalg.eigh(x))


def eigvalsh(x: ndarray, /) -> ndarray:
    """Return eigenvalues, ascending, of Hermitian matrices."""
    _check_square("eigvalsh", x)
    return cupy.linalg.eigvalsh(x)


def inv(x: ndarray, /) -> ndarray:
    """Return inverses.

    Raises
    ------
    ValueError
        If a matrix is singular; looking for that waits for the device.
    """
    _check_square("inv", x)
    with cupyx.errstate(linalg="raise"):
        return cupy.linalg.inv(x)


def matrix_norm(
    x: ndarray, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> ndarray:
    """Return norms of matrices."""
    return cupy.linalg.norm(x, ord, (-2, -1), keepdims)


def matrix_power(x: ndarray, n: int, /) -> ndarray:
    """Return powers of square matrices."""
    _check_square("matrix_power", x)
    if n < 0:
        return matrix_power(inv(x), -n)
    return x.copy() if n == 1 else cupy.linalg.matrix_power(x, n)


def matrix_rank(x: ndarray, /, *, rtol: float | ndarray | None = None) -> ndarray:
    """Count the singular values above ``rtol`` times the largest."""
    values = svdvals(x)
    if values.shape[-1] == 0:
        return cupy.zeros(x.shape[:-2], np.int64)
    if rtol is None:
        rtol = max(x.shape[-2:]) * np.finfo(values.dtype).eps
    least = values.max(-1) * rtol
    return (values > least[..., None]).sum(-1, np.int64)


def outer(x1: ndarray, x2: ndarray, /) -> ndarray:
    """Return all products of an element of x1 with one of x2."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer takes vectors, got arrays of {x1.ndim} and {x2.ndim} axes")
    x1, x2 = together([x1, x2])
    return x1[:, None] * x2[None, :]


def pinv(x: ndarray, /, *, rtol: float | ndarray | None = None) -> ndarray:
    """Return Moore-Penrose inverses, without singular values up to ``rtol`` times the largest."""
    if x.size == 0:
        return cupy.zeros((*x.shape[:-2], x.shape[-1], x.shape[-2]), x.dtype)
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(np.finfo(x.dtype).eps)
    return cupy.linalg.pinv(x, rtol)


def qr(x: ndarray, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult[ndarray]:
    """Return orthonormal and upper triangular factors."""
    return QRResult(*cupy.linalg.qr(x, mode))


def slogdet(x: ndarray, /) -> SlogdetResult[ndarray]:
    """Return sign and logarithm of the absolute value of determinants."""
    _check_square("slogdet", x)
    return SlogdetResult(*cupy.linalg.slogdet(x))


def solve(x1: ndarray, x2: ndarray, /) -> ndarray:
    """Solve ``x1 @ x = x2``: one right side for 1-d x2, else matrices of columns.

    Raises
    ------
    ValueError
        If a matrix is singular; looking for that waits for the device.
    """
    _check_square("solve", x1)
    x1, x2 = together([x1, x2])
    columns = x2[:, None] if x2.ndim == 1 else x2
    if columns.shape[-2] != x1.shape[-1]:
        raise ValueError(f"solve of shapes {x1.shape} and {x2.shape}: they do not fit")
    stack = np.broadcast_shapes(x1.shape[:-2], columns.shape[:-2])
    # CuPy broadcasts no stacks.
    matrices = cupy.broadcast_to(x1, (*stack, *x1.shape[-2:]))
    columns = cupy.broadcast_to(columns, (*stack, *columns.shape[-2:]))
    if 0 in columns.shape or 0 in matrices.shape:
        solution = cupy.zeros(columns.shape, columns.dtype)
    else:
        with cupyx.errstate(linalg="raise"):
            solution = cupy.linalg.solve(matrices, columns)
    return solution[..., 0] if x2.ndim == 1 else solution


def svd(x: ndarray, /, *, full_matrices: bool = True) -> SVDResult[ndarray]:
    """Return singular vectors and singular values, descending."""
    return SVDResult(*cupy.linalg.svd(x, full_matrices))


def svdvals(x: ndarray, /) -> ndarray:
    """Return singular values, descending."""
    return cupy.linalg.svd(x, compute_uv=False)


def trace(x: ndarray, /, *, offset: int = 0, dtype: DType | None = None) -> ndarray:
    """Return the sums of diagonals; integers widen."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2
) -> ndarray:
    """Return norms over axes, all of them for None."""
    axes = places(x, axis)
    size = cupy.absolute(x)
    if not axes:
        # Of one number any norm but the 0th is its absolute value.
        return (size != 0).astype(size.dtype) if ord == 0 else size
    if ord == math.inf:
        return size.max(axes, keepdims=keepdims)
    if ord == -math.inf:
        return size.min(axes, keepdims=keepdims)
    if ord == 0:
        return (size != 0).sum(axes, size.dtype, keepdims=keepdims)
    if ord == 1:
        return size.sum(axes, keepdims=keepdims)
    if ord == 2:
        return cupy.sqrt(cupy.square(size).sum(axes, keepdims=keepdims))
    exponent = size.dtype.type(ord)
    return (size**exponent).sum(axes, keepdims=keepdims) ** size.dtype.type(1 / ord)
