"""Copies in host memory, as fast as the memory allows."""

from __future__ import annotations

import mmap
from typing import Any, Literal

import numpy as np

__all__ = ["SPARE", "copied", "in_memory_order", "inverse", "place_for"]

SPARE = mmap.PAGESIZE
"""Bytes that :func:`place_for` may skip, beyond the alignment."""

_SMALL = 1 << 15  # bytes, up to which it does not matter where a copy lies


def copied(
    array: np.ndarray[Any, Any],
    *,
    order: Literal["C", "K"] = "K",
    alignment: int = 16,
    dtype: np.dtype[Any] | None = None,
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
    dtype : numpy.dtype, optional
        To which values are converted; the array's own.
    """
    if dtype is None:
        dtype = array.dtype.newbyteorder("=")
    nbytes = array.size * dtype.itemsize
    if nbytes <= _SMALL:
        return np.array(array, dtype=dtype, order=order, copy=True, subok=False)
    memory = np.empty(nbytes + SPARE + alignment, dtype=np.uint8)
    offset = place_for(array, memory.ctypes.data, alignment=alignment)
    strides: list[int] | None = None
    if order == "K" and not array.flags.c_contiguous:
        strides = _in_same_order(array, dtype.itemsize)
    copy: np.ndarray[Any, Any] = np.ndarray(array.shape, dtype, memory, offset, strides)
    copy[...] = array
    return copy


def _in_same_order(array: np.ndarray[Any, Any], itemsize: int) -> list[int]:
    """Return strides without gaps whose axes lie in the order of an array's, as NumPy's "K"."""
    strides = [0] * array.ndim
    step = itemsize
    outermost_first = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    for axis in reversed(outermost_first):
        strides[axis] = step
        step *= array.shape[axis]
    return strides


def in_memory_order(array: np.ndarray[Any, Any]) -> list[int] | None:
    """Return an array's axes, those first whose elements lie farthest apart; None if they are.

    Axes along which nothing lies apart stay where they are.
    """
    if array.flags.c_contiguous:
        return None
    apart = [
        (-abs(stride), axis)
        for axis, (length, stride) in enumerate(zip(array.shape, array.strides, strict=True))
        if stride and length > 1
    ]
    ordered = sorted(apart)
    if ordered == apart:
        return None
    axes = list(range(array.ndim))
    for (_, place), (_, axis) in zip(apart, ordered, strict=True):
        axes[place] = axis
    return axes


def inverse(axes: list[int]) -> list[int]:
    """Return the order of axes that undoes another one."""
    return [axes.index(axis) for axis in range(len(axes))]


def place_for(array: np.ndarray[Any, Any], start: int, *, alignment: int) -> int:
    """Return how far into new memory a copy of an array is made fastest; less than a page more.

    Processors take a read for one of what was just written if it lies as far into its page, or a
    little further: "4K aliasing", which costs a third of the time. So a copy begins as far into its
    page as its source, or where it is aligned after that.

    Parameters
    ----------
    array : numpy.ndarray
        The source.
    start : int
        Where the new memory begins; it has :data:`SPARE` and ``alignment`` bytes more than needed.
    alignment : int
        What the copy's address is to be divisible by, a power of 2.
    """
    place = start + (array.ctypes.data - start) % SPARE
    return place + -place % alignment - start
