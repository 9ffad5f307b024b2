"""Between arrays and host memory.

On devices that compute in host memory nothing has to move: NumPy sees an array's own block
(:func:`to_numpy`, :func:`share`), and kernels work in NumPy's memory where it lies
(:func:`borrow`). Elsewhere data is copied, large amounts through :mod:`~.staging`.

Kernels are launched long before they are done, and only this library knows the queue. Hence the
rules here: the host reads a block after everything enqueued so far, whatever writes it is done;
the host writes a recycled block after the kernels that still use its former contents; and memory
that others can see is marked ``shared`` as long as they do, so that no call leaves a kernel behind
that touches it.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pyopencl as cl

from portarray.clarray.dtypes import dtype_of
from portarray.clarray.engine import staging
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.copy import copy as copied
from portarray.clarray.errors import DTypeNotSupportedError
from portarray.clarray.layout import strides_of
from portarray.clarray.runtime import pool
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.pool import Storage
from portarray.clarray.strided import Array, empty, new_array

Values = np.ndarray[Any, Any]

MANY = 1 << 16
"""Elements from which a kernel transposes faster than NumPy, by eight times in the end."""

LARGE = 4 << 20
"""Bytes from which a kernel copies faster than NumPy, whatever the layout."""

FEW = 64
"""Small blocks that may be kept for kernels under way although their arrays are gone."""


class _Memory(np.ndarray[Any, np.dtype[np.uint8]]):
    """A storage's bytes; what NumPy has as the base of a view, so that the storage lives on."""

    __slots__ = ("storage",)

    storage: Storage


def _memory(storage: Storage) -> _Memory:
    # Viewed twice: NumPy takes a view's base to be its base's base where that is a plain array,
    # and would then keep the bytes but not the storage, whose block could be handed out again.
    memory = _bytes_of(storage).view(_Memory).view(_Memory)
    memory.storage = storage
    return memory


def _bytes_of(storage: Storage) -> np.ndarray[Any, np.dtype[np.uint8]]:
    assert storage.host is not None  # asked for on host-memory devices only
    return storage.host


def to_numpy(x: Array) -> Values:
    """Return an array's elements as NumPy array, after they were computed.

    On devices that compute in host memory it is a view of the same memory, which it keeps alive;
    elsewhere a copy. The view is for use on the spot: kernels launched later may write into it at
    any time (:func:`share` is for views that are handed out).
    """
    if 0 in x.shape:
        # Where its first element would be, there may be no memory.
        return np.empty(x.shape, x.dtype)
    if not x.device.host_memory:
        return _downloaded(x)
    return _seen(x, _memory(x.storage))


def _seen(x: Array, memory: _Memory) -> Values:
    """Return an array's elements in its storage's memory, after they were computed."""
    x.device.finish()
    itemsize = x.dtype.itemsize
    strides = [step * itemsize for step in x.strides]
    return np.ndarray(x.shape, x.dtype, memory, x.offset * itemsize, strides)


def share(x: Array) -> Values:
    """Return an array's elements as NumPy array that others may keep.

    On devices that compute in host memory it is a view of the same memory. While anybody has it,
    each function that uses that memory returns only when its kernels are done: whoever has the view
    can read what was computed, and write, without knowing of the queue. Elsewhere a copy.
    """
    if 0 in x.shape or not x.device.host_memory:
        return to_numpy(x)
    memory = _memory(x.storage)
    # Before waiting: a kernel that another thread enqueues meanwhile is either waited for here,
    # or there, since launching looks at the mark afterwards.
    x.storage.show(memory)
    return _seen(x, memory)


def duplicate(x: Array) -> Values:
    """Return a copy of an array's elements as NumPy array, after they were computed."""
    if not x.device.host_memory:
        return to_numpy(x)
    # A kernel has all processors, and a block that was written before.
    if x.size * x.dtype.itemsize >= LARGE or _transposed(x.shape, x.strides):
        return to_numpy(copied(x))
    return to_numpy(x).copy()


def _transposed(shape: tuple[int, ...], strides: tuple[int, ...]) -> bool:
    """Tell whether many elements lie in another order than that of their indices."""
    steps = [abs(step) for size, step in zip(shape, strides, strict=True) if size > 1 and step]
    return bool(steps) and steps[-1] != min(steps) and math.prod(shape) >= MANY


