"""Bitwise operations on MLX's integer and boolean arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.common import UNSIGNED, inplace
from portarray.backends.protocol import Rows, composed

# Shifts by the width and more MLX leaves to the processor, whose answer may differ within one
# array: https://github.com/ml-explore/mlx/pull/4271


@composed
def _left_shift(x1: mx.array, x2: mx.array) -> mx.array:
    out = mx.greater_equal(x2, 8 * x1.dtype.size)
    return mx.where(out, 0, mx.left_shift(x1, mx.where(out, 0, x2)))


@composed
def _right_shift(x1: mx.array, x2: mx.array) -> mx.array:
    width = 8 * x1.dtype.size
    if x1.dtype not in UNSIGNED:
        return mx.right_shift(x1, mx.minimum(x2, width - 1))
    out = mx.greater_equal(x2, width)
    return mx.where(out, 0, mx.right_shift(x1, mx.where(out, 0, x2)))


ROWS: Rows = {
    "bitwise_and": {"biu": mx.bitwise_and},
    "bitwise_invert": {"biu": mx.bitwise_invert},
    "bitwise_left_shift": {"iu": _left_shift},
    "bitwise_or": {"biu": mx.bitwise_or},
    "bitwise_right_shift": {"iu": _right_shift},
    "bitwise_xor": {"biu": mx.bitwise_xor},
}
INPLACE: Rows = inplace(ROWS, *(name for name in ROWS if name != "bitwise_invert"))
