"""Drivers' errors as clarray's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyopencl as cl

from portarray.clarray.errors import DeviceLostError, KernelError, OutOfMemoryError

if TYPE_CHECKING:
    from portarray.clarray.runtime.device import Device

_status = cl.status_code

_MEMORY = frozenset(
    {
        _status.MEM_OBJECT_ALLOCATION_FAILURE,
        _status.OUT_OF_RESOURCES,
        _status.OUT_OF_HOST_MEMORY,
    }
)
_LOST = frozenset(
    {
        _status.DEVICE_NOT_AVAILABLE,
        _status.INVALID_CONTEXT,
        _status.INVALID_COMMAND_QUEUE,
        _status.INVALID_DEVICE,
    }
)


def is_memory(error: cl.Error) -> bool:
    """Tell whether a driver's error is about memory."""
    return error.code in _MEMORY


def translated(error: cl.Error, device: Device, kernel: str) -> Exception:
    """Return clarray's error for a driver's."""
    what = f"kernel {kernel!r}" if kernel else "a kernel launched before"
    if error.code in _LOST:
        return DeviceLostError(
            f"{device} was lost or reset ({error}): its arrays are gone. Start a new process, and "
            f"make them again there",
            {device.name: str(error)},
        )
    if error.code in _MEMORY:
        figures = device.pool.memory()
        return OutOfMemoryError(
            f"{what} found no memory on {device} ({error}): of {figures.total} bytes "
            f"{figures.free} are free and {figures.used} are used by arrays; delete arrays that "
            f"are no longer needed, or work in parts",
            free=figures.free,
            total=figures.total,
        )
    return KernelError(f"{what} did not run on {device}: {error}", kernel=kernel)
