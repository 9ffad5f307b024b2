"""Indexing by integer arrays, and values combined at indices."""

from __future__ import annotations

from typing import Any

import numpy as np

__all__ = ["add_at", "max_at", "min_at", "multiply_at", "take", "take_along_axis"]


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


def add_at(xp: Any, x: Any, indices: Any, values: Any, /) -> Any:
    """Return x with ``values[k]`` added to row ``indices[k]`` for all k, repeated or not."""
    return _combined_at(xp, xp.add, x, indices, values)


def multiply_at(xp: Any, x: Any, indices: Any, values: Any, /) -> Any:
    """Return x with row ``indices[k]`` multiplied by ``values[k]``."""
    return _combined_at(xp, xp.multiply, x, indices, values)


def max_at(xp: Any, x: Any, indices: Any, values: Any, /) -> Any:
    """Return x with the larger of row ``indices[k]`` and ``values[k]``."""
    return _combined_at(xp, xp.maximum, x, indices, values)


def min_at(xp: Any, x: Any, indices: Any, values: Any, /) -> Any:
    """Return x with the smaller of row ``indices[k]`` and ``values[k]``."""
    return _combined_at(xp, xp.minimum, x, indices, values)


def _combined_at(xp: Any, operation: Any, x: Any, indices: Any, values: Any) -> Any:
    """Combine rows in the order of their indices: a segmented scan, in ``log2(n)`` steps.

    G. E. Blelloch, "Prefix sums and their applications", 1990. The result does not depend on the
    order of execution.
    """
    count, length = indices.shape[0], x.shape[0]
    if not count or not length:
        return xp.asarray(x, copy=True)
    order = xp.argsort(indices, stable=True)
    rows, values = xp.take(indices, order, axis=0), xp.take(values, order, axis=0)
    column = (-1,) + (1,) * (x.ndim - 1)
    step = 1
    while step < count:
        same = xp.reshape(xp.equal(_sliced(xp, rows, step), _sliced(xp, rows, 0, -step)), column)
        later = _sliced(xp, values, step)
        merged = xp.where(same, operation(_sliced(xp, values, 0, -step), later), later)
        values = xp.concat([_sliced(xp, values, 0, step), merged], axis=0)
        step *= 2
    # The last of equal indices has them all; the others go to a row that is dropped.
    last = xp.full((1,), length, dtype=rows.dtype, device=xp.device)
    ends = xp.not_equal(rows, xp.concat([_sliced(xp, rows, 1), last], axis=0))
    values = operation(xp.take(x, rows, axis=0), values)
    extended = xp.concat([x, _sliced(xp, x, 0, 1)], axis=0)
    places = xp.where(ends, rows, xp.full((count,), length, dtype=rows.dtype, device=xp.device))
    return _sliced(xp, xp.setitem(extended, (places, ...), values), 0, -1)


def _sliced(xp: Any, x: Any, start: int, stop: int | None = None) -> Any:
    return xp.getitem(x, (slice(start, stop), ...))


def check_within(
    indices: np.ndarray[Any, Any], size: int, axis: int, *, lowest: int | None = None
) -> None:
    """Raise IndexError if an index in host memory is out of bounds for an axis.

    Negative indices count from the end, unless `lowest` is given.
    """
    outside = indices[(indices < (-size if lowest is None else lowest)) | (indices >= size)]
    if outside.size:
        raise IndexError(f"index {outside[0]} is out of bounds for axis {axis} with size {size}")
