"""Norms, ranks, powers and inverses, composed of products, sums and decompositions.

Products that are in both namespaces of the standard are in :mod:`.linear_algebra`.
"""

from __future__ import annotations

import math
from typing import Any, Literal

__all__ = [
    "cross",
    "eigvals",
    "eigvalsh",
    "matrix_norm",
    "matrix_power",
    "matrix_rank",
    "outer",
    "pinv",
    "svdvals",
    "trace",
    "vector_norm",
]

Axes = int | tuple[int, ...]


def cross(xp: Any, x1: Any, x2: Any, /, *, axis: int = -1) -> Any:
    """Return cross products of vectors of three along an axis; other axes broadcast."""
    check_vectors(x1, x2, axis)
    x1, x2 = xp.broadcast_arrays(x1, x2)
    a, b, c = xp.unstack(x1, axis=axis)
    d, e, f = xp.unstack(x2, axis=axis)
    return xp.stack(
        [
            xp.subtract(xp.multiply(b, f), xp.multiply(c, e)),
            xp.subtract(xp.multiply(c, d), xp.multiply(a, f)),
            xp.subtract(xp.multiply(a, e), xp.multiply(b, d)),
        ],
        axis=axis,
    )


def eigvals(xp: Any, x: Any, /) -> Any:
    """Return the eigenvalues of square matrices, always complex."""
    return xp.linalg.eig(x)[0]


def eigvalsh(xp: Any, x: Any, /) -> Any:
    """Return the eigenvalues of Hermitian matrices, ascending."""
    return xp.linalg.eigh(x)[0]


def matrix_norm(
    xp: Any,
    x: Any,
    /,
    *,
    keepdims: bool = False,
    ord: float | Literal["fro", "nuc"] | None = "fro",
) -> Any:
    """Return norms of matrices."""
    if x.ndim < 2:
        raise ValueError(f"matrix_norm: needs at least 2 axes, got {x.ndim}")
    if ord is None or ord == "fro":
        return vector_norm(xp, x, axis=(-2, -1), keepdims=keepdims)
    largest = xp.sum if 0 in x.shape else xp.max  # 0 for no elements
    if ord in ("nuc", 2, -2):
        values = xp.linalg.svdvals(x)
        reduce = {"nuc": xp.sum, 2: largest, -2: xp.min}[ord]
        norm = reduce(values, axis=-1, keepdims=keepdims)
        return xp.expand_dims(norm, axis=-1) if keepdims else norm
    if ord not in (1, -1, math.inf, -math.inf):
        raise ValueError(
            f"matrix_norm: unsupported ord {ord!r}; "
            f"supported: 'fro', 'nuc', 1, -1, 2, -2, inf, -inf"
        )
    summed, compared = (-2, -1) if ord in (1, -1) else (-1, -2)
    sums = xp.sum(xp.abs(x), axis=summed, keepdims=True)
    norm = (largest if ord > 0 else xp.min)(sums, axis=compared, keepdims=True)
    return norm if keepdims else xp.squeeze(norm, axis=(-2, -1))


def matrix_power(xp: Any, x: Any, n: int, /) -> Any:
    """Return powers of square matrices by repeated squaring."""
    refuse_oblong("matrix_power", x)
    if n < 0:
        x, n = xp.linalg.inv(x), -n
    if n == 0:
        identity = xp.eye(x.shape[-1], dtype=x.dtype, device=xp.device)
        return xp.add(xp.zeros_like(x), identity)
    out = None
    while n:
        if n & 1:
            out = x if out is None else xp.matmul(out, x)
        n >>= 1
        if n:
            x = xp.matmul(x, x)
    return out


def matrix_rank(xp: Any, x: Any, /, *, rtol: float | Any = None) -> Any:
    """Count the singular values above ``rtol`` times the largest."""
    if x.ndim < 2:
        raise ValueError(f"matrix_rank: needs at least 2 axes, got {x.ndim}")
    if 0 in x.shape[-2:]:
        return xp.zeros(x.shape[:-2], dtype=xp.index_dtype, device=xp.device)
    values = xp.linalg.svdvals(x)
    return xp.count_nonzero(xp.greater(values, _negligible(xp, x, values, rtol)), axis=-1)


