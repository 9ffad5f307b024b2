"""Linear algebra on dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import dpnp
from dpnp import ndarray

from portarray.backends.composed.results import EigResult

F = TypeVar("F", bound=Callable[..., Any])

cholesky = dpnp.linalg.cholesky
cross = dpnp.linalg.cross
det = dpnp.linalg.det
diagonal = dpnp.linalg.diagonal
eigh = dpnp.linalg.eigh
inv = dpnp.linalg.inv
matrix_norm = dpnp.linalg.matrix_norm
matrix_rank = dpnp.linalg.matrix_rank
outer = dpnp.linalg.outer
pinv = dpnp.linalg.pinv
qr = dpnp.linalg.qr
slogdet = dpnp.linalg.slogdet
solve = dpnp.linalg.solve
svd = dpnp.linalg.svd
svdvals = dpnp.linalg.svdvals
trace = dpnp.linalg.trace
vector_norm = dpnp.linalg.vector_norm


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
