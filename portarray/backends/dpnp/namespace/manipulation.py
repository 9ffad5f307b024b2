"""Shapes of dpnp's arrays: joining, splitting, repeating, reordering."""

from __future__ import annotations

from collections.abc import Sequence

import dpnp
from dpnp import ndarray

from portarray._dtypes.promotion import promote

concat = dpnp.concat
expand_dims = dpnp.expand_dims
flip = dpnp.flip
moveaxis = dpnp.moveaxis
permute_dims = dpnp.permute_dims
repeat = dpnp.repeat
reshape = dpnp.reshape
roll = dpnp.roll
squeeze = dpnp.squeeze
stack = dpnp.stack
tile = dpnp.tile
unstack = dpnp.unstack


def broadcast_arrays(*arrays: ndarray) -> tuple[ndarray, ...]:
    """Return views of one common shape."""
    # dpnp returns arrays that have the shape themselves; these stay writable.
    broadcast = dpnp.broadcast_arrays(*arrays) if arrays else ()
    return tuple(_read_only(x[...]) for x in broadcast)


def broadcast_to(x: ndarray, /, shape: tuple[int, ...]) -> ndarray:
    """Return a view of a shape that x broadcasts to."""
    return _read_only(dpnp.broadcast_to(x, tuple(shape)))


def _read_only(x: ndarray) -> ndarray:
    # Several elements share memory; dpnp would write them all.
    x.flags.writable = False
    return x


def together(arrays: Sequence[ndarray]) -> list[ndarray]:
    """Return arrays converted to their common dtype."""
    dtype = promote(*[x.dtype for x in arrays])
    return [dpnp.astype(x, dtype, copy=False) for x in arrays]
