"""Arrays from host memory that are written straight into memory which MLX allocates.

``mx.array`` copies contiguous memory of the array's own dtype. For all else its source would have
to be made first, and that is a second copy. MLX shows memory to write to only once it was written:
so small arrays are made of zeros, which takes a fraction of a copy's time.

Large arrays are never made by ``mx.array``. MLX's allocator for processors takes what ``malloc``
gives it: of a large block that is fresh memory in pages of 4 KiB, and handing these out takes
several times as long as the copy. MLX has no setting for it, but one function that gives out memory
which nothing was written to: ``mx.load`` reads from Python's file objects, which get the memory of
the new array. One that has an array's values can ask for large pages first.
"""

from __future__ import annotations

import io
import math
import os
import sys
import threading
import weakref
from typing import Any, BinaryIO, cast

import ml_dtypes
import mlx.core as mx
import numpy as np

from portarray.backends import copying, machine
from portarray.backends.mlx import devices

_LARGE = 1 << 24
"""Bytes, below which MLX finds written memory in its cache, or the C library in its own, often
enough to make up for reading in another thread."""

_POSSIBLE = sys.platform == "linux" and not mx.is_available(mx.gpu)

_SLOW = 1.0
"""Seconds to wait for a reader to be gone, which takes some microseconds."""

_ZEROS = np.zeros(1 << 20, np.uint8)
"""From as many elements on ``mx.zeros``, which goes through a thread of MLX's, is not slower."""

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_BITS = np.dtype(np.uint16)  # NumPy's format for files and MLX's buffers lack bfloat16


class _Process:
    """Whether this process lacks MLX's threads, as the child of a fork does: it would wait."""

    forked = False


def _after_fork() -> None:
    _Process.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def serves(nbytes: int) -> bool:
    """Tell whether an array of so many bytes is made sooner here than by ``mx.array``."""
    return nbytes >= _LARGE and _POSSIBLE and not _Process.forked


def filled(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> mx.array:
    """Return an array of MLX with an array's values; all of it is done when this returns.

    Its axes lie in memory in the order in which the array's do, as in one that ``mx.array`` makes.

    Parameters
    ----------
    array : numpy.ndarray
        Of any layout and byte order, and not empty.
    dtype : numpy.dtype
        A dtype that MLX has, to which values are converted as NumPy does.

    Raises
    ------
    MemoryError
        If MLX gets no memory for it.
    """
    if _Process.forked:  # not even a view is computed there
        with np.errstate(all="ignore"):
            return mx.array(array.astype(dtype, order="K"), dtype=devices.CPU_DTYPES[dtype])
    axes = copying.in_memory_order(array)
    values = array if axes is None else array.transpose(axes)
    x = _read(values, dtype) if serves(array.size * dtype.itemsize) else _written(values, dtype)
    if dtype == _BFLOAT16:
        x = mx.view(x, mx.bfloat16)
    if axes is not None:
        x = mx.transpose(x, copying.inverse(axes))
    mx.eval(x)
    return x


def _write(place: np.ndarray[Any, Any], array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    """Write an array's values into memory of as many elements, which is contiguous."""
    values = place.view(dtype).reshape(array.shape)
    if array.dtype == dtype:
        values[...] = array
        return
    with np.errstate(all="ignore"):  # of what the dtype cannot hold
        values[...] = array


def _stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype as which NumPy and MLX exchange a dtype's bits."""
    return _BITS if dtype == _BFLOAT16 else dtype


def _written(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> mx.array:
    """Return an array that was made of zeros, and then written."""
    stored = devices.CPU_DTYPES[_stored(dtype)]
    if array.size <= _ZEROS.size:
        x = mx.array(_ZEROS[: array.size].reshape(array.shape), dtype=stored)
    else:
        x = mx.zeros(array.shape, dtype=stored, stream=mx.cpu)
        mx.eval(x)
    _write(np.asarray(x), array, dtype)
    return x


def _read(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> mx.array:
    """Return an array that MLX reads from what looks like a file."""
    values = _Values(array, dtype)
    written = values.written
    gone = threading.Event()
    watched = weakref.ref(values, lambda _: gone.set())
    x = cast(mx.array, mx.load(cast(BinaryIO, values), format="npy", stream=mx.cpu))
    first = values.first
    # The thread that read lets go of the file object when it likes, and a thread that asks for
    # Python's lock while Python ends, ends the process.
    del values
    if watched() is not None:
        gone.wait(_SLOW)
    if not written.is_set():
        raise MemoryError(f"MLX has no memory for {array.size * dtype.itemsize} bytes")
    return x if x.shape == array.shape else x[first : first + array.size].reshape(array.shape)


class _Values:
    """What looks like a file in NumPy's format, and writes an array where it is read to.

    Where that pays, what is read has one axis, and room for the array to begin where it is written
    fastest.

    Nothing is raised in :meth:`readinto`: MLX calls it in a thread of its own, where that may end
    the process.
    """

    closed = False

    def __init__(self, array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
        self.first = 0
        self.written = threading.Event()
        shape: tuple[int, ...] = array.shape
        with_room = array.size + copying.SPARE // dtype.itemsize + 1
        # Contiguous memory is copied with instructions to which it does not matter.
        if not array.flags.c_contiguous and with_room <= devices.LONGEST:
            shape = (with_room,)
        self._count = math.prod(shape)
        header = io.BytesIO()
        facts = {"descr": _stored(dtype).str, "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(header, facts)
        self._start = header.tell()
        header.seek(0)
        self._header = header
        self._array = array
        self._dtype = dtype

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
        array, dtype = self._array, self._dtype
        place = np.frombuffer(memory, dtype=np.uint8)
        address = place.ctypes.data
        if address and place.size == self._count * dtype.itemsize:
            machine.in_large_pages(address, place.nbytes)
            if self._count > array.size:
                skipped = copying.place_for(array, address, alignment=dtype.itemsize)
                self.first = skipped // dtype.itemsize
            _write(place.view(dtype)[self.first :][: array.size], array, dtype)
            self.written.set()
        return memory.nbytes
