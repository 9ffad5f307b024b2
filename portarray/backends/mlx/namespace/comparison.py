"""Comparisons of MLX's arrays, what is finite, and limits."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.scalars import FLOATING, array_of
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
    """Limit values to a range; a bound beyond what an integer dtype holds limits nothing."""
    low = _bound(x, min, lower=True)
    high = _bound(x, max, lower=False)
    # MLX's own wants at least one bound, and takes no more axes of a bound than x has.
    found = mx.positive(x) if low is None else mx.maximum(x, low)
    return found if high is None else mx.minimum(found, high)


def _bound(x: mx.array, bound: mx.array | float | None, *, lower: bool) -> mx.array | None:
    if bound is None:
        return None
    dtype = x.dtype
    if isinstance(bound, mx.array):
        return bound if bound.dtype == dtype else bound.astype(dtype)
    if dtype not in FLOATING:
        limits = mx.iinfo(dtype)
        if (bound <= limits.min) if lower else (bound >= limits.max):
            return None
        if not limits.min <= bound <= limits.max:
            raise OverflowError(
                f"clip's bound {bound} leaves no value of {dtype}, "
                f"whose range is {limits.min} to {limits.max}"
            )
    return array_of(bound, dtype)
