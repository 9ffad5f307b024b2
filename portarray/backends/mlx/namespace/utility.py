"""Tests of whole arrays."""

from __future__ import annotations

import builtins

import mlx.core as mx

__all__ = ["all", "any"]

Axes = int | tuple[int, ...]


def all(x: mx.array, /, *, axis: Axes | None = None, keepdims: builtins.bool = False) -> mx.array:
    """Tell whether all elements are true; NaN is."""
    return mx.all(_truth(x), axis, keepdims)


def any(x: mx.array, /, *, axis: Axes | None = None, keepdims: builtins.bool = False) -> mx.array:
    """Tell whether at least one element is true; NaN is."""
    return mx.any(_truth(x), axis, keepdims)


def _truth(x: mx.array) -> mx.array:
    return x if x.dtype == mx.bool_ else x != 0
