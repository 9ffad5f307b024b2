"""Large arrays from host memory, copied once and straight into memory that MLX allocates.

MLX's allocator for processors takes what ``malloc`` gives it. Of a large block that is fresh memory
in pages of 4 KiB, and handing these out takes several times as long as the copy. MLX has no setting
for it, and does not show memory before it is written, but for one function: ``mx.load`` reads from
Python's file objects, which get the memory of the new array to write to. One that has an array's
values can ask for large pages first.
"""

from __future__ import annotations

import io
import os
import sys
import threading
import weakref
from typing import Any, BinaryIO, cast

import mlx.core as mx
import numpy as np

from portarray.backends import machine

__all__ = ["filled", "serves"]

_LARGE = 1 << 24
"""Bytes, below which MLX finds written memory in its cache, or the C library in its own, often
enough to make up for reading in another thread."""

_POSSIBLE = sys.platform == "linux" and not mx.is_available(mx.gpu)

_SLOW = 1.0
"""Seconds to wait for a reader to be gone, which takes some microseconds."""


class _Process:
    """Whether this process has MLX's threads; the child of a fork has none, and would wait."""

    forked = False


def _after_fork() -> None:
    _Process.forked = True


if _POSSIBLE:
    os.register_at_fork(after_in_child=_after_fork)


def serves(nbytes: int) -> bool:
    """Tell whether an array of so many bytes is made sooner here than by ``mx.array``."""
    return nbytes >= _LARGE and _POSSIBLE and not _Process.forked


def filled(array: np.ndarray[Any, Any], native: mx.Dtype) -> mx.array:
    """Return an array of MLX with an array's values; all of it is done when this returns.

    Parameters
    ----------
    array : numpy.ndarray
        Of any layout and byte order, and not empty.
    native : mlx.core.Dtype
        MLX's dtype for it.

    Raises
    ------
    MemoryError
        If MLX gets no memory for it.
    """
    stored = np.dtype(np.uint16) if native == mx.bfloat16 else array.dtype.newbyteorder("=")
    values = _Values(array, stored)
    written = values.written
    gone = threading.Event()
    watched = weakref.ref(values, lambda _: gone.set())
    x = cast(mx.array, mx.load(cast(BinaryIO, values), format="npy", stream=mx.cpu))
    # The thread that read lets go of the file object when it likes, and a thread that asks for
    # Python's lock while Python ends, ends the process.
    del values
    if watched() is not None:
        gone.wait(_SLOW)
    if not written.is_set():
        raise MemoryError(f"MLX has no memory for {array.nbytes} bytes")
    if native == mx.bfloat16:
        x = mx.view(x, native)
        mx.eval(x)
    return x


class _Values:
    """What looks like a file in NumPy's format, and writes an array where it is read to.

    Nothing is raised in :meth:`readinto`: MLX calls it in a thread of its own, where that may end
    the process.
    """

    closed = False

    def __init__(self, array: np.ndarray[Any, Any], stored: np.dtype[Any]) -> None:
        self.written = threading.Event()
        header = io.BytesIO()
        facts = {"descr": stored.str, "fortran_order": False, "shape": array.shape}
        np.lib.format.write_array_header_1_0(header, facts)
        self._start = header.tell()
        header.seek(0)
        self._header = header
        self._array = array

    def tell(self) -> int:
        """Return how much was read."""
        return self._header.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        """Go to a place in the header, or where the values begin."""
        return self._header.seek(offset, whence)

    def readinto(self, memory: memoryview) -> int:
        """Write a part of the header, or all values."""
        if self._header.tell() < self._start:
            return self._header.readinto(memory)
        place = np.frombuffer(memory, dtype=self._array.dtype.newbyteorder("="))
        address = place.ctypes.data
        if address and place.size == self._array.size:
            machine.in_large_pages(address, place.nbytes)
            place.reshape(self._array.shape)[...] = self._array
            self.written.set()
        return memory.nbytes
