"""``take`` by integer array indexing, and the axes of the arrays in a key."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

__all__ = ["take", "take_along_axis"]


def take(xp: Any, x: Any, indices: Any, /, *, axis: int | None = None) -> Any:
    """Return elements at indices along an axis."""
    if axis is None:
        if x.ndim != 1:
            raise ValueError(f"take needs an axis for an array of {x.ndim} axes")
        axis = 0
    return xp.getitem(x, (slice(None),) * (axis % x.ndim) + (indices,))


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


def integer_arrays(key: tuple[Any, ...], ndim: int, boolean: Any) -> Iterator[tuple[int, Any]]:
    """Yield the axis and the array of each integer array in a checked key.

    ``boolean`` is the library's bool dtype: a mask indexes as many axes as it has.
    """
    if not any(hasattr(part, "dtype") for part in key):
        return
    axis = 0
    for position, part in enumerate(key):
        if part is Ellipsis:
            axis = ndim - sum(_width(later, boolean) for later in key[position + 1 :])
            continue
        if hasattr(part, "dtype") and part.dtype != boolean:
            yield axis, part
        axis += _width(part, boolean)


def check_within(
    indices: np.ndarray[Any, Any], size: int, axis: int, *, lowest: int | None = None
) -> None:
    """Raise IndexError if an index in host memory is out of bounds for an axis.

    Negative indices count from the end, unless `lowest` is given.
    """
    outside = indices[(indices < (-size if lowest is None else lowest)) | (indices >= size)]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of bounds for axis {axis} with size {size}")


def _width(part: Any, boolean: Any) -> int:
    """Return the number of axes that a part of a key indexes."""
    if part is None:
        return 0
    return int(part.ndim) if hasattr(part, "dtype") and part.dtype == boolean else 1
