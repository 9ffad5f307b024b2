"""Searching MLX arrays. MLX returns indices as uint32, portarray as int64."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Literal

import mlx.core as mx

from portarray.backends.mlx import limits
from portarray.backends.mlx.namespace.reducing import Axes, reduced

where = mx.where


def _extreme(name: str, mlx_function: Callable[..., mx.array]) -> Callable[..., mx.array]:
    """Return argmax or argmin: the first of several, and the first NaN where there is one."""

    def reduce(x: mx.array, /, *, axis: int | None = None, keepdims: bool = False) -> mx.array:
        if x.size and x.ndim:
            return mlx_function(x, axis, keepdims).astype(mx.int64)
        # MLX refuses 0-d and empty arrays.
        if x.size == 0 and (axis is None or x.shape[axis] == 0):
            raise ValueError(f"{name}: an array of shape {x.shape} has no elements")
        return reduced(mx.sum, mx.zeros(x.shape), axis, keepdims, empty_value=0, dtype=mx.int64)

    return reduce


argmax = _extreme("argmax", mx.argmax)
argmin = _extreme("argmin", mx.argmin)


def count_nonzero(x: mx.array, /, *, axis: Axes | None = None, keepdims: bool = False) -> mx.array:
    """Count the elements that are not 0."""
    unequal = x if x.dtype == mx.bool_ else mx.not_equal(x, 0)
    # MLX counts in int32, which is faster and overflows for the largest arrays only.
    if x.size > 2**31 - 1:
        unequal = unequal.astype(mx.int64)
    return reduced(mx.sum, unequal, axis, keepdims, empty_value=0, dtype=mx.int64)


def nonzero(x: mx.array, /) -> tuple[mx.array, ...]:
    """Return the indices of the elements that are not 0, an array for each axis.

    MLX does not have functions whose result's shape depends on values: the count is read back,
    then a running count scatters the positions.
    """
    if x.ndim == 0:
        raise ValueError("nonzero: a 0-d array has no indices\nHint: reshape it to (1,)")
    flat = mx.reshape(x if x.dtype == mx.bool_ else mx.not_equal(x, 0), (-1,))
    dtype = mx.int64 if x.size > 2**31 - 1 else mx.int32
    limits.check(x.shape, (1 + 2 * dtype.size) * x.size)  # computed now
    ends = mx.cumsum(flat.astype(dtype))
    count = operator.index(ends[-1].item()) if x.size else 0  # type: ignore[arg-type]
    if not count:
        return tuple(mx.zeros((0,), dtype=mx.int64) for _ in x.shape)
    limits.check((count,), 2 * dtype.size * (x.size + count))
    # Zeros write behind the last position, which is cut off.
    targets = mx.where(flat, ends - 1, mx.array(count, dtype=dtype))
    positions = mx.put_along_axis(
        mx.zeros((count + 1,), dtype=dtype), targets, mx.arange(x.size, dtype=dtype), axis=0
    )
    positions = positions[:count].astype(mx.int64)
    indices = []
    for size in reversed(x.shape[1:]):
        indices.append(mx.remainder(positions, size))
        positions = mx.floor_divide(positions, size)
    return (positions, *reversed(indices))


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
