"""User kernels on clarray's arrays."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any

from portarray._launchers.launcher import Launch, Launcher, Layout, Program, Range
from portarray._launchers.opencl import OpenCLLauncher
from portarray._opencl.programs import Kernel
from portarray.backends.base import Backend
from portarray.clarray import Array, Device

__all__ = ["Launching"]


class _ArrayLauncher(OpenCLLauncher):
    """Runs programs on clarray's arrays; does not wait."""

    offsets = True

    def address(self, x: Array) -> tuple[Hashable, int]:
        # Several storages may wrap the same host memory.
        offset = x.offset * x.dtype.itemsize
        if x.storage.shared and x.storage.host is not None:
            return None, offset + x.storage.host.ctypes.data
        return id(x.storage), offset

    def build(self, program: Program) -> Launch:
        native = self._kernel(program)
        kernel = Kernel(
            self._device, native, program.kernel, len(program.arrays), program.values
        ).launch

        def launch(arrays: Sequence[Any], values: Sequence[Any], size: Range, group: Range) -> None:
            kernel(size[::-1], group[::-1], tuple([x.storage for x in arrays]), *values)

        return launch


class Launching(Backend):
    """Launchers of programs on clarray's devices."""

    def launcher(self, device: Device) -> Launcher:
        return _launcher(device)

    def layout(self, x: Array) -> Layout:
        return x.shape, x.strides, x.offset

    def extent(self, x: Array) -> tuple[Hashable, int, tuple[int, ...]]:
        itemsize = x.dtype.itemsize
        host = x.storage.host
        memory, start = (id(x.storage), 0) if host is None else (None, host.ctypes.data)
        strides = tuple([stride * itemsize for stride in x.strides])
        return memory, start + x.offset * itemsize, strides

    def allocation(self, x: Array) -> int:
        return id(x.storage)

    def is_broadcast(self, x: Array) -> bool:
        return not x.contiguous and 0 in x.strides


@cache
def _launcher(device: Device) -> Launcher:
    return _ArrayLauncher(device)