def from_numpy(
    values: Values, device: Device, *, copy: bool | None = True, shared: bool = True
) -> Array:
    """Return an array with the elements of a NumPy array."""
    dtype = dtype_of(values.dtype)
    if dtype not in device.dtypes:
        raise DTypeNotSupportedError(
            f"{device} has no dtype {dtype}; convert the values with values.astype(...) first"
        )
    if copy is not True:
        obstacle = why_not_borrowed(values, device)
        if not obstacle:
            return _borrowed(values, dtype, device, shared=shared)
        if copy is False:
            raise ValueError(f"copy=False, but {obstacle}; pass copy=None or copy=True")
    if device.host_memory and _transposed(values.shape, values.strides) and not _misplaced(values):
        return copied(_borrowed(values, dtype, device))
    found = empty(values.shape, dtype, device)
    if not found.size:
        return found
    if device.host_memory:
        # to_numpy waits: kernels may still use the block for the array that had it before.
        to_numpy(found)[...] = values
    else:
        staging.upload(np.ascontiguousarray(values, dtype), found.storage)
    return found


def why_not_borrowed(values: Values, device: Device) -> str:
    """Return why kernels cannot work in a NumPy array's memory, or an empty string."""
    if not device.host_memory:
        return f"{device} has memory of its own"
    if not values.flags.writeable:
        return "the array is read-only and clarray's arrays are always writable"
    return _misplaced(values)


def _misplaced(values: Values) -> str:
    """Return why kernels cannot even read a NumPy array's memory, or an empty string."""
    dtype = values.dtype
    if not dtype.isnative:
        return f"clarray's arrays have no byte order {dtype.byteorder!r}"
    itemsize = dtype.itemsize
    if values.flags.aligned and dtype.alignment == itemsize:
        return ""
    # OpenCL C aligns complex numbers as a whole; NumPy only their parts.
    if _address(values) % itemsize:
        return f"the array's memory is not aligned to {itemsize} bytes"
    for size, stride in zip(values.shape, values.strides, strict=True):
        if size > 1 and stride % itemsize:
            return f"the array's strides are no multiples of its item size {itemsize}"
    return ""


def _address(values: Values) -> int:
    """Return where an array's first element lies."""
    return values.ctypes.data


def borrow(values: Values, device: Device) -> Array:
    """Return an array whose elements are those of a NumPy array, in the same memory.

    Each sees at once what is written through the other: functions that use the memory return when
    their kernels are done. The NumPy array's memory lives as long as the result does. Strides of
    any sign are taken as they are. What is a view of an array of the same device becomes one again.
    """
    obstacle = why_not_borrowed(values, device)
    if obstacle:
        raise ValueError(f"memory cannot be shared: {obstacle}")
    return _borrowed(values, dtype_of(values.dtype), device)


def _borrowed(
    values: Values, dtype: np.dtype[Any], device: Device, *, shared: bool = True
) -> Array:
    """Return an array over a NumPy array's memory, which kernels must be able to use."""
    if not values.size:
        return empty(values.shape, dtype, device)
    itemsize = dtype.itemsize
    storage = _lent(values, device)
    if storage is not None:
        low = _address(_bytes_of(storage))
    elif values.flags.c_contiguous:
        storage = _over(values.reshape(-1).view(np.uint8), values, device, shared)
        return new_array(storage, dtype, values.shape, strides_of(values.shape), 0, True)
    else:
        # Exactly the bytes that the elements lie in: what is beside them may be no memory of ours.
        low, high = np.lib.array_utils.byte_bounds(values)
        storage = _over(np.asarray(_Window(low, high - low)), values, device, shared)
    strides = tuple(stride // itemsize for stride in values.strides)
    start = (_address(values) - low) // itemsize
    return new_array(storage, dtype, (), (), 0, True).view(values.shape, strides, start)


def _over(
    memory: np.ndarray[Any, np.dtype[np.uint8]], owner: object, device: Device, shared: bool
) -> Storage:
    # What was borrowed before may be kept for kernels, of whichever arrays, that are under way.
    device.release(0 if memory.nbytes >= pool.LARGE else FEW)
    flags = cl.mem_flags.READ_WRITE | cl.mem_flags.USE_HOST_PTR
    buffer = cl.Buffer(device.context, flags, hostbuf=memory)
    return Storage(device, buffer, memory, memory.nbytes, owner=owner, shared=shared)


def _lent(values: Values, device: Device) -> Storage | None:
    """Return the storage of a device that an array is a view of, None where it is of none.

    OpenCL leaves undefined what happens in two buffers over the same memory.
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
    """Shows NumPy so many bytes at an address."""

    __slots__ = ("__array_interface__",)

    def __init__(self, address: int, nbytes: int) -> None:
        self.__array_interface__ = {
            "version": 3,
            "data": (address, False),
            "shape": (nbytes,),
            "typestr": "|u1",
        }


def _downloaded(x: Array) -> Values:
    """Return a copy of an array in memory of the device's own."""
    x = contiguous(x)
    host = np.empty(x.shape, x.dtype)
    staging.download(x.storage, x.offset * x.dtype.itemsize, host)
    return host
