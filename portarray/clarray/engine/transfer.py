"""Between arrays and host memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyopencl as cl

from portarray.clarray.array import Array, empty
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.pool import Storage

__all__ = ["from_numpy", "to_numpy"]


class _Window:
    """Lets NumPy see a storage, and keeps it alive as long as NumPy does."""

    __slots__ = ("__array_interface__", "storage")

    def __init__(self, x: Array, address: int) -> None:
        itemsize = x.dtype.itemsize
        self.storage: Storage = x.storage
        self.__array_interface__ = {
            "version": 3,
            "data": (address + x.offset * itemsize, False),
            "shape": x.shape,
            "strides": tuple(step * itemsize for step in x.strides),
            "typestr": f"|u{itemsize}" if x.dtype.kind == "V" else x.dtype.str,
        }


def to_numpy(x: Array) -> np.ndarray[Any, Any]:
    """Return an array's elements as NumPy array, after they were computed.

    On devices that compute in host memory it is a view of the same memory, which it keeps alive;
    elsewhere a copy.
    """
    device = x.device
    if x.storage.host is None:
        x = contiguous(x)
        host = np.empty(x.shape, x.dtype)
        if host.size:
            with device.lock:
                offset = x.offset * x.dtype.itemsize
                cl.enqueue_copy(device.queue, host, x.storage.buffer, src_offset=offset)
        return host
    device.finish()
    if 0 in x.shape:
        return np.empty(x.shape, x.dtype)
    typed = _Window(x, x.storage.host.ctypes.data)
    if x.dtype.kind == "V":
        typed.__array_interface__["typestr"] = "<u2"
        return np.asarray(typed).view(x.dtype)
    return np.asarray(typed)


def from_numpy(values: np.ndarray[Any, Any], device: Device) -> Array:
    """Return a new array with the elements of a NumPy array of a dtype the device has, copied."""
    found = empty(values.shape, values.dtype.newbyteorder("="), device)
    if found.size:
        if found.storage.host is None:
            with device.lock:
                cl.enqueue_copy(device.queue, found.storage.buffer, np.ascontiguousarray(values))
        else:
            to_numpy(found)[...] = values
    return found
