"""Cumulative sums and products by doubling, and the number of elements that a reduction reduces.

After step k every element is the sum of the last 2**k elements, so log2 of the length steps suffice
(Hillis and Steele, "Data Parallel Algorithms", 1986).
"""

from __future__ import annotations

import math
from typing import Any

__all__ = ["cumulative_prod", "cumulative_sum"]


def count(x: Any, axis: int | tuple[int, ...] | None) -> int:
    """Return the number of elements that are reduced to one."""
    axes = range(len(x.shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(x.shape[one] for one in axes)


def cumulative_prod(
    xp: Any,
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Any:
    """Return cumulative products along an axis."""
    return _running(xp, xp.multiply, 1, x, axis, dtype, include_initial)


def cumulative_sum(
    xp: Any,
    x: Any,
    /,
    *,
    axis: int | None = None,
    dtype: Any = None,
    include_initial: bool = False,
) -> Any:
    """Return cumulative sums along an axis."""
    return _running(xp, xp.add, 0, x, axis, dtype, include_initial)


def _running(
    xp: Any,
    combine: Any,
    first: int,
    x: Any,
    axis: int | None,
    dtype: Any,
    include_initial: bool,
) -> Any:
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"a running sum or product of {x.ndim} axes needs axis=")
        axis = 0
    axis = axis % x.ndim
    x = xp.astype(x, dtype or _widened(xp, x.dtype), copy=False)
    size = x.shape[axis]
    before = (slice(None),) * axis
    step = 1
    while step < size:
        head = xp.getitem(x, (*before, slice(0, step)))
        tail = xp.getitem(x, (*before, slice(step, None)))
        x = xp.concat(
            [head, combine(xp.getitem(x, (*before, slice(0, size - step))), tail)], axis=axis
        )
        step *= 2
    if include_initial:
        shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
        x = xp.concat([xp.full(shape, first, dtype=x.dtype, device=xp.device), x], axis=axis)
    return x


def _widened(xp: Any, dtype: Any) -> Any:
    """Return the dtype of a sum or product: integers widen to the default of their kind."""
    if xp.isdtype(dtype, "unsigned integer"):
        return xp.unsigned_dtype
    return xp.index_dtype if xp.isdtype(dtype, "signed integer") else dtype
