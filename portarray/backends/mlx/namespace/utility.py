"""Tests of whole arrays of MLX."""

from __future__ import annotations

import builtins

import mlx.core as mx

from portarray.backends.mlx.namespace.reducing import Axes, filled, reduced
from portarray.backends.protocol import Rows


def all(x: mx.array, /, *, axis: Axes | None = None, keepdims: builtins.bool = False) -> mx.array:
    """Tell whether all elements are true; NaN is."""
    return reduced(mx.all, _truth(x), axis, keepdims, none=1, dtype=mx.bool_)


def any(x: mx.array, /, *, axis: Axes | None = None, keepdims: builtins.bool = False) -> mx.array:
    """Tell whether at least one element is true; NaN is."""
    return reduced(mx.any, _truth(x), axis, keepdims, none=0, dtype=mx.bool_)


def _truth(x: mx.array) -> mx.array:
    return x if x.dtype == mx.bool_ else x != 0


PLAIN: Rows = {"all": {"b": filled(mx.all, all)}, "any": {"b": filled(mx.any, any)}}
