"""Linear algebra of complex matrices for libraries that only support real ones.

Embedding ``a + bj`` as ``[[a, -b], [b, a]]`` preserves sums and products, so that unique results
(inverses, solutions, Cholesky factors) come from the real algorithm on a matrix of twice the size.
QR, and determinants by QR, use Householder reflections (G. H. Golub and C. F. Van Loan, "Matrix
Computations", 4th edition, 2013, section 5.2), column by column for all matrices of a stack.

``xp`` is a standard namespace of native arrays, ``x`` is complex.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["cholesky", "determinant", "inv", "qr", "solve"]

Real = Callable[..., Any]


def cholesky(xp: Any, real_cholesky: Real, x: Any) -> Any:
    """Return lower triangular factors, by the real algorithm.

    With the 2 by 2 blocks interleaved, the factor's embedding is lower triangular with a real
    diagonal; hence it is the factor of the embedding.
    """
    a, b = xp.real(x), xp.imag(x)
    top = xp.stack([a, xp.negative(b)], axis=-1)
    bottom = xp.stack([b, a], axis=-1)
    n = x.shape[-1]
    blocks = xp.stack([top, bottom], axis=-3)
    factor = real_cholesky(xp.reshape(blocks, (*x.shape[:-2], 2 * n, 2 * n)))
    return _joined(factor[..., 0::2, 0::2], factor[..., 1::2, 0::2])


def inv(xp: Any, real_inv: Real, x: Any) -> Any:
    """Return inverses, by the real algorithm."""
    n = x.shape[-1]
    inverse = real_inv(_embedded(xp, x))
    return _joined(inverse[..., :n, :n], inverse[..., n:, :n])


def solve(xp: Any, real_solve: Real, x1: Any, x2: Any) -> Any:
    """Solve ``x1 @ x = x2`` for matrices of columns, by the real algorithm."""
    n = x1.shape[-1]
    columns = xp.concat([xp.real(x2), xp.imag(x2)], axis=-2)
    solution = real_solve(_embedded(xp, x1), columns)
    return _joined(solution[..., :n, :], solution[..., n:, :])


def qr(xp: Any, x: Any, *, complete: bool) -> tuple[Any, Any]:
    """Return orthonormal and upper triangular factors."""
    m, n = x.shape[-2:]
    size = m if complete else min(m, n)
    q = xp.add(xp.zeros((*x.shape[:-1], m), dtype=x.dtype), xp.eye(m, dtype=x.dtype))
    r, reflections = _triangle(xp, x)
    # From last to first: each then leaves the preceding columns unchanged.
    for v, scale in reversed(reflections):
        q = _reflected(xp, q, v, scale)
    return q[..., :size], r[..., :size, :]


def determinant(xp: Any, x: Any) -> tuple[Any, Any]:
    """Return factors whose product is the determinant: a sign and the diagonal of R."""
    # Of the transpose: QR is accurate for badly scaled columns, and rows are badly scaled more
    # often.
    r, reflections = _triangle(xp, xp.matrix_transpose(x))
    n = x.shape[-1]
    identity = xp.eye(n, dtype=x.dtype)
    diagonal = xp.sum(xp.multiply(r, identity), axis=-1)
    sign = xp.ones(x.shape[:-2], dtype=diagonal.dtype)
    for _, scale in reflections:
        # Each reflection has determinant -1; a scale of 0 means no reflection.
        sign = xp.where(scale[..., 0, 0] == 0, sign, xp.negative(sign))
    return sign, diagonal


def _triangle(xp: Any, x: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return R of QR and the reflections that produce it: vectors and scales."""
    m, n = x.shape[-2:]
    reflections = []
    # Scaled, so that squares neither overflow nor underflow.
    sizes = xp.maximum(xp.abs(xp.real(x)), xp.abs(xp.imag(x)))
    largest = xp.max(sizes, axis=(-2, -1), keepdims=True)
    unit = _nonzero(xp, largest)
    r = x * (1 / unit)
    for j in range(min(m, n)):
        column = r[..., j:, j : j + 1]
        head = column[..., :1, :]
        modulus = xp.abs(head)
        norm = xp.sqrt(xp.sum(xp.abs(column) ** 2, axis=(-2, -1), keepdims=True))
        # The sign that avoids cancellation.
        phase = xp.where(modulus == 0, xp.ones_like(head), head / _nonzero(xp, modulus))
        above = xp.zeros((*x.shape[:-2], j, 1), dtype=x.dtype)
        v = xp.concat([above, head + phase * norm, column[..., 1:, :]], axis=-2)
        squared = norm * (norm + modulus)
        scale = xp.where(squared == 0, squared, 1 / _nonzero(xp, squared))
        reflections.append((v, scale))
        r = _reflected(xp, r, v, scale)
    return xp.triu(r) * unit, reflections


def _nonzero(xp: Any, x: Any) -> Any:
    """Return x with 0 replaced by 1, for division."""
    return xp.where(x == 0, xp.ones_like(x), x)


def _reflected(xp: Any, x: Any, v: Any, scale: Any) -> Any:
    """Return ``(1 - scale v v^H) x``."""
    return x - (v * scale) @ (xp.conj(xp.matrix_transpose(v)) @ x)


def _embedded(xp: Any, x: Any) -> Any:
    a, b = xp.real(x), xp.imag(x)
    top = xp.concat([a, xp.negative(b)], axis=-1)
    return xp.concat([top, xp.concat([b, a], axis=-1)], axis=-2)


def _joined(real: Any, imag: Any) -> Any:
    return real + 1j * imag
