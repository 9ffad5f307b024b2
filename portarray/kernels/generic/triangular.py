"""Triangular systems, solved by blocks."""

from __future__ import annotations

from typing import Any

from portarray.kernels.generic.conversion import cast_back, device_of, widen_for_sums

_BLOCK = 16


def solve_triangular(
    xp: Any, a: Any, b: Any, /, *, lower: bool, transpose: bool, unit_diagonal: bool
) -> Any:
    """Solve for unknowns by blocks: products of matrices, and inverses of small blocks."""
    if b.ndim == 1:
        options = {"lower": lower, "transpose": transpose, "unit_diagonal": unit_diagonal}
        return solve_triangular(xp, a, b[:, None], **options)[..., 0]
    wide, rows = widen_for_sums(xp, a), widen_for_sums(xp, b)
    if transpose:
        wide, lower = xp.matrix_transpose(wide), not lower
    n = wide.shape[-1]
    if not n:  # what the leading axes broadcast to
        return cast_back(xp, xp.matmul(wide, rows), b)
    parts = [slice(i, min(i + _BLOCK, n)) for i in range(0, n, _BLOCK)]
    blocks = [_triangle(xp, wide[..., part, part], lower, unit_diagonal) for part in parts]
    whole = n // _BLOCK
    inverses = [_inverse(xp, blocks[-1], lower)] if n % _BLOCK else []
    if whole:
        stack = _inverse(xp, xp.stack(blocks[:whole], axis=-3), lower)
        inverses = [stack[..., i, :, :] for i in range(whole)] + inverses
    return cast_back(xp, _substituted(xp, wide, rows, blocks, inverses, lower), b)


def _triangle(xp: Any, x: Any, lower: bool, unit_diagonal: bool) -> Any:
    """Return a block with zeros in its unused half, whose values are arbitrary."""
    half = xp.tril(x) if lower else xp.triu(x)
    if not unit_diagonal:
        return half
    eye = xp.eye(x.shape[-1], dtype=xp.bool, device=device_of(x))
    return xp.where(eye, 1.0, half)


def _inverse(xp: Any, x: Any, lower: bool) -> Any:
    """Return the inverses of a stack of triangular matrices, row by row."""
    n = x.shape[-1]
    eye = xp.eye(n, dtype=x.dtype, device=device_of(x))
    solved: Any = None
    for i in range(n) if lower else reversed(range(n)):
        row = eye[i : i + 1, :]
        if solved is not None:
            beside = slice(0, i) if lower else slice(i + 1, n)
            row = xp.subtract(row, xp.matmul(x[..., i : i + 1, beside], solved))
        row = xp.divide(row, x[..., i : i + 1, i : i + 1])
        if solved is None:
            solved = row
        else:
            solved = xp.concat([solved, row] if lower else [row, solved], axis=-2)
    return solved


def _substituted(
    xp: Any, a: Any, b: Any, blocks: list[Any], inverses: list[Any], lower: bool
) -> Any:
    """Solve recursively for one half of the unknowns, then for the other."""
    if len(blocks) == 1:
        solution = xp.matmul(inverses[0], b)
        # One step of refinement: products with an inverse have larger residuals than substitution.
        return solution + xp.matmul(inverses[0], b - xp.matmul(blocks[0], solution))
    half = len(blocks) // 2
    middle = half * _BLOCK
    top, bottom = slice(0, middle), slice(middle, a.shape[-1])
    parts = [(top, slice(0, half)), (bottom, slice(half, len(blocks)))]
    (now, here), (later, there) = parts if lower else reversed(parts)
    first = _substituted(xp, a[..., now, now], b[..., now, :], blocks[here], inverses[here], lower)
    remaining = b[..., later, :] - xp.matmul(a[..., later, now], first)
    last = _substituted(xp, a[..., later, later], remaining, blocks[there], inverses[there], lower)
    return xp.concat([first, last] if lower else [last, first], axis=-2)
