"""Comparisons of MLX's arrays, what is finite, and limits."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.scalars import array_of
from portarray.backends.types import Rows

ROWS: Rows = {
    "equal": {"biufc": mx.equal},
    "greater": {"iuf": mx.greater},
    "greater_equal": {"iuf": mx.greater_equal},
    "isfinite": {"iufc": mx.isfinite},
    "isinf": {"iufc": mx.isinf},
    "isnan": {"iufc": mx.isnan},
    "less": {"iuf": mx.less},
    "less_equal": {"iuf": mx.less_equal},
    "maximum": {"iuf": mx.maximum},
    "minimum": {"iuf": mx.minimum},
    "not_equal": {"biufc": mx.not_equal},
}
# As for arithmetic, integers beyond int64 raise.
WITH_SCALAR: Rows = {
    "equal": {"iufc": mx.equal},
    "greater": {"iuf": mx.greater},
    "greater_equal": {"iuf": mx.greater_equal},
    "less": {"iuf": mx.less},
    "less_equal": {"iuf": mx.less_equal},
    "maximum": {"iuf": mx.maximum},
    "minimum": {"iuf": mx.minimum},
    "not_equal": {"iufc": mx.not_equal},
}


def clip(
    x: mx.array, /, min: mx.array | float | None = None, max: mx.array | float | None = None
) -> mx.array:
    """Limit values to a range; the bounds have x's dtype or are numbers that it holds."""
    # MLX's own wants at least one bound, and takes no more axes of a bound than x has.
    found = mx.positive(x) if min is None else mx.maximum(x, _bound(x, min))
    return found if max is None else mx.minimum(found, _bound(x, max))


def _bound(x: mx.array, bound: mx.array | float) -> mx.array:
    return bound if isinstance(bound, mx.array) else array_of(bound, x.dtype)
