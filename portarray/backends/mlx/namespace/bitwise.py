"""Bitwise operations on MLX's integer and boolean arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.scalars import INTEGRAL, UNSIGNED, inplace
from portarray.backends.types import Rows, composed

# MLX leaves shifts by the width or more to the processor, whose results may differ within one
# array: https://github.com/ml-explore/mlx/pull/4271. The arrays here are created once.
_ZERO_WIDTH = {d: (mx.array(0, dtype=d), mx.array(8 * d.size, dtype=d)) for d in INTEGRAL}


@composed
def _left_shift(x1: mx.array, x2: mx.array) -> mx.array:
    zero, width = _ZERO_WIDTH[x1.dtype]
    return mx.where(mx.greater_equal(x2, width), zero, mx.left_shift(x1, x2))


@composed
def _right_shift(x1: mx.array, x2: mx.array) -> mx.array:
    if x1.dtype not in UNSIGNED:
        return mx.right_shift(x1, mx.minimum(x2, 8 * x1.dtype.size - 1))
    zero, width = _ZERO_WIDTH[x1.dtype]
    return mx.where(mx.greater_equal(x2, width), zero, mx.right_shift(x1, x2))


BY_DTYPE: Rows = {
    "bitwise_and": {"biu": mx.bitwise_and},
    "bitwise_invert": {"biu": mx.bitwise_invert},
    "bitwise_left_shift": {"iu": _left_shift},
    "bitwise_or": {"biu": mx.bitwise_or},
    "bitwise_right_shift": {"iu": _right_shift},
    "bitwise_xor": {"biu": mx.bitwise_xor},
}
IN_PLACE: Rows = inplace(BY_DTYPE, *(name for name in BY_DTYPE if name != "bitwise_invert"))
