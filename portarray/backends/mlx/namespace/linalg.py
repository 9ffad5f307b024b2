"""The extension ``linalg`` on MLX's arrays.

MLX factorizes on the CPU only, whose memory the GPU shares: nothing is copied. Its functions end
the process on empty matrices and, inside LAPACK, on NaN. Most support real matrices only: complex
ones use shared compositions. Eigenvalues and singular values of matrices with NaN or infinity are
NaN.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any, Literal

import mlx.core as mx
import numpy as np

from portarray._config import config
from portarray._result_types import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)
from portarray.backends.common.blocks import normalize_axes, rescaled_norm
from portarray.backends.composed import complex_linalg
from portarray.backends.composed.linalg import refuse_oblong
from portarray.backends.mlx.namespace.scalars import on_cpu, refuse_double
from portarray.backends.mlx.namespace.statistical import WIDENED, accurate_sum
from portarray.backends.mlx.namespace.statistical import min as _min
from portarray.backends.mlx.tracing import is_traced
from portarray.backends.types import Rows, composed

_FACTORIZED = (mx.float32, mx.float64, mx.complex64)


def _checked(name: str, x: mx.array, *, square: bool = True) -> mx.array:
    """Return a stack of matrices of a dtype and shape that can be factorized."""
    if x.dtype not in _FACTORIZED:
        raise TypeError(
            f"{name}: unsupported dtype {x.dtype}; supported: float32, float64, complex64"
        )
    if square:
        refuse_oblong(name, x)
    elif x.ndim < 2:
        raise ValueError(f"{name}: x has {x.ndim} axes; at least 2 are needed")
    return x


def _is_complex(x: mx.array) -> bool:
    return x.dtype == mx.complex64


def _real(x: mx.array) -> mx.Dtype:
    return mx.float32 if _is_complex(x) else x.dtype


def _finite(x: mx.array) -> tuple[mx.array, Callable[..., mx.array]]:
    """Return x with identities for non-finite matrices, and a function that puts NaN there."""
    wrong = mx.logical_not(mx.all(mx.isfinite(x), axis=(-2, -1), keepdims=True))

    def restored(result: mx.array) -> mx.array:
        at = wrong if result.ndim == x.ndim else wrong[..., 0]
        return mx.where(at, mx.array(math.nan, dtype=result.dtype), result)

    return mx.where(wrong, mx.eye(x.shape[-2], x.shape[-1], dtype=x.dtype), x), restored


def _computed(name: str, result: mx.array) -> mx.array:
    """Compute now, so that the call that causes an error raises it."""
    if not config.check_linalg:
        return result
    try:
        if is_traced(result):
            return result
        mx.eval(result)
    except RuntimeError as error:
        if "failed with error code" not in str(error):
            raise
        raise np.linalg.LinAlgError(f"{name}: singular matrix") from error
    return result


def cholesky(x: mx.array, /, *, upper: bool = False) -> mx.array:
    """Return the triangular factors of positive definite matrices."""
    _checked("cholesky", x)
    if x.size == 0:
        return mx.array(x)
    factor = complex_linalg.cholesky(mx, _cholesky, x) if _is_complex(x) else _cholesky(x)
    if upper:
        factor = mx.conjugate(mx.swapaxes(factor, -1, -2))
    # MLX does not report where LAPACK stopped: at a diagonal element that is not positive.
    # https://github.com/ml-explore/mlx/blob/v0.32.2/mlx/backend/cpu/cholesky.cpp
    if config.check_linalg:
        sizes = mx.real(mx.diagonal(factor, 0, -2, -1))
        positive = mx.all(sizes > 0)
        if not is_traced(positive) and not positive.item():
            raise np.linalg.LinAlgError("cholesky: the matrix is not positive definite")
    return factor


def det(x: mx.array, /) -> mx.array:
    """Return determinants."""
    _checked("det", x)
    if x.size == 0:
        return mx.ones(x.shape[:-2], dtype=x.dtype)
    sign, factors = _determinant(x)
    return sign * mx.prod(factors, axis=-1)


def _determinant(x: mx.array) -> tuple[mx.array, mx.array]:
    """Return factors whose product is the determinant: a sign, and a triangle's diagonal."""
    if _is_complex(x):
        return complex_linalg.determinant(mx, x)
    # mx.linalg.det computes the exponential of a sum of logarithms, and mx.exp of float64 has
    # float32's precision: https://github.com/ml-explore/mlx/blob/v0.32.2/mlx/linalg.cpp
    triangles, pivots = mx.linalg.lu_factor(x, stream=mx.cpu)
    swapped = mx.not_equal(pivots, mx.arange(x.shape[-1], dtype=pivots.dtype))
    odd = mx.remainder(mx.sum(swapped, axis=-1), 2)
    return (1 - 2 * odd).astype(x.dtype), mx.diagonal(triangles, 0, -2, -1)


