"""Real numbers as the bits that they are made of: signs and neighbours, which MLX has no call for.

A view of the bits costs nothing: MLX computes on the same memory.
"""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.promotion import BITS

__all__ = ["copysign", "is_negative", "neighbour"]

_MOST = {mx.int16: 0x7FFF, mx.int32: 0x7FFF_FFFF, mx.int64: 0x7FFF_FFFF_FFFF_FFFF}


def is_negative(x: mx.array) -> mx.array:
    """Tell where the sign bit of real numbers is set."""
    return mx.less(mx.view(x, BITS[x.dtype]), 0)


def copysign(size: mx.array, sign: mx.array) -> mx.array:
    """Return the magnitude of one array with the sign of another of the same dtype."""
    dtype = size.dtype
    as_bits = BITS[dtype]
    most = _MOST[as_bits]
    magnitude = mx.bitwise_and(mx.view(size, as_bits), most)
    return mx.view(
        mx.bitwise_or(magnitude, mx.bitwise_and(mx.view(sign, as_bits), -most - 1)), dtype
    )


def neighbour(x: mx.array, towards: mx.array) -> mx.array:
    """Return the next representable number in a direction: IEEE 754's nextUp and nextDown.

    Bits of numbers of one sign are in the order of their magnitudes.
    """
    dtype = x.dtype
    as_bits = BITS[dtype]
    grows = mx.equal(mx.less(x, towards), mx.greater(x, 0))
    moved = mx.view(mx.view(x, as_bits) + mx.where(grows, 1, -1).astype(as_bits), dtype)
    smallest = copysign(mx.view(mx.array(1, dtype=as_bits), dtype), towards)
    found = mx.where(mx.equal(x, 0), smallest, moved)
    found = mx.where(mx.equal(x, towards), towards, found)
    return mx.where(mx.logical_or(mx.isnan(x), mx.isnan(towards)), x + towards, found)
