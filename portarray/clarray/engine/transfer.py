"""Transfers between arrays and NumPy.

On devices that compute in host memory nothing is copied: NumPy views an array's block
(:func:`to_numpy`, :func:`share`), and kernels use NumPy's memory (:func:`from_numpy`). On other
devices data is copied, large arrays through :mod:`~.staging`.

Kernels run asynchronously, and other libraries do not know the queue. The host therefore waits for
the queue before it reads a block or writes a reused one. Memory visible to other libraries is
marked ``shared``: calls that use it wait for their kernels.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyopencl as cl

from portarray._opencl import pool
from portarray._opencl.device import Device
from portarray._opencl.pool import Storage
from portarray.clarray.dtypes import dtype_of
from portarray.clarray.engine import staging
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.copy import copy as copied
from portarray.clarray.errors import DTypeNotSupportedError
from portarray.clarray.layout import strides_of
from portarray.clarray.strided import Array, empty, new_array

Values = np.ndarray[Any, Any]

MANY = 1 << 16
"""Elements from which a kernel transposes faster than NumPy, up to eight times."""

LARGE = 4 << 20
"""Bytes from which a kernel copies faster than NumPy, for any layout."""

FEW = 64
"""Small wrapped blocks whose release may wait for running kernels."""


class _Memory(np.ndarray[Any, np.dtype[np.uint8]]):
    """A storage's bytes, as the base of NumPy views: it keeps the storage alive."""

    __slots__ = ("storage",)

    storage: Storage


def _memory(storage: Storage) -> _Memory:
    # Viewed twice: NumPy replaces a view's base by that one's base if it is a plain ndarray, which
    # would keep the bytes alive but not the storage, and its block could be reused.
    memory = _bytes_of(storage).view(_Memory).view(_Memory)
    memory.storage = storage
    return memory


def _bytes_of(storage: Storage) -> np.ndarray[Any, np.dtype[np.uint8]]:
    assert storage.host is not None  # callers check device.host_memory
    return storage.host


def to_numpy(x: Array) -> Values:
    """Wait, and return an array's elements as a NumPy view of host memory, else as a copy.

    The view is for immediate use: kernels launched later may write to it at any time.
    :func:`share` returns views that can be handed out.
    """
    if 0 in x.shape:
        # The offset may be outside the storage.
        return np.empty(x.shape, x.dtype)
    if not x.device.host_memory:
        return _downloaded(x)
    return _host_view(x, _memory(x.storage))


def _host_view(x: Array, memory: _Memory) -> Values:
    """Wait, and return an array's elements as a view of its storage's memory."""
    x.device.finish()
    itemsize = x.dtype.itemsize
    strides = [step * itemsize for step in x.strides]
    return np.ndarray(x.shape, x.dtype, memory, x.offset * itemsize, strides)


def share(x: Array) -> Values:
    """Return an array's elements as a NumPy view of host memory that others may keep, else a copy.

    While the view exists, functions that use its memory return only when their kernels are done.
    """
    if 0 in x.shape or not x.device.host_memory:
        return to_numpy(x)
    memory = _memory(x.storage)
    # Marked before waiting: a kernel that another thread enqueues meanwhile is waited for either
    # here or by its launch, which reads the mark after enqueueing.
    x.storage.show(memory)
    return _host_view(x, memory)


def duplicate(x: Array) -> Values:
    """Wait, and return a copy of an array's elements as a NumPy array."""
    if not x.device.host_memory:
        return to_numpy(x)
    # A kernel uses all cores, and a pooled block has no page faults.
    if x.size * x.dtype.itemsize >= LARGE or _transposed(x.shape, x.strides):
        return to_numpy(copied(x))
    return to_numpy(x).copy()


