"""Linear algebra of complex matrices for libraries that have it for real ones.

``[[a, -b], [b, a]]`` in the place of ``a + bj`` keeps sums and products, so that what is unique
(inverses, solutions, Cholesky's factor) is found by the real algorithm in a matrix of twice the
size. QR, and the determinants made from it, go by Householder's reflections (G. H. Golub and
C. F. Van Loan, "Matrix Computations", 4th edition, 2013, section 5.2), one step a column, all
matrices of a stack at once.

Every function takes as ``xp`` the standard's functions on native arrays, and complex ``x``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

__all__ = ["cholesky", "determinant", "inv", "qr", "solve"]

Real = Callable[..., Any]


def cholesky(xp: Any, real_cholesky: Real, x: Any) -> Any:
    """Return the lower triangular factors, with the one for real matrices.

    With each element in the place of its own block of 2 by 2, the factor's embedding is lower
    triangular too, its diagonal being real; hence it is the embedding's factor.
    """
    a, b = xp.real(x), xp.imag(x)
    top = xp.stack([a, xp.negative(b)], axis=-1)
    bottom = xp.stack([b, a], axis=-1)
    n = x.shape[-1]
    blocks = xp.stack([top, bottom], axis=-3)
    factor = real_cholesky(xp.reshape(blocks, (*x.shape[:-2], 2 * n, 2 * n)))
    return _joined(factor[..., 0::2, 0::2], factor[..., 1::2, 0::2])


def inv(xp: Any, real_inv: Real, x: Any) -> Any:
    """Return inverses, with those of real matrices."""
    n = x.shape[-1]
    inverse = real_inv(_embedded(xp, x))
    return _joined(inverse[..., :n, :n], inverse[..., n:, :n])


def solve(xp: Any, real_solve: Real, x1: Any, x2: Any) -> Any:
    """Solve ``x1 @ x = x2`` for matrices of columns, with the solver for real ones."""
    n = x1.shape[-1]
    columns = xp.concat([xp.real(x2), xp.imag(x2)], axis=-2)
    found = real_solve(_embedded(xp, x1), columns)
    return _joined(found[..., :n, :], found[..., n:, :])


def qr(xp: Any, x: Any, *, complete: bool) -> tuple[Any, Any]:
    """Return orthonormal and upper triangular factors."""
    m, n = x.shape[-2:]
    size = m if complete else min(m, n)
    q = xp.add(xp.zeros((*x.shape[:-1], m), dtype=x.dtype), xp.eye(m, dtype=x.dtype))
    r, reflections = _triangle(xp, x)
    # From the last to the first, as each then leaves the columns before its own alone.
    for v, scale in reversed(reflections):
        q = _reflected(xp, q, v, scale)
    return q[..., :size], r[..., :size, :]


def determinant(xp: Any, x: Any) -> tuple[Any, Any]:
    """Return factors whose product is the determinant: a sign, and the diagonal of R in QR."""
    # Of the transpose: columns of unlike size keep their digits, and rows are more often unlike.
    r, reflections = _triangle(xp, xp.matrix_transpose(x))
    n = x.shape[-1]
    one = xp.eye(n, dtype=x.dtype)
    diagonal = xp.sum(xp.multiply(r, one), axis=-1)
    sign = xp.ones(x.shape[:-2], dtype=diagonal.dtype)
    for _, scale in reflections:
        # Each reflection has the determinant -1; a scale of 0 means none.
        sign = xp.where(scale[..., 0, 0] == 0, sign, xp.negative(sign))
    return sign, diagonal


def _triangle(xp: Any, x: Any) -> tuple[Any, list[tuple[Any, Any]]]:
    """Return R of QR, and the reflections that made it: vectors and scales."""
    m, n = x.shape[-2:]
    reflections = []
    # So that squares neither overflow nor vanish; abs and complex division may do so themselves.
    sizes = xp.maximum(xp.abs(xp.real(x)), xp.abs(xp.imag(x)))
    largest = xp.max(sizes, axis=(-2, -1), keepdims=True)
    unit = _nonzero(xp, largest)
    r = x * (1 / unit)
    for j in range(min(m, n)):
        column = r[..., j:, j : j + 1]
        head = column[..., :1, :]
        modulus = xp.abs(head)
        norm = xp.sqrt(xp.sum(xp.abs(column) ** 2, axis=(-2, -1), keepdims=True))
        # Away from the head, so that nothing cancels.
        phase = xp.where(modulus == 0, xp.ones_like(head), head / _nonzero(xp, modulus))
        above = xp.zeros((*x.shape[:-2], j, 1), dtype=x.dtype)
        v = xp.concat([above, head + phase * norm, column[..., 1:, :]], axis=-2)
        squared = norm * (norm + modulus)
        scale = xp.where(squared == 0, squared, 1 / _nonzero(xp, squared))
        reflections.append((v, scale))
        r = _reflected(xp, r, v, scale)
    return xp.triu(r) * unit, reflections


def _nonzero(xp: Any, x: Any) -> Any:
    """Return x with 1 for 0, to divide by."""
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
