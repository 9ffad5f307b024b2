"""Sorting MLX's arrays: stable both ways, NaN last in ascending and first in descending order."""

from __future__ import annotations

import mlx.core as mx


def argsort(
    x: mx.array, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> mx.array:
    """Return the indices that sort an array."""
    if x.size == 0:
        return mx.zeros(x.shape, dtype=mx.int64)
    if not descending:
        return mx.argsort(x, axis).astype(mx.int64)
    # The backward order of the backward array keeps equal elements in theirs.
    order = mx.argsort(_backward(x, axis), axis).astype(mx.int64)
    return x.shape[axis] - 1 - _backward(order, axis)


def sort(
    x: mx.array, /, *, axis: int = -1, descending: bool = False, stable: bool = True
) -> mx.array:
    """Return a sorted copy."""
    if x.size == 0:
        return mx.array(x)
    ordered = mx.sort(x, axis)
    return _backward(ordered, axis) if descending else ordered


def _backward(x: mx.array, axis: int) -> mx.array:
    return x[(slice(None),) * (axis % x.ndim) + (slice(None, None, -1),)]