def diagonal(x: mx.array, /, *, offset: int = 0) -> mx.array:
    """Return the diagonals of matrices."""
    return mx.diagonal(x, offset, -2, -1)


def eig(x: mx.array, /) -> EigResult[mx.array]:
    """Return eigenvalues and eigenvectors, complex always."""
    refuse_double("eig", _checked("eig", x))
    if x.size == 0:
        return EigResult(mx.zeros(x.shape[:-1], dtype=mx.complex64), x.astype(mx.complex64))
    clean, restored = _finite(x)
    values, vectors = mx.linalg.eig(clean, stream=mx.cpu)
    if _is_complex(x) and _eig_conjugates():
        vectors = mx.conjugate(vectors)
    return EigResult(restored(values), restored(vectors))


@functools.cache
def _eig_conjugates() -> bool:
    """Return whether MLX conjugates the eigenvectors of complex matrices.

    It computes left eigenvectors of the transpose, without conjugating complex ones:
    https://github.com/ml-explore/mlx/blob/v0.32.2/mlx/backend/cpu/eig.cpp
    """
    x = mx.array([[0, 1j], [1, 0]], dtype=mx.complex64)
    values, vectors = mx.linalg.eig(x, stream=mx.cpu)
    residual = mx.abs(mx.matmul(x, vectors) - vectors * values)
    return bool(mx.max(residual).item() > 0.1)  # type: ignore[operator]


def eigh(x: mx.array, /) -> EighResult[mx.array]:
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    _checked("eigh", x)
    if x.size == 0:
        return EighResult(mx.zeros(x.shape[:-1], dtype=_real(x)), mx.array(x))
    clean, restored = _finite(x)
    values, vectors = mx.linalg.eigh(clean, stream=mx.cpu)
    return EighResult(restored(values), restored(vectors))


def eigvals(x: mx.array, /) -> mx.array:
    """Return eigenvalues, complex always."""
    refuse_double("eigvals", _checked("eigvals", x))
    return _values(x, mx.complex64, mx.linalg.eigvals)


def eigvalsh(x: mx.array, /) -> mx.array:
    """Return the eigenvalues of Hermitian matrices, ascending."""
    return _values(_checked("eigvalsh", x), _real(x), mx.linalg.eigvalsh)


def _values(x: mx.array, dtype: mx.Dtype, function: Callable[..., Any]) -> mx.array:
    """Return eigenvalues or singular values."""
    if x.size == 0:
        return mx.zeros((*x.shape[:-2], min(x.shape[-2:])), dtype=dtype)
    clean, restored = _finite(x)
    return restored(function(clean, stream=mx.cpu))


def inv(x: mx.array, /) -> mx.array:
    """Return inverses."""
    _checked("inv", x)
    if x.size == 0:
        return mx.array(x)
    return _computed("inv", complex_linalg.inv(mx, _inv, x) if _is_complex(x) else _inv(x))


_inv = functools.partial(mx.linalg.inv, stream=mx.cpu)
_solve = functools.partial(mx.linalg.solve, stream=mx.cpu)
_cholesky = functools.partial(mx.linalg.cholesky, stream=mx.cpu)


