"""Linear algebra on NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat.numpy.linalg import matrix_rank as _matrix_rank

from portarray.backends.composed.results import EigResult

Array = np.ndarray[Any, Any]


def matrix_rank(x: Array, /, *, rtol: Any = None) -> Array:
    """Return ranks; empty matrices have rank 0."""
    if 0 in x.shape[-2:]:  # np.linalg.matrix_rank raises
        return np.zeros(x.shape[:-2], dtype=np.intp)
    rank: Array = np.asarray(_matrix_rank(x, rtol=rtol))
    return rank


def _complex(x: Array) -> Array:
    """Return x in the complex dtype of its precision."""
    if x.dtype.kind == "c":
        return x
    return x.astype(np.complex64 if x.dtype.itemsize == 4 else np.complex128)


def eig(x: Array, /) -> EigResult[Array]:
    """Return eigenvalues and eigenvectors, complex even if all are real."""
    values, vectors = np.linalg.eig(x)
    return EigResult(_complex(values), _complex(vectors))


def eigvals(x: Array, /) -> Array:
    """Return eigenvalues, complex even if all are real."""
    return _complex(np.linalg.eigvals(x))


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """Return norms of vectors."""
    # NumPy's stubs do not know that axis may be None.
    norm = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)  # type: ignore[arg-type]
    return np.asarray(norm)
