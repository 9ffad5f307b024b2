"""Products of MLX's matrices."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.composed.linear_algebra import integer_matmul
from portarray.backends.mlx.namespace.scalars import INTEGRAL, UNSIGNED, on_cpu


def matmul(x1: mx.array, x2: mx.array, /) -> mx.array:
    """Return the matrix product; MLX has floating-point products only, used for integers too."""
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul: 0-d arrays are not supported\nHint: use multiply")
    if x1.dtype not in INTEGRAL:
        return mx.matmul(x1, x2)
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


def matrix_transpose(x: mx.array, /) -> mx.array:
    """Return the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: x has {x.ndim} axes; at least 2 are needed")
    return mx.swapaxes(x, -1, -2)