def qr(x: mx.array, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult[mx.array]:
    """Return orthonormal and upper triangular factors."""
    _checked("qr", x, square=False)
    if mode not in ("reduced", "complete"):
        raise ValueError(f"qr: mode must be 'reduced' or 'complete', got {mode!r}")
    m, n = x.shape[-2:]
    size = m if mode == "complete" else min(m, n)
    if x.size == 0:
        q = mx.eye(m, size, dtype=x.dtype)
        r = mx.zeros((*x.shape[:-2], size, n), dtype=x.dtype)
        return QRResult(mx.broadcast_to(q, (*x.shape[:-2], m, size)), r)
    if _is_complex(x):
        return QRResult(*complex_linalg.qr(mx, x, complete=mode == "complete"))
    if size > n:
        # Columns of zeros only extend the orthonormal basis.
        x = mx.concatenate([x, mx.zeros((*x.shape[:-1], size - n), dtype=x.dtype)], axis=-1)
    q, r = mx.linalg.qr(x, stream=mx.cpu)
    return QRResult(q, r[..., :n])


def slogdet(x: mx.array, /) -> SlogdetResult[mx.array]:
    """Return sign and logarithm of the absolute value of determinants."""
    _checked("slogdet", x)
    if x.size == 0:
        batch = x.shape[:-2]
        return SlogdetResult(mx.ones(batch, dtype=x.dtype), mx.zeros(batch, dtype=_real(x)))
    sign, factors = _determinant(x)
    sizes = mx.abs(factors)
    phases = factors * (1 / sizes) if _is_complex(x) else mx.sign(factors)
    phases = mx.where(sizes == 0, factors, phases)
    return SlogdetResult(sign * mx.prod(phases, axis=-1), mx.sum(mx.log(sizes), axis=-1))


def solve(x1: mx.array, x2: mx.array, /) -> mx.array:
    """Solve ``x1 @ x = x2``: one right side for 1-d x2, else matrices of columns."""
    _checked("solve", x1)
    n = x1.shape[-1]
    columns = x2[:, None] if x2.ndim == 1 else x2
    if x2.ndim == 0 or columns.shape[-2] != n:
        raise ValueError(f"solve: x1 has {n} rows and x2 has shape {tuple(x2.shape)}")
    batch = mx.broadcast_shapes(x1.shape[:-2], columns.shape[:-2])
    x1 = mx.broadcast_to(x1, (*batch, n, n))
    columns = mx.broadcast_to(columns, (*batch, n, columns.shape[-1]))
    if columns.size == 0:
        solution = columns
    elif _is_complex(x1):
        solution = _computed("solve", complex_linalg.solve(mx, _solve, x1, columns))
    else:
        solution = _computed("solve", _solve(x1, columns))
    return solution[..., 0] if x2.ndim == 1 else solution


def svd(x: mx.array, /, *, full_matrices: bool = True) -> SVDResult[mx.array]:
    """Return singular vectors and singular values, descending."""
    _checked("svd", x, square=False)
    m, n = x.shape[-2:]
    k = min(m, n)
    if x.size == 0:
        batch = x.shape[:-2]
        u, vh = ((m, m), (n, n)) if full_matrices else ((m, k), (k, n))
        return SVDResult(
            mx.broadcast_to(mx.eye(*u, dtype=x.dtype), (*batch, *u)),
            mx.zeros((*batch, k), dtype=_real(x)),
            mx.broadcast_to(mx.eye(*vh, dtype=x.dtype), (*batch, *vh)),
        )
    clean, restored = _finite(x)
    u_vectors, values, vh_vectors = map(restored, mx.linalg.svd(clean, True, stream=mx.cpu))
    if full_matrices:
        return SVDResult(u_vectors, values, vh_vectors)
    return SVDResult(u_vectors[..., :k], values, vh_vectors[..., :k, :])


def svdvals(x: mx.array, /) -> mx.array:
    """Return singular values, descending."""
    values = functools.partial(mx.linalg.svd, compute_uv=False)
    return _values(_checked("svdvals", x, square=False), _real(x), values)


@composed
def _vector_norm(
    x: mx.array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> mx.array:
    """Return norms of single precision and less, whose powers neither overflow nor underflow."""
    size = mx.abs(x)
    axes = normalize_axes(axis, x.ndim)
    if not axes:
        return (size != 0).astype(size.dtype) if ord == 0 else size
    if not x.size and ord != -math.inf:
        total = mx.sum(size, axes, keepdims)
        return total + math.inf if ord < 0 else total
    if ord == 0:
        return accurate_sum((size != 0).astype(mx.float32), axis, keepdims).astype(size.dtype)
    if ord in (math.inf, -math.inf):
        return (mx.max if ord > 0 else _min)(size, axis=axes, keepdims=keepdims)
    if ord == 1:
        return accurate_sum(size, axis, keepdims)
    if on_cpu():
        return _norm(size.astype(mx.float64), axis, keepdims, ord).astype(size.dtype)
    wide = size.astype(mx.float32)
    norm = rescaled_norm(
        lambda y: _norm(y, axis, True, ord), mx.max(wide, axes, True), mx.where, wide
    )
    return (norm if keepdims else mx.squeeze(norm, axes)).astype(size.dtype)


def _norm(
    size: mx.array, axis: int | tuple[int, ...] | None, keepdims: bool, ord: float
) -> mx.array:
    powers = mx.square(size) if ord == 2 else mx.power(size, ord)
    # Of numbers in float64 that were float32, so few need no blocks.
    total = (mx.sum if size.size <= WIDENED and on_cpu() else accurate_sum)(powers, axis, keepdims)
    return mx.sqrt(total) if ord == 2 else mx.power(total, 1 / ord)


BY_DTYPE: Rows = {"vector_norm": {"float16 bfloat16 float32 complex64": _vector_norm}}
