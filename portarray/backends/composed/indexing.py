"""``take`` by integer array indexing."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["take", "take_along_axis"]


def take(xp: Any, x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Return elements at indices along an axis."""
    return xp.getitem(x, (slice(None),) * (take_axis(x, axis) % x.ndim) + (indices,))


def take_axis(x: Any, axis: int | None) -> int:
    """Return the axis of ``take``; None is allowed for 1-d arrays."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take: x has {x.ndim} axes and axis is None\nHint: pass axis=")
        return 0
    return axis


def take_along_axis(xp: Any, x: Any, indices: Any, /, *, axis: int = -1) -> Any:
    """Return elements at indices along an axis; the other axes of x and indices broadcast."""
    axis = axis % x.ndim
    other_sizes = [size for dim, size in enumerate(x.shape) if dim != axis]
    other_index_sizes = [size for dim, size in enumerate(indices.shape) if dim != axis]
    common = list(xp.broadcast_shapes(tuple(other_sizes), tuple(other_index_sizes)))
    # The other axes are indexed by broadcast ranges.
    key = []
    for dim in range(x.ndim):
        if dim == axis:
            shape = (*common[:axis], indices.shape[axis], *common[axis:])
            key.append(xp.broadcast_to(indices, shape))
            continue
        size = x.shape[dim]
        count = common[dim - (dim > axis)]
        # Axes of length 1 broadcast: index 0.
        positions = xp.arange(size, dtype=xp.index_dtype, device=xp.device)
        if size != count:
            positions = xp.zeros((count,), dtype=xp.index_dtype, device=xp.device)
        key.append(xp.reshape(positions, (-1,) + (1,) * (x.ndim - 1 - dim)))
    return xp.getitem(x, tuple(key))


def check_within(
    indices: np.ndarray[Any, Any], size: int, axis: int, *, lowest: int | None = None
) -> None:
    """Raise IndexError if an index in host memory is out of bounds for an axis.

    Negative indices count from the end, unless `lowest` is given.
    """
    outside = indices[(indices < (-size if lowest is None else lowest)) | (indices >= size)]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of bounds for axis {axis} with size {size}")
