"""Tests of whole arrays of MLX; NaN is true."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.reducing import Axes, Reduction, filled, reduced
from portarray.backends.types import Rows


def _tested(own: Reduction, none: int) -> Reduction:
    """Return all or any, which is ``none`` of no elements."""

    def found(x: mx.array, /, *, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
        truth = x if x.dtype == mx.bool_ else x != 0
        return reduced(own, truth, axis, keepdims, none=none, dtype=mx.bool_)

    return found


all = _tested(mx.all, 1)
any = _tested(mx.any, 0)
PLAIN: Rows = {"all": {"b": filled(mx.all, all)}, "any": {"b": filled(mx.any, any)}}