def outer(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Return the outer product of two vectors."""
    if x1.ndim != 1 or x2.ndim != 1:
        raise ValueError(f"outer: arrays must have 1 axis, got {x1.ndim} and {x2.ndim}")
    return xp.multiply(xp.expand_dims(x1, axis=1), xp.expand_dims(x2, axis=0))


def pinv(xp: Any, x: Any, /, *, rtol: float | Any = None) -> Any:
    """Return Moore-Penrose inverses, dropping singular values up to ``rtol`` times the largest."""
    if x.ndim < 2:
        raise ValueError(f"pinv: needs at least 2 axes, got {x.ndim}")
    if 0 in x.shape[-2:]:
        return xp.matrix_transpose(x)
    u, values, vh = xp.linalg.svd(x, full_matrices=False)
    is_large = xp.greater(values, _negligible(xp, x, values, rtol))
    # Dropped values are replaced by 1: dividing by 0 would warn on some devices.
    inverse = xp.divide(xp.astype(is_large, values.dtype), xp.where(is_large, values, 1.0))
    rows = xp.conj(xp.matrix_transpose(vh))
    scaled = xp.multiply(rows, xp.astype(inverse[..., None, :], x.dtype, copy=False))
    return xp.matmul(scaled, xp.conj(xp.matrix_transpose(u)))


def svdvals(xp: Any, x: Any, /) -> Any:
    """Return singular values, descending."""
    return xp.linalg.svd(x, full_matrices=False)[1]


def trace(xp: Any, x: Any, /, *, offset: int = 0, dtype: Any = None) -> Any:
    """Return the sums of diagonals; integers widen."""
    return xp.sum(xp.linalg.diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    xp: Any,
    x: Any,
    /,
    *,
    axis: Axes | None = None,
    keepdims: bool = False,
    ord: float = 2,
) -> Any:
    """Return norms over axes, over all for None."""
    if ord == 0:
        counted = xp.astype(xp.not_equal(x, 0), xp.real(x).dtype)
        return xp.sum(counted, axis=axis, keepdims=keepdims)
    size = xp.abs(x)
    if axis == () or x.ndim == 0:
        return size
    if ord == math.inf:
        largest = xp.sum if 0 in x.shape else xp.max  # 0 for no elements
        return largest(size, axis=axis, keepdims=keepdims)
    if ord == -math.inf:
        return xp.min(size, axis=axis, keepdims=keepdims)
    if ord == 1:
        return xp.sum(size, axis=axis, keepdims=keepdims)
    scale = _scale(xp, size, axis, ord) if ord > 1 and 0 not in x.shape else None
    if scale is not None:
        size = xp.divide(size, scale)
    if ord == 2:
        norm = xp.sqrt(xp.sum(xp.multiply(size, size), axis=axis, keepdims=keepdims))
    else:
        powers = xp.sum(xp.pow(size, float(ord)), axis=axis, keepdims=keepdims)
        norm = xp.pow(powers, 1 / ord)
    return norm if scale is None else xp.multiply(norm, xp.reshape(scale, norm.shape))


def _scale(xp: Any, size: Any, axis: Axes | None, ord: float) -> Any:
    """Return the largest absolute values where their powers may leave the range, else 1."""
    largest = xp.max(size, axis=axis, keepdims=True)
    bound = float(xp.finfo(size.dtype).max) ** (0.25 / ord)
    is_extreme = xp.logical_or(xp.greater(largest, bound), xp.less(largest, 1 / bound))
    is_positive = xp.logical_and(xp.greater(largest, 0.0), xp.less(largest, math.inf))
    # Compilers multiply by the reciprocal, which must not be subnormal.
    largest = xp.minimum(largest, float(xp.finfo(size.dtype).max) / 16)
    return xp.where(xp.logical_and(is_extreme, is_positive), largest, xp.ones_like(largest))


def check_vectors(x1: Any, x2: Any, axis: int) -> None:
    """Raise unless arrays have vectors of three along an axis."""
    ndim = min(x1.ndim, x2.ndim)
    if not -ndim <= axis < ndim:
        raise IndexError(f"cross: axis {axis} is out of bounds for {ndim} axes")
    if x1.shape[axis] != 3 or x2.shape[axis] != 3:
        raise ValueError(
            f"cross: axis {axis} must have size 3, got {x1.shape[axis]} and {x2.shape[axis]}"
        )


def refuse_oblong(name: str, x: Any) -> None:
    """Raise unless x is a stack of square matrices."""
    if x.ndim < 2 or x.shape[-1] != x.shape[-2]:
        raise ValueError(f"{name}: matrices must be square, got shape {tuple(x.shape)}")


def _negligible(xp: Any, x: Any, values: Any, rtol: Any) -> Any:
    """Return the largest singular values that count as zero, with a last axis of size 1."""
    if rtol is None:
        rtol = max(x.shape[-2:]) * float(xp.finfo(x.dtype).eps)
    elif hasattr(rtol, "dtype") and rtol.ndim:
        rtol = xp.expand_dims(xp.astype(rtol, values.dtype, copy=False), axis=-1)
    return xp.multiply(xp.max(values, axis=-1, keepdims=True), rtol)
