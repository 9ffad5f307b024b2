"""Cumulative sums and products by doubling.

After step k every element is the sum of the last 2**k elements, so ``log2(size)`` steps suffice
(Hillis and Steele, "Data Parallel Algorithms", 1986).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

__all__ = ["cumulative_prod", "cumulative_sum"]


def count(x: Any, axis: int | tuple[int, ...] | None) -> int:
    """Return the number of elements that a reduction combines into one."""
    axes = range(len(x.shape)) if axis is None else (axis,) if isinstance(axis, int) else axis
    return math.prod(x.shape[position] for position in axes)


def _cumulative(combine: str, first: int) -> Callable[..., Any]:
    """Return a cumulative sum or product, whose initial value is `first`."""

    def cumulative(
        xp: Any,
        x: Any,
        /,
        *,
        axis: int | None = None,
        dtype: Any = None,
        include_initial: bool = False,
    ) -> Any:
        if axis is None:
            if x.ndim != 1:
                raise ValueError(f"cumulative sums and products of {x.ndim} axes need axis=")
            axis = 0
        axis = axis % x.ndim
        x = xp.astype(x, dtype or _widened(xp, x.dtype), copy=False)
        function, size = getattr(xp, combine), x.shape[axis]
        leading = (slice(None),) * axis
        step = 1
        while step < size:
            head = xp.getitem(x, (*leading, slice(0, step)))
            tail = xp.getitem(x, (*leading, slice(step, None)))
            shifted = xp.getitem(x, (*leading, slice(0, size - step)))
            x = xp.concat([head, function(shifted, tail)], axis=axis)
            step *= 2
        if include_initial:
            shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
            x = xp.concat([xp.full(shape, first, dtype=x.dtype, device=xp.device), x], axis=axis)
        return x

    return cumulative


cumulative_prod = _cumulative("multiply", 1)
cumulative_sum = _cumulative("add", 0)


def _widened(xp: Any, dtype: Any) -> Any:
    """Return the dtype of a sum or product: integers widen to the default of their kind."""
    if xp.isdtype(dtype, "unsigned integer"):
        return xp.unsigned_dtype
    return xp.index_dtype if xp.isdtype(dtype, "signed integer") else dtype
