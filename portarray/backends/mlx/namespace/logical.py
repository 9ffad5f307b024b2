"""Logic on boolean arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.promotion import Scalar, pair

logical_not = mx.logical_not


def logical_and(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where both are true."""
    return mx.logical_and(*pair(x1, x2))


def logical_or(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where at least one is true."""
    return mx.logical_or(*pair(x1, x2))


def logical_xor(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where exactly one is true."""
    return mx.logical_xor(*pair(x1, x2))