def _transposed(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Return whether an array is large and its last axis does not have the smallest stride."""
    steps = [abs(step) for size, step in zip(shape, strides, strict=True) if size > 1 and step]
    return bool(steps) and steps[-1] != min(steps) and math.prod(shape) >= MANY


def from_numpy(
    values: Values, device: Device, *, copy: bool | None = True, shared: bool = True
) -> Array:
    """Return an array of a NumPy array's elements, in its memory if ``copy`` allows that."""
    dtype = dtype_of(values.dtype)
    if dtype not in device.dtypes:
        raise DTypeNotSupportedError(
            f"{device} does not support {dtype}\nHint: convert the values with astype first"
        )
    if copy is not True:
        obstacle = why_not_borrowed(values, device)
        if not obstacle:
            return _array_over(values, dtype, device, shared=shared)
        if copy is False:
            raise ValueError(f"copy=False, but {obstacle}\nHint: pass copy=None or copy=True")
    if device.host_memory and _transposed(values.shape, values.strides) and not _misplaced(values):
        return copied(_array_over(values, dtype, device))
    out = empty(values.shape, dtype, device)
    if not out.size:
        return out
    if device.host_memory:
        # to_numpy waits: kernels may still use the recycled block.
        to_numpy(out)[...] = values
    else:
        staging.upload(np.ascontiguousarray(values, dtype), out.storage)
    return out


def why_not_borrowed(values: Values, device: Device) -> str:
    """Return why arrays cannot use a NumPy array's memory, or an empty string."""
    if not device.host_memory:
        return f"{device} has separate memory"
    if not values.flags.writeable:
        return "the array is read-only and clarray's arrays are always writable"
    return _misplaced(values)


def _misplaced(values: Values) -> str:
    """Return why kernels cannot access a NumPy array's memory, or an empty string."""
    dtype = values.dtype
    if not dtype.isnative:
        return f"clarray's arrays do not support byte order {dtype.byteorder!r}"
    itemsize = dtype.itemsize
    if values.flags.aligned and dtype.alignment == itemsize:
        return ""
    # OpenCL C aligns complex numbers as a whole; NumPy only their parts.
    if _address(values) % itemsize:
        return f"the array's memory is not aligned to {itemsize} bytes"
    for size, stride in zip(values.shape, values.strides, strict=True):
        if size > 1 and stride % itemsize:
            return f"the array's strides are not multiples of its item size {itemsize}"
    return ""


def _address(values: Values) -> int:
    """Return the address of an array's first element."""
    return values.ctypes.data


def _array_over(
    values: Values, dtype: np.dtype[Any], device: Device, *, shared: bool = True
) -> Array:
    """Return an array in a NumPy array's memory, which kernels must be able to access."""
    if not values.size:
        return empty(values.shape, dtype, device)
    itemsize = dtype.itemsize
    storage = _viewed_storage(values, device)
    if storage is not None:
        low = _address(_bytes_of(storage))
    elif values.flags.c_contiguous:
        storage = _storage_over(values.reshape(-1).view(np.uint8), values, device, shared)
        return new_array(storage, dtype, values.shape, strides_of(values.shape), 0, True)
    else:
        # Only the bytes between the first and the last element: others may not be mapped.
        low, high = np.lib.array_utils.byte_bounds(values)
        storage = _storage_over(np.asarray(_Window(low, high - low)), values, device, shared)
    strides = tuple(stride // itemsize for stride in values.strides)
    start = (_address(values) - low) // itemsize
    return new_array(storage, dtype, (), (), 0, True).view(values.shape, strides, start)


def _storage_over(
    memory: np.ndarray[Any, np.dtype[np.uint8]], owner: object, device: Device, shared: bool
) -> Storage:
    # Wrapped memory that was released is held until running kernels are done.
    device.release(0 if memory.nbytes >= pool.LARGE else FEW)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    buffer = cl.Buffer(device.context, flags, hostbuf=memory)
    return Storage(device, buffer, memory, memory.nbytes, owner=owner, shared=shared)


def _viewed_storage(values: Values, device: Device) -> Storage | None:
    """Return the storage of a device that a NumPy array is a view of, if any.

    Two buffers over the same memory would have undefined behaviour in OpenCL.
    """
    base: Any = values.base
    while isinstance(base, np.ndarray):
        if type(base) is _Memory:
            storage = base.storage
            distance = _address(values) - _address(_bytes_of(storage))
            if storage.device is not device or distance % values.dtype.itemsize:
                return None
            if id(base) not in storage.shared:
                storage.show(base)
                device.finish()
            return storage
        base = base.base
    return None


class _Window:
    """Memory at an address, for NumPy."""

    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, nbytes: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
        }


def _downloaded(x: Array) -> Values:
    """Return a copy of an array in device memory."""
    x = contiguous(x)
    host = np.empty(x.shape, x.dtype)
    staging.download(x.storage, x.offset * x.dtype.itemsize, host)
    return host
