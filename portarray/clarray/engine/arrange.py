"""Copies that depend on where an element is: triangles and repetitions by counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray.clarray.array import Array, empty
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.moves import item_kernel
from portarray.clarray.engine.transfer import from_numpy

__all__ = ["spread", "triangle"]

# As in kernels/arrange.cl.
_RUN = 32


def triangle(x: Array, diagonal: int, *, upper: bool) -> Array:
    """Return matrices of which the elements on one side of a diagonal are zero.

    Parameters
    ----------
    x : Array
        Shape (..., M, N), at least one element.
    diagonal : int
        The last diagonal to keep, counted upwards from the main one.
    upper : bool
        Whether what is below becomes zero, or what is above.
    """
    x = contiguous(x)
    out = empty(x.shape, x.dtype, x.device)
    rows, columns = x.shape[-2:]
    kernel = item_kernel(
        x.device, x.dtype.itemsize, "arrange", "triangle", 2, (np.int64, np.int64, np.int32)
    )
    size = (columns, rows, x.size // (rows * columns))
    kernel.launch(size, None, (out.storage, x.storage), x.offset, diagonal, int(upper))
    return out


def spread(x: Array, counts: np.ndarray[Any, np.dtype[np.int64]], axis: int) -> Array:
    """Return an array whose entries along an axis are those of another, each so many times.

    Parameters
    ----------
    x : Array
        At least one axis.
    counts : numpy.ndarray
        How often each entry stands in the result; none is negative.
    axis : int
        The axis, counted from the first.
    """
    ends = np.cumsum(counts)
    total = int(ends[-1]) if ends.size else 0
    out = empty((*x.shape[:axis], total, *x.shape[axis + 1 :]), x.dtype, x.device)
    if not out.size:
        return out
    x = contiguous(x)
    places = from_numpy(ends, x.device)
    kernel = item_kernel(
        x.device, x.dtype.itemsize, "arrange", "spread", 3, (np.int64, np.int64, np.int64)
    )
    size = (math.prod(x.shape[axis + 1 :]), -(-total // _RUN), math.prod(x.shape[:axis]))
    storages = (out.storage, x.storage, places.storage)
    kernel.launch(size, None, storages, x.offset, x.shape[axis], total)
    return out
