"""Products of MLX's matrices."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.common.blocks import FEW_TERMS, blocked_matmul
from portarray.backends.composed.linear_algebra import integer_matmul
from portarray.backends.mlx.namespace.scalars import INTEGRAL, UNSIGNED, on_cpu
from portarray.backends.mlx.namespace.statistical import accurate_sum


def matmul(x1: mx.array, x2: mx.array, /) -> mx.array:
    """Return the matrix product; MLX has floating-point products only, used for integers too."""
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul: 0-d arrays are not supported\nHint: use multiply")
    if x1.dtype not in INTEGRAL:
        return _product(x1, x2)
    floating, exact = (mx.float64, 53) if on_cpu() else (mx.float32, 24)
    product: mx.array = integer_matmul(
        mx,
        x1,
        x2,
        bits=8 * x1.dtype.size,
        wide=mx.uint64 if x1.dtype in UNSIGNED else mx.int64,
        floating=floating,
        exact=exact,
    )
    return product


def _product(x1: mx.array, x2: mx.array) -> mx.array:
    """Return the matrix product of floating-point arrays, of many terms in blocks."""
    size = x1.shape[-1]
    if size <= FEW_TERMS or size != x2.shape[-min(x2.ndim, 2)]:
        return mx.matmul(x1, x2)
    if x1.ndim == 1 == x2.ndim:  # mx.matmul takes 20 times as long
        return accurate_sum(x1 * x2)
    product: mx.array = blocked_matmul(mx.matmul, _sum_of_blocks, mx.moveaxis, x1, x2)
    return product


def _sum_of_blocks(x: mx.array) -> mx.array:
    return accurate_sum(x, 0)


def matrix_transpose(x: mx.array, /) -> mx.array:
    """Return the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: x has {x.ndim} axes; at least 2 are needed")
    return mx.swapaxes(x, -1, -2)
