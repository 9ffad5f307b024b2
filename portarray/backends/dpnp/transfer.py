"""Transfer of dpnp's arrays: host memory, DLPack, other queues.

Arrays are in unified shared memory (USM) of type ``"device"``, ``"shared"`` or ``"host"``. New
arrays are ``"device"``; results have the first of these types among the operands.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import dpnp
import numpy as np
from dpctl.memory import MemoryUSMDevice
from dpnp.tensor import Device, usm_ndarray

from portarray import _dlpack as dlpack
from portarray.backends.base import Backend
from portarray.backends.common import copying, machine
from portarray.backends.common.copying import copied
from portarray.backends.dpnp.devices import Devices, wait_for_work

__all__ = ["Transfer", "from_dlpack", "from_host", "move", "to_host"]

# DLPack's device types.
_DLPACK_CPU, _ONEAPI = 1, 14

_LARGE = 1 << 22  # bytes
_ALIGNED = 64  # bytes: where dpnp's kernels are fastest, and SYCL allocates


class Transfer(Backend):
    """Transfer of dpnp's arrays: host memory, other devices, DLPack."""

    converts_on_copy = True

    @staticmethod
    def on_host(device: Device) -> bool:
        return bool(device.sycl_device.is_cpu)

    def dlpack_device_of(self, device: Device) -> tuple[int, int]:
        """Return DLPack's type and index of a device's memory: host memory on CPUs."""
        return (_DLPACK_CPU, 0) if self.on_host(device) else _place_of(device)

    def readable_dlpack_types(self, device: Device) -> frozenset[int]:
        return frozenset() if self.on_host(device) else frozenset({_ONEAPI})

    @staticmethod
    def from_host(
        array: np.ndarray[Any, Any],
        device: Device,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> dpnp.ndarray:
        """Make an array on a device from a NumPy array, always by copying into USM."""
        if copy is False:
            raise ValueError(
                "copy=False, but dpnp's arrays are in memory that SYCL allocates\n"
                "Hint: pass copy=None or copy=True"
            )
        return Transfer.from_host_converted(array, array.dtype.newbyteorder("="), device)

    @staticmethod
    def from_host_converted(
        array: np.ndarray[Any, Any], dtype: np.dtype[Any], device: Device
    ) -> dpnp.ndarray:
        """Make an array of another dtype by NumPy's casting rules; on CPUs while copying.

        Keeps the memory order of axes.
        """
        fortran = array.flags.f_contiguous and not array.flags.c_contiguous
        if not Transfer.on_host(device):
            # dpnp is slow at reading non-contiguous memory.
            return dpnp.asarray(
                np.asarray(array, dtype, order="F" if fortran else "C"), device=device
            )
        # In dpnp a view takes as long as a small array.
        axes = None if fortran else copying.in_memory_order(array)
        values = array if axes is None else array.transpose(axes)
        x = _unwritten(values, dtype, device, "F" if fortran else "C")
        # New memory needs no synchronization before writing.
        np.asarray(_HostMemory(x))[...] = values
        return x if axes is None else x.transpose(copying.inverse(axes))

    def why_copied_in(self, array: np.ndarray[Any, Any], device: Device) -> str:
        return "dpnp's arrays are in memory that SYCL allocates"

    def why_copied_out(self, x: dpnp.ndarray, device: Device) -> str:
        if self.on_host(x.device):
            return "dpnp computes asynchronously, and writes to shared memory could interfere"
        return f"{x.device} has separate memory"

    @staticmethod
    def to_host(x: dpnp.ndarray, *, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return an array as NumPy array.

        ``copy=None`` copies, since dpnp is asynchronous: writes into a view could change the
        operands of pending work. ``copy=False`` returns a view, after waiting for all work. Reading
        it stays safe, since assignments wait; writing is safe after :func:`portarray.synchronize`.
        """
        if Transfer.on_host(x.device):
            # dpnp cannot wait for one array's work alone.
            wait_for_work(x.sycl_queue)
            host = np.asarray(_HostMemory(x))
            return host if copy is False else copied(host)
        if copy is False:
            raise ValueError(
                f"copy=False, but NumPy cannot read the memory of {x.device}\n"
                f"Hint: pass copy=None or copy=True"
            )
        x = _alone(x)
        wait_for_work(x.sycl_queue)
        values: np.ndarray[Any, Any] = x.asnumpy()
        return values

    @staticmethod
    def move(
        x: dpnp.ndarray, device: Device, *, copy: bool | None, non_blocking: bool = False
    ) -> dpnp.ndarray:
        """Return an array on another SYCL device."""
        if x.sycl_device == device.sycl_device:
            return dpnp.copy(x) if copy is True else x
        if copy is False:
            raise ValueError(
                f"copy=False, but moving an array from {x.device} to {device} copies it\n"
                f"Hint: pass copy=None or copy=True"
            )
        x = _alone(x)
        wait_for_work(x.sycl_queue)
        return x.to_device(device)

    @staticmethod
    def normalize(x: dpnp.ndarray | usm_ndarray, *, copy: bool | None) -> dpnp.ndarray:
        """Return an array on its device's cached queue; a view if the context is the same.

        Arrays of two queues cannot be combined in one call.
        """
        queue = Devices.native_device(*Devices.device_of_array(x)).sycl_queue
        if isinstance(x, usm_ndarray):
            x = dpnp.asarray(x, copy=False)
        source_queue = x.sycl_queue
        if source_queue == queue:
            return x
        # Finish pending work of the queue before another one reads the memory.
        wait_for_work(source_queue)
        source_queue.wait()
        if source_queue.sycl_context == queue.sycl_context:
            return x.to_device(queue)
        if copy is False:
            raise ValueError(
                "copy=False, but the array's SYCL context is not the cached one of its device\n"
                "Hint: pass copy=None or copy=True"
            )
        return dpnp.asarray(x.asnumpy(), device=queue, usm_type=x.usm_type)

    @staticmethod
    def from_dlpack(x: Any, device: Device | None, *, copy: bool | None) -> dpnp.ndarray:
        """Make an array on a device from an object with ``__dlpack__``.

        Memory of the same device is shared; other memory is copied through the host.
        """
        kind, index = map(int, x.__dlpack_device__())
        if kind in dlpack.HOST_KINDS:
            target = device or Devices.native_device("oneapi", 0)
            return Transfer.from_host(dlpack.host_values(x), target, copy=copy)
        if kind != _ONEAPI:
            raise BufferError(
                f"dpnp cannot read DLPack device {(kind, index)} ({dlpack.kind_name(kind)})\n"
                f"Hint: move the data to the host first"
            )
        shared = dpnp.from_dlpack(dlpack.take(x))
        target = device or Devices.native_device(*Devices.device_of_array(shared))
        moved = Transfer.move(Transfer.normalize(shared, copy=copy), target, copy=copy)
        if copy:
            # The producer may write into its memory afterwards.
            wait_for_work(moved.sycl_queue)
        return moved

    def to_dlpack(
        self,
        x: dpnp.ndarray,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule of an array; on CPUs it is exported as host memory."""
        origin = self.dlpack_device(x)
        target = origin if dl_device is None else (int(dl_device[0]), int(dl_device[1]))
        if target[0] != _DLPACK_CPU:
            if target != origin:
                raise BufferError(
                    f"an array on {x.device} can be exported to its own DLPack device {origin} "
                    f"and to the CPU ({_DLPACK_CPU}, 0), not to {target}"
                )
            if copy:  # dpnp's copy would copy all memory that x is a view of
                x = dpnp.copy(x, order="C")
            wait_for_work(x.sycl_queue)
            return x.__dlpack__(stream=stream, max_version=max_version)
        if origin[0] != _DLPACK_CPU and copy is False:
            raise BufferError(f"copy=False, but {x.device} has separate memory")
        host = self.to_host(x, copy=copy is True or origin[0] != _DLPACK_CPU)
        return host.__dlpack__(max_version=max_version)

    @staticmethod
    def dlpack_device(x: dpnp.ndarray) -> tuple[int, int]:
        """Return DLPack's device type and index of an array: host memory on CPUs."""
        if Transfer.on_host(x.device):
            return _DLPACK_CPU, 0
        kind, index = x.__dlpack_device__()
        return int(kind), index


@cache
def _place_of(device: Device) -> tuple[int, int]:
    return Transfer.dlpack_device(dpnp.empty(0, dtype="u1", device=device))


def _unwritten(
    array: np.ndarray[Any, Any], dtype: np.dtype[Any], device: Device, order: str
) -> dpnp.ndarray:
    """Return an uninitialized array on a CPU, placed for a fast copy of NumPy's array."""
    nbytes = array.size * dtype.itemsize
    if nbytes < _LARGE:
        return dpnp.empty(array.shape, dtype=dtype, device=device, order=order)
    queue = device.sycl_queue
    memory = MemoryUSMDevice(nbytes + copying.SPARE + _ALIGNED, queue=queue)
    machine.in_large_pages(memory._pointer, memory.nbytes)
    offset = copying.place_for(array, memory._pointer, alignment=_ALIGNED)
    return dpnp.ndarray(
        array.shape, dtype, buffer=memory, offset=offset // dtype.itemsize, order=order
    )


def _alone(x: dpnp.ndarray) -> dpnp.ndarray:
    """Return an array that uses all its memory, since dpnp copies all memory of a view."""
    return dpnp.copy(x) if x.get_array().usm_data.nbytes > x.nbytes else x


class _HostMemory:
    """``__array_interface__`` of an array's memory; NumPy's views keep the array alive.

    Unlike the array's ``__sycl_usm_array_interface__`` it does not wait.
    """

    def __init__(self, x: dpnp.ndarray) -> None:
        memory = x.get_array()
        itemsize = memory.itemsize
        self._array = x
        self.__array_interface__ = {
            "version": 3,
            "shape": memory.shape,
            "typestr": memory.dtype.str,
            "data": (memory._pointer, not memory.flags.writable),
            "strides": tuple(itemsize * stride for stride in memory.strides),
        }


from_dlpack, from_host = Transfer.from_dlpack, Transfer.from_host
move, to_host = Transfer.move, Transfer.to_host
