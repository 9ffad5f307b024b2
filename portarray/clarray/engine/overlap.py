"""Whether two arrays share memory."""

from __future__ import annotations

import math

from portarray.clarray.strided import Array


def overlap(first: Array, second: Array) -> bool:
    """Return whether two arrays may share memory.

    Exact for different storages and for interleaved slices (``x[::2]`` and ``x[1::2]``); otherwise
    arrays whose address ranges intersect count as overlapping.
    """
    separate = first.storage is not second.storage
    # Two storages may wrap the same host memory.
    if separate and not (first.storage.shared and second.storage.shared):
        return False
    if not first.size or not second.size:
        return False
    if separate:
        ours, theirs = first.storage.host, second.storage.host
        if ours is None or theirs is None:
            return False
        shift = theirs.ctypes.data - ours.ctypes.data
    else:
        shift = 0
    low, high = _bounds(first)
    other_low, other_high = _bounds(second)
    if shift + other_low >= high or low >= shift + other_high:
        return False
    # Addresses of each array are its first one plus multiples of a common step. Unless the distance
    # of the first addresses is a multiple of it, within an item, no elements overlap.
    itemsize = first.dtype.itemsize
    if itemsize != second.dtype.itemsize:
        return True
    step = math.gcd(*[stride * itemsize for stride in (*_steps(first), *_steps(second))])
    distance = shift + (second.offset - first.offset) * itemsize
    if step == 0:
        return True
    remainder = distance % step
    return remainder < itemsize or step - remainder < itemsize


def same_elements(first: Array, second: Array) -> bool:
    """Return whether two arrays are the same view of the same memory."""
    return (
        first.storage is second.storage
        and first.offset == second.offset
        and first.shape == second.shape
        and first.strides == second.strides
    )


def _steps(x: Array) -> list[int]:
    return [step for size, step in zip(x.shape, x.strides, strict=True) if size > 1]


def _bounds(x: Array) -> tuple[int, int]:
    """Return the byte range of the elements."""
    low = high = x.offset
    for size, step in zip(x.shape, x.strides, strict=True):
        if step < 0:
            low += (size - 1) * step
        else:
            high += (size - 1) * step
    return low * x.dtype.itemsize, (high + 1) * x.dtype.itemsize
