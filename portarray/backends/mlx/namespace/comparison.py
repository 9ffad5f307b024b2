"""Comparisons, what is finite, and limits."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.promotion import FLOATING, Scalar, array_of, pair

isfinite = mx.isfinite
isinf = mx.isinf
isnan = mx.isnan


def equal(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where x1 equals x2."""
    return mx.equal(*pair(x1, x2))


def not_equal(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where x1 differs from x2."""
    return mx.not_equal(*pair(x1, x2))


def greater(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where ``x1 > x2``."""
    return mx.greater(*pair(x1, x2))


def greater_equal(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where ``x1 >= x2``."""
    return mx.greater_equal(*pair(x1, x2))


def less(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where ``x1 < x2``."""
    return mx.less(*pair(x1, x2))


def less_equal(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Tell where ``x1 <= x2``."""
    return mx.less_equal(*pair(x1, x2))


def maximum(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return the larger of each two; NaN where one is NaN."""
    return mx.maximum(*pair(x1, x2))


def minimum(x1: mx.array | Scalar, x2: mx.array | Scalar, /) -> mx.array:
    """Return the smaller of each two; NaN where one is NaN."""
    return mx.minimum(*pair(x1, x2))


def clip(
    x: mx.array,
    /,
    min: mx.array | float | None = None,
    max: mx.array | float | None = None,
) -> mx.array:
    """Limit values to a range; the result keeps x's dtype.

    Bounds broadcast with x. A bound beyond what x's integer dtype holds limits nothing. NaN in x
    or in a bound gives NaN.
    """
    low = _bound(x, min, lower=True)
    high = _bound(x, max, lower=False)
    # MLX's own wants at least one bound, and takes no more axes of a bound than x has.
    found = mx.positive(x)
    if low is not None:
        found = mx.maximum(found, low)
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
