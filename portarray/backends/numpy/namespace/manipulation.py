"""Shapes of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np
from array_api_compat.numpy import unstack

__all__ = [
    "broadcast_arrays", "broadcast_shapes", "broadcast_to", "concat", "expand_dims", "flip",
    "moveaxis", "permute_dims", "repeat", "reshape", "roll", "squeeze", "stack", "tile", "unstack",
]  # fmt: skip

Array = np.ndarray[Any, Any]

broadcast_shapes = np.broadcast_shapes
broadcast_to = np.broadcast_to
concat = np.concat
expand_dims = np.expand_dims
flip = np.flip
moveaxis = np.moveaxis
permute_dims = np.permute_dims
reshape = np.reshape
roll = np.roll
squeeze = np.squeeze
stack = np.stack
tile = np.tile


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays; what is repeated is read-only, so that an assignment copies it first."""
    shape = np.broadcast_shapes(*[x.shape for x in arrays])
    # NumPy's own are writable still, where one element lies at several places, and warn.
    return tuple(x if x.shape == shape else np.broadcast_to(x, shape) for x in arrays)


def repeat(x: Array, repeats: int | Array, /, *, axis: int | None = None) -> Array:
    """Repeat each element."""
    return np.repeat(x, repeats, axis=axis)
