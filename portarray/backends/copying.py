"""Copies in host memory, as fast as the memory allows."""

from __future__ import annotations

import mmap
from typing import Any, Literal

import numpy as np

__all__ = ["copied"]

_SMALL = 1 << 15  # bytes, up to which it does not matter where a copy lies


def copied(
    array: np.ndarray[Any, Any], *, order: Literal["C", "K"] = "K", alignment: int = 16
) -> np.ndarray[Any, Any]:
    """Return a writable copy of native byte order, that nobody else has.

    Parameters
    ----------
    array : numpy.ndarray
        Of any layout.
    order : {"C", "K"}
        How the axes lie in memory: as in C, or as they lie in the array, which is faster.
    alignment : int
        What the copy's address is divisible by, a power of 2, where it has more than 32 KiB.
    """
    dtype = array.dtype.newbyteorder("=")
    if array.nbytes <= _SMALL:
        return np.array(array, dtype=dtype, order=order, copy=True, subok=False)
    memory = np.empty(array.nbytes + mmap.PAGESIZE + alignment, dtype=np.uint8)
    start = memory.ctypes.data
    # Processors take a read for one of what was just written if it lies as far into its page, or a
    # little further: "4K aliasing", a third of the time. So the copy begins where its source does.
    place = start + (array.ctypes.data - start) % mmap.PAGESIZE
    place += -place % alignment
    strides = None
    if order == "K" and not array.flags.c_contiguous:
        strides = np.empty_like(array, dtype=dtype, order="K", subok=False).strides
    copy: np.ndarray[Any, Any] = np.ndarray(array.shape, dtype, memory, place - start, strides)
    copy[...] = array
    return copy
