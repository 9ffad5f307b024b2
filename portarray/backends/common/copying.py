"""Fast copies in host memory."""

from __future__ import annotations

import mmap
from typing import Any, Literal

import numpy as np

__all__ = ["SPARE", "copied", "in_memory_order", "inverse", "place_for"]

SPARE = mmap.PAGESIZE
"""Upper limit of the offset that :func:`place_for` returns, beyond the alignment."""

_SMALL = 1 << 15  # bytes up to which the address of a copy does not matter


def copied(
    array: np.ndarray[Any, Any],
    *,
    order: Literal["C", "K"] = "K",
    alignment: int = 16,
    dtype: np.dtype[Any] | None = None,
) -> np.ndarray[Any, Any]:
    """Return a writable, unshared copy of native byte order.

    Parameters
    ----------
    array : numpy.ndarray
        Array of any layout.
    order : {"C", "K"}
        Memory layout as in NumPy; "K" is faster.
    alignment : int
        Alignment of copies of more than 32 KiB, a power of 2.
    dtype : numpy.dtype, optional
        Dtype of the copy; the array's by default.
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
    """Return contiguous strides with the axis order of an array, as NumPy's "K"."""
    strides = [0] * array.ndim
    step = itemsize
    outermost_first = sorted(range(array.ndim), key=lambda axis: -abs(array.strides[axis]))
    for axis in reversed(outermost_first):
        strides[axis] = step
        step *= array.shape[axis]
    return strides


def in_memory_order(array: np.ndarray[Any, Any]) -> list[int] | None:
    """Return an array's axes by descending stride; None if they are in that order.

    Broadcast axes (stride 0) keep their position.
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
    for (_, position), (_, axis) in zip(apart, ordered, strict=True):
        axes[position] = axis
    return axes


def inverse(axes: list[int]) -> list[int]:
    """Return the inverse of a permutation of axes."""
    return [axes.index(axis) for axis in range(len(axes))]


def place_for(array: np.ndarray[Any, Any], start: int, *, alignment: int) -> int:
    """Return the offset into new memory at which a copy of an array is fastest.

    Avoids "4K aliasing": processors take a read for one of a recent write if both have about the
    same offset in their pages, which costs a third of the time. So a copy starts at its source's
    page offset, or at the next aligned one.

    Parameters
    ----------
    array : numpy.ndarray
        The source.
    start : int
        Address of the new memory, which is :data:`SPARE` and ``alignment`` bytes larger than
        needed.
    alignment : int
        Alignment of the copy, a power of 2.
    """
    address = start + (array.ctypes.data - start) % SPARE
    return address + -address % alignment - start
