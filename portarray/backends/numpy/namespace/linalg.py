"""Linear algebra on NumPy arrays."""

from __future__ import annotations

import math
from typing import Any, Literal

import numpy as np

from portarray._result_types import EigResult, SlogdetResult
from portarray.backends.common.blocks import normalize_axes, rescaled_norm
from portarray.backends.numpy.namespace.linear_algebra import vecdot
from portarray.backends.numpy.namespace.statistical import accurate_sum, is_exact_norm

Array = np.ndarray[Any, Any]
_COMPLEX64, _COMPLEX128 = np.dtype(np.complex64), np.dtype(np.complex128)


def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> Array:
    """Return norms of matrices."""
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return np.asarray(np.linalg.matrix_norm(x, keepdims=keepdims, ord=ord))


def matrix_rank(x: Array, /, *, rtol: Any = None) -> Array:
    """Return ranks; empty matrices have rank 0."""
    if 0 in x.shape[-2:]:  # np.linalg.matrix_rank raises
        return np.zeros(x.shape[:-2], dtype=np.intp)
    values = np.linalg.svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * np.finfo(values.dtype).eps
    # NumPy's own function takes vectors, too, and does not multiply a given tolerance.
    smallest = values.max(axis=-1, keepdims=True) * np.asarray(rtol)[..., None]
    return np.asarray(np.count_nonzero(values > smallest, axis=-1))


def _complex(x: Array) -> Array:
    """Return x in the complex dtype of its precision."""
    if x.dtype.kind == "c":
        return x
    return x.astype(_COMPLEX64 if x.dtype.itemsize == 4 else _COMPLEX128)


def diagonal(x: Array, /, *, offset: int = 0) -> Array:
    """Return a view of the diagonals of matrices, which NumPy makes read-only."""
    view: Array = x.diagonal(offset, -2, -1)
    if x.flags.writeable:
        view.flags.writeable = True
    return view


def eig(x: Array, /) -> EigResult[Array]:
    """Return eigenvalues and eigenvectors, complex even if all are real."""
    values, vectors = np.linalg.eig(x)
    return EigResult(_complex(values), _complex(vectors))


def eigvals(x: Array, /) -> Array:
    """Return eigenvalues, complex even if all are real."""
    return _complex(np.linalg.eigvals(x))


def outer(x1: Array, x2: Array, /) -> Array:
    """Return the products of all pairs of elements."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: arrays must have 1 axis, got {x1.ndim} and {x2.ndim}")
    product: Array = x1[:, None] * x2
    return product


def slogdet(x: Array, /) -> SlogdetResult[Array]:
    """Return sign and logarithm of determinants; those of one matrix are 0-d arrays."""
    sign, logabsdet = np.linalg.slogdet(x)
    return SlogdetResult(np.asarray(sign), np.asarray(logabsdet))


def trace(x: Array, /, *, offset: int = 0, dtype: np.dtype[Any] | None = None) -> Array:
    """Return the sum of a diagonal."""
    return np.asarray(x.trace(offset, -2, -1, dtype))


def vector_norm(
    x: Array,
    /,
    *,
    axis: int | tuple[int, ...] | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Array:
    """Return norms of vectors."""
    if x.dtype.itemsize == 2:
        wide = vector_norm(x.astype(np.float32), axis=axis, keepdims=keepdims, ord=ord)
        return wide.astype(x.dtype)
    if axis == () or ord < 1 or ord == math.inf:
        # NumPy's stubs do not know that axis may be None.
        norm = np.linalg.vector_norm(x, axis=axis, keepdims=keepdims, ord=ord)  # type: ignore[arg-type]
        return np.asarray(norm)
    norm = _norm(x, axis, keepdims, ord)
    # Powers lose digits near the ends of the range.
    if ord > 1 and not is_exact_norm(norm, ord):
        axes = normalize_axes(axis, x.ndim)
        largest = np.max(np.abs(x), axis=axes, keepdims=True, initial=0)
        norm = rescaled_norm(lambda y: _norm(y, axes, True, ord), largest, np.where, np.abs(x))
        norm = norm if keepdims else norm.squeeze(axes)
    return np.asarray(norm)


def _norm(x: Array, axis: int | tuple[int, ...] | None, keepdims: bool, ord: float) -> Array:
    """Return the roots of accurate sums of powers."""
    if ord != 2:
        size = np.abs(x)
        return accurate_sum(size if ord == 1 else size**ord, axis, keepdims) ** (1 / ord)
    if x.ndim == 1 and not keepdims:
        root: Array = np.sqrt(vecdot(x, x).real)
        return root
    squares = np.square(x) if x.dtype.kind == "f" else np.square(x.real) + np.square(x.imag)
    return np.sqrt(accurate_sum(squares, axis, keepdims))
