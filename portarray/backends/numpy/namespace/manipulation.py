"""Shapes of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def broadcast_to(x: Array, /, shape: tuple[int, ...]) -> Array:
    """Return a view, read-only unless the shape is that of x.

    For 0-d arrays six times as fast as np.broadcast_to.
    """
    if x.shape == shape:
        return x[...]
    if x.shape:
        return np.broadcast_to(x, shape)
    out: Array = np.ndarray(shape, x.dtype, x, 0, (0,) * len(shape))
    out.flags.writeable = False
    return out


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays; repeated ones are read-only."""
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    # np.broadcast_arrays returns writable arrays, which warn.
    return tuple(x if x.shape == shape else np.broadcast_to(x, shape) for x in arrays)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element."""
    return np.repeat(x, repeats, axis=axis)
