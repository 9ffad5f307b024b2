"""``all`` and ``any`` of MLX arrays; NaN is true."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.reducing import Axes, Reduction, filled, reduced
from portarray.backends.types import Rows


def _tested(mlx_function: Reduction, empty_value: int) -> Reduction:
    """Return all or any, which is ``empty_value`` without elements."""

    def reduce(x: mx.array, /, *, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
        truth = x if x.dtype == mx.bool_ else x != 0
        return reduced(mlx_function, truth, axis, keepdims, empty_value=empty_value, dtype=mx.bool_)

    return reduce


all = _tested(mx.all, 1)
any = _tested(mx.any, 0)
DIRECT: Rows = {"all": {"b": filled(mx.all, all)}, "any": {"b": filled(mx.any, any)}}
