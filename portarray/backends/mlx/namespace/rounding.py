"""Rounding; integers stay as they are."""

from __future__ import annotations

import mlx.core as mx

ceil = mx.ceil
floor = mx.floor
trunc = mx.trunc


def round(x: mx.array, /) -> mx.array:
    """Round to the nearest integer, halves to even; both parts of complex numbers."""
    return mx.round(x)
