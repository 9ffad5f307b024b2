"""Linear algebra on dpnp's arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, Literal, TypeVar

import dpnp
from dpnp import ndarray

from portarray._result_types import EigResult
from portarray.backends.dpnp.namespace.scaling import in_range

F = TypeVar("F", bound=Callable[..., Any])

cholesky = dpnp.linalg.cholesky
cross = dpnp.linalg.cross
det = dpnp.linalg.det
diagonal = dpnp.linalg.diagonal
eigh = dpnp.linalg.eigh
inv = dpnp.linalg.inv
matrix_rank = dpnp.linalg.matrix_rank
outer = dpnp.linalg.outer
pinv = dpnp.linalg.pinv
qr = dpnp.linalg.qr
slogdet = dpnp.linalg.slogdet
solve = dpnp.linalg.solve
svd = dpnp.linalg.svd
svdvals = dpnp.linalg.svdvals
trace = dpnp.linalg.trace


def matrix_norm(
    x: ndarray, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> ndarray:
    """Return norms of matrices."""
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return dpnp.linalg.matrix_norm(x, keepdims=keepdims, ord=ord)


def vector_norm(
    x: ndarray,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> ndarray:
    """Return norms of vectors, whose powers neither overflow nor underflow."""
    norm = dpnp.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)
    if not 1 < ord < math.inf or axis == () or not x.size:
        return norm
    plain, sizes = dpnp.linalg.vector_norm, dpnp.abs(x) if x.dtype.kind == "c" else x
    return in_range(norm, plain, sizes, axis=axis, keepdims=keepdims, ord=ord)


def _on_host(function: F) -> F:
    """Mark a function that dpnp computes with NumPy."""
    function.__portarray_served__ = "host"  # type: ignore[attr-defined]
    return function


def _complex(x: ndarray) -> ndarray:
    return x if x.dtype.kind == "c" else dpnp.astype(x, f"c{2 * x.dtype.itemsize}")


def matrix_power(x: ndarray, n: int, /) -> ndarray:
    """Return powers of matrices."""
    # The products refuse broadcast matrices.
    return dpnp.linalg.matrix_power(dpnp.ascontiguousarray(x) if 0 in x.strides else x, n)


@_on_host
def eig(x: ndarray, /) -> EigResult[ndarray]:
    """Return eigenvalues and eigenvectors, complex even if all are real."""
    return EigResult(*map(_complex, dpnp.linalg.eig(x)))


@_on_host
def eigvals(x: ndarray, /) -> ndarray:
    """Return eigenvalues, complex even if all are real."""
    return _complex(dpnp.linalg.eigvals(x))


def eigvalsh(x: ndarray, /) -> ndarray:
    """Return eigenvalues of Hermitian matrices."""
    # dpnp refuses non-contiguous and broadcast matrices, which eigh copies.
    return dpnp.linalg.eigvalsh(dpnp.ascontiguousarray(x))
