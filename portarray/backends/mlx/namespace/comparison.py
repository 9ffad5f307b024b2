"""Comparisons, tests for finite values, and limits on MLX arrays."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.scalars import array_of
from portarray.backends.types import Rows

BY_DTYPE: Rows = {
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
# As in arithmetic, integers beyond int64 raise.
WITH_PYTHON_SCALAR: Rows = {
    name: {kinds.removeprefix("b"): function for kinds, function in row.items()}
    for name, row in BY_DTYPE.items()
    if not name.startswith("is")
}


def clip(
    x: mx.array, /, min: mx.array | float | None = None, max: mx.array | float | None = None
) -> mx.array:
    """Limit values to a range; the bounds have x's dtype or are numbers that it holds."""
    # mx.clip needs at least one bound, and bounds with at most as many axes as x.
    limited = mx.positive(x) if min is None else mx.maximum(x, _bound(x, min))
    return limited if max is None else mx.minimum(limited, _bound(x, max))


def _bound(x: mx.array, bound: mx.array | float) -> mx.array:
    return bound if isinstance(bound, mx.array) else array_of(bound, x.dtype)
