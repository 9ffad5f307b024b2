"""Where in an array something is. MLX numbers elements in uint32, portarray in int64."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Literal

import mlx.core as mx

from portarray.backends.mlx import limits
from portarray.backends.mlx.namespace.reducing import Axes, reduced

where = mx.where


def _extreme(name: str, own: Callable[..., mx.array]) -> Callable[..., mx.array]:
    """Return argmax or argmin: the first of several, and the first NaN where there is one."""

    def found(x: mx.array, /, *, axis: int | None = None, keepdims: bool = False) -> mx.array:
        if x.size and x.ndim:
            return own(x, axis, keepdims).astype(mx.int64)
        # MLX refuses 0-d arrays, and those of nothing.
        if x.size == 0 and (axis is None or x.shape[axis] == 0):
            raise ValueError(f"{name} of no elements does not exist; the shape is {x.shape}")
        return reduced(mx.sum, mx.zeros(x.shape), axis, keepdims, none=0, dtype=mx.int64)

    return found


argmax = _extreme("argmax", mx.argmax)
argmin = _extreme("argmin", mx.argmin)


def count_nonzero(x: mx.array, /, *, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
    """Count the elements that are not 0."""
    unequal = x if x.dtype == mx.bool_ else mx.not_equal(x, 0)
    # MLX counts in int32, which is faster and wide enough for all but the largest arrays.
    if x.size > 2**31 - 1:
        unequal = unequal.astype(mx.int64)
    return reduced(mx.sum, unequal, axis, keepdims, none=0, dtype=mx.int64)


def nonzero(x: mx.array, /) -> tuple[mx.array, ...]:
    """Return the indices of the elements that are not 0, an array for each axis.

    MLX has no function whose result's shape depends on values: the count is read back, then each
    element that counts puts its place where the sum of those before it says.
    """
    if x.ndim == 0:
        raise ValueError("nonzero needs at least one axis; a 0-d array has no indices")
    flat = mx.reshape(x if x.dtype == mx.bool_ else mx.not_equal(x, 0), (-1,))
    dtype = mx.int64 if x.size > 2**31 - 1 else mx.int32
    limits.check(x.shape, (1 + 2 * dtype.size) * x.size)  # it is computed here and now
    ends = mx.cumsum(flat.astype(dtype))
    count = operator.index(ends[-1].item()) if x.size else 0  # type: ignore[arg-type]
    if not count:
        return tuple(mx.zeros((0,), dtype=mx.int64) for _ in x.shape)
    limits.check((count,), 2 * dtype.size * (x.size + count))
    # All others write to a place behind the last, which is cut off.
    targets = mx.where(flat, ends - 1, mx.array(count, dtype=dtype))
    found = mx.put_along_axis(
        mx.zeros((count + 1,), dtype=dtype), targets, mx.arange(x.size, dtype=dtype), axis=0
    )
    found = found[:count].astype(mx.int64)
    indices = []
    for size in reversed(x.shape[1:]):
        indices.append(mx.remainder(found, size))
        found = mx.floor_divide(found, size)
    return (found, *reversed(indices))


def searchsorted(
    x1: mx.array,
    x2: mx.array,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: mx.array | None = None,
) -> mx.array:
    """Return where elements would be inserted into a sorted array; NaN sorts last."""
    if sorter is not None:
        x1 = mx.take(x1, sorter, 0)
    return mx.searchsorted(x1, x2, side).astype(mx.int64)
