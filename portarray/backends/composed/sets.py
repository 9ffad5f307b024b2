"""Set functions by a stable sort.

In sorted order a new value starts wherever an element differs from its predecessor. Each NaN is a
distinct value; 0.0 and -0.0 are equal. Values are returned sorted.
"""

from __future__ import annotations

import math
from typing import Any

from portarray._result_types import (
    UniqueAllResult,
    UniqueCountsResult,
    UniqueInverseResult,
)

__all__ = ["isin", "unique_all", "unique_counts", "unique_inverse", "unique_values"]


def isin(xp: Any, x1: Any, x2: Any, /, *, invert: bool = False) -> Any:
    """Return which elements of x1 are in x2; one of them may be a scalar."""
    dtype = xp.result_type(x1, x2)
    x1 = _as_array(xp, x1, dtype)
    x2 = _as_array(xp, x2, dtype)
    size = math.prod(x2.shape)
    if size <= 1:
        single = xp.reshape(x2, (-1,))
        is_member = (
            xp.equal(x1, xp.getitem(single, (0,))) if size else xp.zeros_like(x1, dtype=xp.bool)
        )
    elif xp.isdtype(dtype, "complex floating"):
        is_member = _numbered(xp, x1, x2)
    else:
        if xp.isdtype(dtype, "bool"):
            x1, x2 = xp.astype(x1, xp.uint8), xp.astype(x2, xp.uint8)
        ordered = xp.sort(xp.reshape(x2, (-1,)))
        positions = xp.minimum(xp.searchsorted(ordered, x1), size - 1)
        nearest = xp.reshape(xp.take(ordered, xp.reshape(positions, (-1,)), axis=0), x1.shape)
        is_member = xp.equal(nearest, x1)
    return xp.logical_not(is_member) if invert else is_member


def _numbered(xp: Any, x1: Any, x2: Any) -> Any:
    """Return which elements of x1 are in x2, by indices of distinct values."""
    count = math.prod(x1.shape)
    both = xp.concat([xp.reshape(x1, (-1,)), xp.reshape(x2, (-1,))])
    numbers = unique_inverse(xp, both).inverse_indices
    numbers1 = xp.getitem(numbers, (slice(0, count),))
    numbers2 = xp.getitem(numbers, (slice(count, None),))
    marks = xp.zeros((math.prod(both.shape),), dtype=xp.bool, device=xp.device)
    marks = xp.setitem(marks, (numbers2,), True)
    return xp.reshape(xp.take(marks, numbers1, axis=0), x1.shape)


def unique_all(xp: Any, x: Any, /) -> UniqueAllResult[Any]:
    """Return values, first indices, inverse indices and counts."""
    order, ordered, starts = _sorted(xp, x)
    return UniqueAllResult(
        xp.getitem(ordered, (starts,)),
        # The sort is stable: of equal elements the first in x comes first.
        xp.getitem(order, (starts,)),
        _inverse(xp, x, order, starts),
        _counts(xp, starts),
    )


def unique_counts(xp: Any, x: Any, /) -> UniqueCountsResult[Any]:
    """Return values and their counts."""
    ordered = _ordered(xp, x)
    starts = _starts(xp, ordered)
    return UniqueCountsResult(xp.getitem(ordered, (starts,)), _counts(xp, starts))


def unique_inverse(xp: Any, x: Any, /) -> UniqueInverseResult[Any]:
    """Return values and inverse indices."""
    order, ordered, starts = _sorted(xp, x)
    return UniqueInverseResult(
        xp.getitem(ordered, (starts,)),
        _inverse(xp, x, order, starts),
    )


def unique_values(xp: Any, x: Any, /) -> Any:
    """Return values."""
    ordered = _ordered(xp, x)
    return xp.getitem(ordered, (_starts(xp, ordered),))


def _ordered(xp: Any, x: Any) -> Any:
    """Return flattened x sorted."""
    if xp.isdtype(x.dtype, "complex floating"):
        return _sorted(xp, x)[1]
    return xp.sort(xp.reshape(x, (-1,)))


def _sorted(xp: Any, x: Any) -> tuple[Any, Any, Any]:
    """Return the indices that sort flattened x, the sorted values, and where new values start."""
    flat = xp.reshape(x, (-1,))
    if xp.isdtype(flat.dtype, "complex floating"):
        # Lexicographic, by real and then imaginary part. Adding 0 turns -0 into 0, because some
        # sorts order -0 before 0.
        by_imaginary = xp.argsort(xp.add(xp.imag(flat), 0.0), stable=True)
        real = xp.take(xp.add(xp.real(flat), 0.0), by_imaginary, axis=0)
        order = xp.take(by_imaginary, xp.argsort(real, stable=True), axis=0)
    else:
        order = xp.argsort(flat, stable=True)
    ordered = xp.take(flat, order, axis=0)
    return order, ordered, _starts(xp, ordered)


def _starts(xp: Any, ordered: Any) -> Any:
    """Return where in sorted elements a new value starts."""
    count = math.prod(ordered.shape)
    first = xp.ones((min(count, 1),), dtype=xp.bool, device=xp.device)
    later = xp.not_equal(
        xp.getitem(ordered, (slice(1, None),)),
        xp.getitem(ordered, (slice(0, max(count - 1, 0)),)),
    )
    return xp.concat([first, later])


def _inverse(xp: Any, x: Any, order: Any, starts: Any) -> Any:
    numbers = xp.cumulative_sum(xp.astype(starts, order.dtype), axis=0, dtype=order.dtype)
    # Scatter the indices of values to the positions in x.
    inverse = xp.setitem(xp.zeros_like(numbers), (order,), xp.subtract(numbers, 1))
    return xp.reshape(inverse, x.shape)


def _counts(xp: Any, starts: Any) -> Any:
    (places,) = xp.nonzero(starts)
    end = xp.full((1,), math.prod(starts.shape), dtype=places.dtype, device=xp.device)
    return xp.diff(xp.concat([places, end]))


def _as_array(xp: Any, x: Any, dtype: Any) -> Any:
    if hasattr(x, "dtype"):
        return xp.astype(x, dtype, copy=False)
    return xp.full((), x, dtype=dtype, device=xp.device)
