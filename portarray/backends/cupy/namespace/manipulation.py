"""Joining, splitting, repeating and reordering arrays."""

from __future__ import annotations

from collections.abc import Sequence

import cupy
import numpy as np
from cupy import ndarray

from portarray._dtypes.promotion import promote

Axes = int | tuple[int, ...]

broadcast_to = cupy.broadcast_to
expand_dims = cupy.expand_dims
flip = cupy.flip
moveaxis = cupy.moveaxis
permute_dims = cupy.transpose
squeeze = cupy.squeeze
stack = cupy.stack
tile = cupy.tile


def together(arrays: Sequence[ndarray]) -> list[ndarray]:
    """Return arrays converted to the dtype that they promote to."""
    dtype = promote(*[x.dtype for x in arrays])
    return [x.astype(dtype, copy=False) for x in arrays]


def broadcast_arrays(*arrays: ndarray) -> tuple[ndarray, ...]:
    """Return views of one common shape."""
    return tuple(cupy.broadcast_arrays(*arrays)) if arrays else ()


def concat(arrays: tuple[ndarray, ...] | list[ndarray], /, *, axis: int | None = 0) -> ndarray:
    """Join arrays along an axis; flattened ones for None."""
    if axis is None:
        arrays, axis = [x.ravel() for x in arrays], 0
    return cupy.concatenate(arrays, axis)


def repeat(x: ndarray, repeats: int | ndarray, /, *, axis: int | None = None) -> ndarray:
    """Repeat each element along an axis; of the flattened array for None.

    The host reads an array of counts, since it needs the size of the result.
    """
    if not isinstance(repeats, ndarray):
        return cupy.repeat(x, repeats, axis)
    if axis is None:
        x, axis = x.ravel(), 0
    # cupy.repeat accepts counts only from the host, and copies slice by slice.
    counts = cupy.broadcast_to(repeats.astype(np.int64), (x.shape[axis],))
    ends = cupy.cumsum(counts)
    total = int(ends[-1]) if len(ends) else 0
    # Element i of the result copies the first element whose copies end after i.
    sources = cupy.searchsorted(ends, cupy.arange(total), "right")
    return cupy.take(x, sources, axis)


def reshape(x: ndarray, /, shape: tuple[int, ...], *, copy: bool | None = None) -> ndarray:
    """Return the elements in another shape: a view if possible, unless ``copy=True``."""
    if copy is True:
        return x.copy().reshape(shape)
    out = x.reshape(shape)
    if copy is False and x.size and out.data.ptr != x.data.ptr:
        raise ValueError(
            f"reshape: copy=False, but shape {x.shape} with strides {x.strides} has no view "
            f"of shape {tuple(shape)}\nHint: pass copy=None"
        )
    return out


def roll(x: ndarray, /, shift: Axes, *, axis: Axes | None = None) -> ndarray:
    """Shift elements along axes, with wrap-around."""
    if axis is None:
        return cupy.roll(x, shift if isinstance(shift, int) else sum(shift))
    if not isinstance(axis, int) and not isinstance(shift, int) and len(shift) != len(axis):
        raise ValueError(f"roll: got {len(shift)} shifts for {len(axis)} axes")
    return cupy.roll(x, shift, axis)


def unstack(x: ndarray, /, *, axis: int = 0) -> tuple[ndarray, ...]:
    """Split into views along an axis, which is removed."""
    if x.ndim == 0:
        raise ValueError("unstack: needs at least 1 axis")
    return tuple(cupy.moveaxis(x, axis, 0))
