"""``broadcast_shapes``, and ``repeat`` composed of ``take``."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

__all__ = ["broadcast_shapes", "repeat"]


def normalize_axes(axes: Sequence[int], ndim: int) -> tuple[int, ...]:
    """Return non-negative axes, or raise for those out of range or repeated."""
    for axis in axes:
        if not -ndim <= axis < ndim:
            raise IndexError(f"axis {axis} is out of bounds for {ndim} axes")
    result = tuple(axis % ndim for axis in axes)
    if len(set(result)) < len(result):
        raise ValueError(f"axes {tuple(axes)} contain an axis twice")
    return result


def broadcast_shapes(xp: Any, *shapes: Sequence[int | None]) -> tuple[int | None, ...]:
    """Return the shape that shapes broadcast to; None is an unknown size.

    An unknown size is assumed to match a known size other than 1.
    """
    ndim = max((len(shape) for shape in shapes), default=0)
    result: list[int | None] = []
    for axis in range(-ndim, 0):
        sizes = {shape[axis] for shape in shapes if len(shape) >= -axis} - {1}
        known_sizes = sizes - {None}
        if len(known_sizes) > 1:
            raise ValueError(
                f"shapes {', '.join(str(tuple(shape)) for shape in shapes)} cannot be broadcast: "
                f"axis {axis} has sizes {sorted(size for size in known_sizes if size is not None)}"
            )
        result.append(next(iter(known_sizes or sizes), 1))
    return tuple(result)


def repeat(xp: Any, x: Any, repeats: Any, /, *, axis: int | None = None) -> Any:
    """Repeat each element along an axis; of the flattened array for None."""
    if axis is None:
        x, axis = xp.reshape(x, (math.prod(x.shape),)), 0
    axis = axis % x.ndim
    size = x.shape[axis]
    counts = xp.asarray(repeats, dtype=xp.index_dtype, device=xp.device)
    if 0 not in counts.shape and int(xp.item(xp.min(counts))) < 0:
        raise ValueError("repeat: repeats must not be negative")
    counts = xp.broadcast_to(counts, (size,))
    ends = xp.cumulative_sum(counts, axis=0)
    total = int(xp.item(xp.getitem(ends, (size - 1,)))) if size else 0
    # Element i of the result copies the first element whose copies end after i.
    places = xp.arange(total, dtype=xp.index_dtype, device=xp.device)
    return xp.take(x, xp.searchsorted(ends, places, side="right"), axis=axis)
