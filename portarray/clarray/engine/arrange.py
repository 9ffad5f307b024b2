"""Copies that depend on an element's indices: triangles, and repetitions by counts."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.copy_kernels import item_kernel, pieces
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.strided import Array, empty


def triangle(x: Array, diagonal: int, *, upper: bool) -> Array:
    """Return copies of matrices with zeros on one side of a diagonal."""
    x = contiguous(x)
    out = empty(x.shape, x.dtype, x.device)
    rows, columns = x.shape[-2:]
    run_i, run_j, group = pieces(x.device, x.dtype.itemsize, columns)
    values = (*[np.int64] * 6, np.int32)
    kernel = item_kernel(x.device, x.dtype.itemsize, "arrange", "triangle", 2, values)
    size = (-(-columns // run_i), -(-rows // run_j), x.size // (rows * columns))
    places = (x.offset, columns, rows, run_i, run_j, diagonal, int(upper))
    kernel.launch(size, group, (out.storage, x.storage), *places)
    return out


def repeat_elements(x: Array, counts: np.ndarray[Any, np.dtype[np.int64]], axis: int) -> Array:
    """Return an array with the entries along an axis each repeated ``counts`` times."""
    device = x.device
    if device.host_memory:
        places = empty(counts.shape, np.dtype(np.int64), device)
        ends = np.cumsum(counts, out=to_numpy(places))
    else:
        ends = np.cumsum(counts)
        places = from_numpy(ends, device)
    total = int(ends[-1]) if ends.size else 0
    out = empty((*x.shape[:axis], total, *x.shape[axis + 1 :]), x.dtype, device)
    if not out.size:
        return out
    x = contiguous(x)
    inner = math.prod(x.shape[axis + 1 :])
    run_i, run_j, group = pieces(device, x.dtype.itemsize, inner)
    # Each work-item searches its first entry, which shorter runs would not amortize.
    run_j = max(run_j, 32)
    kernel = item_kernel(device, x.dtype.itemsize, "arrange", "spread", 3, (np.int64,) * 6)
    size = (-(-inner // run_i), -(-total // run_j), math.prod(x.shape[:axis]))
    storages = (out.storage, x.storage, places.storage)
    kernel.launch(size, group, storages, x.offset, inner, x.shape[axis], total, run_i, run_j)
    return out
