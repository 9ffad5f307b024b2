"""Bitwise operations on integer and boolean arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.promotion import SIGNED, Scalar, pair
from portarray.backends.types import composed

_SIGNED = frozenset(SIGNED)

bitwise_invert = mx.bitwise_invert


def bitwise_and(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return ``x1 & x2``."""
    return mx.bitwise_and(*pair(x1, x2))


def bitwise_or(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return ``x1 | x2``."""
    return mx.bitwise_or(*pair(x1, x2))


def bitwise_xor(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return ``x1 ^ x2``."""
    return mx.bitwise_xor(*pair(x1, x2))


@composed
def bitwise_left_shift(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return ``x1 << x2``; 0 where all bits are shifted out."""
    x1, x2 = pair(x1, x2)
    # Where MLX leaves it to the processor, whose answer may differ within one array:
    # https://github.com/ml-explore/mlx/pull/4271
    out = mx.greater_equal(x2, 8 * x1.dtype.size)
    return mx.where(out, 0, mx.left_shift(x1, mx.where(out, 0, x2)))


@composed
def bitwise_right_shift(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return ``x1 >> x2``, filling with the sign; 0 or -1 where all bits are shifted out."""
    x1, x2 = pair(x1, x2)
    width = 8 * x1.dtype.size
    if x1.dtype in _SIGNED:
        return mx.right_shift(x1, mx.minimum(x2, width - 1))
    out = mx.greater_equal(x2, width)
    return mx.where(out, 0, mx.right_shift(x1, mx.where(out, 0, x2)))
