"""Products with matrices, and rows of tables."""

from __future__ import annotations

import math
from typing import Any

from portarray.kernels.generic.conversion import cast_back, negative_out_of_bounds, widen_for_sums


def matmul(xp: Any, x1: Any, x2: Any, /) -> Any:
    """Multiply matrices."""
    return cast_back(xp, xp.matmul(widen_for_sums(xp, x1), widen_for_sums(xp, x2)), x1)


def linear(xp: Any, x: Any, weight: Any, bias: Any, /) -> Any:
    """Multiply by a matrix of shape (out, in), transposed, and add a bias."""
    # One product of two matrices: some libraries multiply stacks of them one at a time.
    rows = xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])) if x.ndim > 2 else x
    out = xp.matmul(widen_for_sums(xp, rows), xp.matrix_transpose(widen_for_sums(xp, weight)))
    if bias is not None:
        out = out + widen_for_sums(xp, bias)
    out = cast_back(xp, out, x)
    return xp.reshape(out, (*x.shape[:-1], weight.shape[0])) if x.ndim > 2 else out


def gemm(
    xp: Any,
    a: Any,
    b: Any,
    /,
    *,
    out: Any,
    alpha: complex,
    beta: complex,
    transpose_a: bool,
    transpose_b: bool,
    in_place: bool = False,
) -> Any:
    """Multiply two matrices, and add the product to a third one, optionally in place."""
    first, second = widen_for_sums(xp, a), widen_for_sums(xp, b)
    first = xp.matrix_transpose(first) if transpose_a else first
    second = xp.matrix_transpose(second) if transpose_b else second
    product = xp.matmul(first, second)
    if out is None or beta == 0:
        return cast_back(xp, product if alpha == 1 else product * alpha, a)
    if in_place and product.dtype == out.dtype:
        total = out
        if beta != 1:
            total *= beta
        if alpha == -1:
            total -= product
        else:
            total += product if alpha == 1 else product * alpha
        return cast_back(xp, total, a)
    total = widen_for_sums(xp, out) if beta == 1 else widen_for_sums(xp, out) * beta
    total = total + (product if alpha == 1 else product * alpha)
    return cast_back(xp, total, a)


def embedding(xp: Any, indices: Any, weight: Any, /) -> Any:
    """Take rows of a table."""
    flat = xp.reshape(
        negative_out_of_bounds(xp, indices, weight.shape[0]), (math.prod(indices.shape),)
    )
    return xp.reshape(xp.take(weight, flat, axis=0), (*indices.shape, weight.shape[1]))
