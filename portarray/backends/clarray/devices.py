"""clarray's devices: every functional OpenCL device of every driver."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import metadata
from typing import Any

import numpy as np

from portarray import clarray
from portarray._opencl import discovery
from portarray.backends.base import Backend
from portarray.backends.types import Description, MemoryFigures
from portarray.clarray import Device
from portarray.clarray.dtypes import ALL
from portarray.clarray.errors import DeviceNotFunctionalError, KernelError

__all__ = ["Devices"]


class Devices(Backend):
    """Functional devices, reasons for missing ones, dtypes and memory."""

    array_type = clarray.Array

    def version(self) -> str:
        """Return pyopencl's version; clarray has portarray's."""
        return metadata.version("pyopencl")

    def count(self, platform: str) -> int:
        return len(clarray.devices()) if platform == "opencl" else 0

    def reason_unsupported(self, platform: str) -> str:
        """Return why there is no device, for each driver and device."""
        if platform != "opencl":
            return f"clarray computes on OpenCL devices only, not on {platform}"
        reasons = "; ".join(f"{name}: {reason}" for name, reason in clarray.reasons().items())
        return reasons or "OpenCL does not have a device"

    def native_device(self, platform: str, index: int) -> Device:
        return clarray.devices()[index]

    def describe(self, platform: str, index: int) -> Description:
        """Return name and kind of a device; several drivers may drive the same processor."""
        device = clarray.devices()[index]
        return Description(f"{device.name} ({device.platform_name})", device.kind)

    def dtypes(self, platform: str, index: int) -> Mapping[np.dtype[Any], np.dtype[Any]]:
        available = clarray.devices()[index].dtypes
        return {dtype: dtype for dtype in ALL if dtype in available}

    def device_of_native(self, device: object) -> tuple[str, int] | None:
        """Return the index of a clarray device or ``pyopencl.Device``, None if it is neither."""
        for candidate in clarray.devices():
            native = candidate.native
            if device is candidate or (isinstance(device, type(native)) and device == native):
                return "opencl", candidate.index
        return None

    def device_of_array(self, x: clarray.Array) -> tuple[str, int]:
        """Return the index of the device that holds an array.

        Raises
        ------
        ValueError
            If a program opened the device itself: its arrays are in another OpenCL context.
        """
        device = x.device
        every = clarray.devices()
        if device.index >= len(every) or every[device.index] is not device:
            raise ValueError(
                f"the array is on {device!r}, which is not in clarray.devices()\n"
                f"Hint: move it to one of those with x.to_device(...) first"
            )
        return "opencl", device.index

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, MemoryError)

    def is_device_failure(self, error: BaseException) -> bool:
        return isinstance(error, (KernelError, DeviceNotFunctionalError))

    def memory(self, device: Device) -> MemoryFigures:
        """Return the memory figures of a device; ``used`` and ``pooled`` are clarray's own."""
        figures = device.memory()
        return MemoryFigures(
            total=figures.total, free=figures.free, used=figures.used, pooled=figures.pooled
        )

    def synchronize(self, device: Device) -> None:
        device.finish()

    def reclaim(self, device: Device) -> None:
        device.pool.reclaim()

    def driver(self, platform: str) -> str:
        """Return the versions of all drivers, in the order of their devices."""
        return "+".join(native.driver_version for native in discovery.candidates())
