"""Arrays from host memory, written directly into memory that MLX allocates.

``mx.array`` copies contiguous memory of the same dtype; other sources would need a temporary. MLX
exposes only initialized memory for writing, so small arrays start as zeros, which takes a fraction
of a copy's time.

``mx.array`` is slow for large arrays: MLX's CPU allocator uses ``malloc``, which returns fresh
4 KiB pages, and their page faults take several times as long as the copy. Only ``mx.load`` exposes
uninitialized memory: it reads from Python file objects, which get the memory of the new array. The
file object here requests huge pages before it writes.
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

from portarray.backends.common import copying, machine
from portarray.backends.mlx import devices

_LARGE = 1 << 24
"""Bytes below which caches of MLX or the C library often have touched memory, so that ``mx.load``,
which uses another thread, does not pay."""

_POSSIBLE = sys.platform == "linux" and not mx.is_available(mx.gpu)

_SLOW = 1.0
"""Seconds to wait for the release of a reader, which takes microseconds."""

_ZEROS = np.zeros(1 << 20, np.uint8)
"""Elements from which ``mx.zeros``, which uses another thread, is not slower."""

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)
_BITS = np.dtype(np.uint16)  # .npy files and MLX's buffers lack bfloat16


class _Process:
    """Whether this process was forked, and so lacks MLX's threads: MLX would hang."""

    forked = False


def _after_fork() -> None:
    _Process.forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)


def serves(nbytes: int) -> bool:
    """Return whether :func:`filled` is faster than ``mx.array`` for an array of this size."""
    return nbytes >= _LARGE and _POSSIBLE and not _Process.forked


def filled(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> mx.array:
    """Return an MLX array with an array's values; the copy is complete when this returns.

    Keeps the memory order of axes, as ``mx.array`` does.

    Parameters
    ----------
    array : numpy.ndarray
        Array of any layout and byte order, not empty.
    dtype : numpy.dtype
        Dtype of the result, one that MLX has; NumPy's casting rules apply.
    """
    if _Process.forked:  # MLX does not even compute views then
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


def _write(memory: np.ndarray[Any, Any], array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
    """Write an array's values into contiguous memory of the same size."""
    values = memory.view(dtype).reshape(array.shape)
    if array.dtype == dtype:
        values[...] = array
        return
    with np.errstate(all="ignore"):  # overflow in the conversion
        values[...] = array


def _stored(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """Return the dtype in which NumPy and MLX exchange a dtype's bits."""
    return _BITS if dtype == _BFLOAT16 else dtype


def _written(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> mx.array:
    """Make an array of zeros and overwrite it."""
    stored = devices.CPU_DTYPES[_stored(dtype)]
    if array.size <= _ZEROS.size:
        x = mx.array(_ZEROS[: array.size].reshape(array.shape), dtype=stored)
    else:
        x = mx.zeros(array.shape, dtype=stored, stream=mx.cpu)
        mx.eval(x)
    _write(np.asarray(x), array, dtype)
    return x


def _read(array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> mx.array:
    """Make an array by ``mx.load`` from a file-like object."""
    values = _Values(array, dtype)
    written = values.written
    gone = threading.Event()
    watched = weakref.ref(values, lambda _: gone.set())
    x = cast(mx.array, mx.load(cast(BinaryIO, values), format="npy", stream=mx.cpu))
    first = values.first
    # MLX's thread releases the file object at any time, and a thread that acquires the GIL during
    # finalization aborts the process.
    del values
    if watched() is not None:
        gone.wait(_SLOW)
    if not written.is_set():
        raise MemoryError(f"MLX has no memory for {array.size * dtype.itemsize} bytes")
    return x if x.shape == array.shape else x[first : first + array.size].reshape(array.shape)


class _Values:
    """A file-like object in .npy format that writes an array to where it is read.

    If that pays, the data is 1-d with padding, so that the array can start where copying is
    fastest.

    :meth:`readinto` never raises: MLX calls it in its own thread, where an exception may abort the
    process.
    """

    closed = False

    def __init__(self, array: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> None:
        self.first = 0
        self.written = threading.Event()
        shape: tuple[int, ...] = array.shape
        with_room = array.size + copying.SPARE // dtype.itemsize + 1
        # The placement does not matter for contiguous copies.
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
        return self._header.tell()

    def seek(self, offset: int, whence: int = 0) -> int:
        return self._header.seek(offset, whence)

    def readinto(self, memory: memoryview) -> int:
        """Write a part of the header, or all values."""
        if self._header.tell() < self._start:
            return self._header.readinto(memory)
        array, dtype = self._array, self._dtype
        buffer = np.frombuffer(memory, dtype=np.uint8)
        address = buffer.ctypes.data
        if address and buffer.size == self._count * dtype.itemsize:
            machine.in_large_pages(address, buffer.nbytes)
            if self._count > array.size:
                skipped = copying.place_for(array, address, alignment=dtype.itemsize)
                self.first = skipped // dtype.itemsize
            _write(buffer.view(dtype)[self.first :][: array.size], array, dtype)
            self.written.set()
        return memory.nbytes
