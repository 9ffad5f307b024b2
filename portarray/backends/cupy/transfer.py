"""Transfer to and from host memory, and DLPack.

CuPy uses the device's current stream of the calling thread. Other streams and devices are ordered
on the GPU, without blocking the host; only copies from another library's memory block, since that
library may reuse it afterwards.
"""

from __future__ import annotations

import os
from typing import Any, Literal

import cupy
import numpy as np
from cupy import ndarray
from cupy.cuda import Device, pinned_memory, runtime

from portarray import _dlpack as dlpack
from portarray.backends.base import Backend

__all__ = ["Transfer", "from_dlpack", "from_host", "move", "to_host"]

# DLPack's device types.
_CPU, _CUDA, _ROCM, _CUDA_MANAGED = 1, 2, 10, 13

_SHARES = os.environ.get("CUPY_ENABLE_UMP", "0") != "0"
"""Whether CuPy uses NumPy's memory without a copy (unified memory), even if a copy is requested."""


class Transfer(Backend):
    """Transfer of CuPy's arrays: host memory, other devices, DLPack."""

    def on_host(self, device: Any) -> bool:
        return False

    @staticmethod
    def from_host(
        array: np.ndarray[Any, Any], device: Any, *, copy: bool | None, non_blocking: bool = False
    ) -> ndarray:
        """Make an array on a GPU from a NumPy array; the copy is complete when this returns.

        With ``non_blocking`` copies from pinned memory are only ordered before later work on the
        current stream.
        """
        if copy is False:
            raise ValueError(
                f"copy=False, but {device} does not use host memory; pass copy=None or copy=True"
            )
        # CuPy before version 14 ignores byte order.
        array = np.asarray(array, dtype=array.dtype.newbyteorder("="))
        if _SHARES:
            array = array.copy()
        # CuPy fills 0-d arrays with a scalar, which turns -0.0 into 0.
        values = np.atleast_1d(array)
        with device:
            x = cupy.array(values, copy=True, blocking=not non_blocking and _is_read_late(values))
            return x if array.ndim else x.reshape(())

    @staticmethod
    def to_host(x: ndarray, *, copy: bool | None) -> np.ndarray[Any, Any]:
        """Return a copy of an array in host memory; ValueError for ``copy=False``."""
        if copy is False:
            raise ValueError(
                f"copy=False, but an array on {x.device} cannot be read by NumPy without a copy; "
                f"pass copy=None or copy=True"
            )
        return _read(x, np.ndarray(x.shape, x.dtype, order=_order(x)))

    def pinned_copy(self, x: ndarray) -> np.ndarray[Any, Any] | None:
        """Return an array as a NumPy array in pinned memory; None if there is too little."""
        with x.device:
            try:
                memory = cupy.cuda.alloc_pinned_memory(max(1, x.nbytes))
            except runtime.CUDARuntimeError as error:
                if not self.is_out_of_memory(error):
                    raise
                return None
        return _read(x, np.ndarray(x.shape, x.dtype, memory, order=_order(x)))

    @staticmethod
    def move(x: ndarray, device: Any, *, copy: bool | None, non_blocking: bool = False) -> ndarray:
        """Return an array on another GPU; ValueError for ``copy=False`` if the data must move."""
        source = x.device
        if source == device:
            if copy is not True:
                return x
            with device:
                return x.copy()
        if copy is False:
            raise ValueError(
                f"copy=False, but moving an array from {source} to {device} copies it; "
                f"pass copy=None or copy=True"
            )
        # CuPy cannot copy strided arrays between devices, nor order streams of two devices.
        with source:
            x = cupy.ascontiguousarray(x)
        # CuPy copies on the target's stream, with ROCm on the source's.
        copying, waiting = (source, device) if runtime.is_hip else (device, source)
        _wait(copying, waiting)
        with device:
            moved = x.copy()
        # Later work on the other stream must not use or reuse the memory before the copy is done.
        _wait(waiting, copying)
        return moved

    @staticmethod
    def from_dlpack(x: Any, device: Any, *, copy: bool | None) -> ndarray:
        """Make an array on a GPU from an object with ``__dlpack__``.

        The producer makes CuPy's current stream wait for pending work. ``device=None`` is the
        device of the data, or CuPy's current one for data in host memory.
        """
        kind, index = map(int, x.__dlpack_device__())
        if kind in dlpack.HOST_KINDS:
            return Transfer.from_host(
                dlpack.host_values(x), Device() if device is None else device, copy=copy
            )
        if kind not in _readable():
            raise BufferError(
                f"this CuPy, for {'ROCm' if runtime.is_hip else 'CUDA'}, cannot read DLPack device "
                f"{(kind, index)}; move the data to the host first"
            )
        with Device(index):
            held = dlpack.take(x, stream=_stream())
            if held.read_only and copy is False:
                raise ValueError(
                    "copy=False, but the data is read-only and CuPy's arrays are always writable; "
                    "pass copy=None or copy=True"
                )
            shared = cupy.from_dlpack(held)
        target = shared.device if device is None else device
        stays = shared.device == target
        result = Transfer.move(shared, target, copy=True if stays and held.read_only else copy)
        if result is not shared:
            # The producer may reuse its memory on its own stream once it is released.
            with shared.device:
                cupy.cuda.get_current_stream().synchronize()
        return result

    def dlpack_device_of(self, device: Any) -> tuple[int, int]:
        return (_ROCM if runtime.is_hip else _CUDA), int(device.id)

    def readable_dlpack_types(self, device: Any) -> frozenset[int]:
        return _readable()

    def to_dlpack(
        self,
        x: ndarray,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule of an array; managed memory is exported as managed.

        The consumer's stream waits for CuPy's current one. Default streams are 1 (None) and 2 on
        CUDA, 0 (None) on ROCm; -1 skips synchronization.
        """
        own_device = self.dlpack_device(x)
        if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != own_device:
            if int(dl_device[0]) != _CPU:
                raise BufferError(
                    f"an array on {x.device} can be exported to its own DLPack device "
                    f"{own_device} and to the CPU ({_CPU}, 0), not to {tuple(dl_device)}"
                )
            if copy is False:
                raise BufferError(f"copy=False, but the array on {x.device} must be moved first")
            return self.to_host(x, copy=True).__dlpack__(max_version=max_version)
        with x.device:
            # CuPy exports no copies itself.
            return (x.copy() if copy is True else x).__dlpack__(
                stream=stream, max_version=max_version
            )

    def dlpack_device(self, x: ndarray) -> tuple[int, int]:
        kind, index = x.__dlpack_device__()
        return int(kind), int(index)


def _is_read_late(array: np.ndarray[Any, Any]) -> bool:
    """Return whether CuPy may read an array after it has returned.

    Pageable memory is copied to pinned memory first; since version 14, pinned arrays are read
    directly. Blocking calls wait for all work on the stream.
    """
    is_memory_pinned = getattr(pinned_memory, "is_memory_pinned", None)
    return is_memory_pinned is not None and bool(is_memory_pinned(array.ctypes.data))


def _read(x: ndarray, host: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Copy an array to a NumPy array, and wait until it is complete."""
    with x.device:  # wait for its current stream
        # Without `out=` CuPy may return a view before it is computed (CUPY_ENABLE_UMP).
        x.get(out=host)
    return host


def _order(x: ndarray) -> Literal["C", "F"]:
    """Return the memory order for reading an array: its own if it is contiguous.

    CuPy makes a temporary copy on the GPU for other orders.
    """
    return "F" if x.flags.f_contiguous and not x.flags.c_contiguous else "C"


def _wait(later: Any, earlier: Any) -> None:
    """Make a device's current stream wait for another's."""
    with earlier:
        event = cupy.cuda.Event(disable_timing=True)
        event.record(cupy.cuda.get_current_stream())
    with later:
        cupy.cuda.get_current_stream().wait_event(event)


def _stream() -> int:
    """Return the current stream as DLPack numbers it: CUDA's legacy default is 1, ROCm's 0."""
    stream: int = cupy.cuda.get_current_stream().ptr
    return stream or (0 if runtime.is_hip else 1)


def _readable() -> frozenset[int]:
    return frozenset({_ROCM} if runtime.is_hip else {_CUDA, _CUDA_MANAGED})


from_dlpack, from_host, move, to_host = (
    Transfer.from_dlpack,
    Transfer.from_host,
    Transfer.move,
    Transfer.to_host,
)
