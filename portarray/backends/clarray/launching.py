"""User kernels on clarray's devices."""

from __future__ import annotations

from collections.abc import Hashable
from functools import cache

from portarray._launchers.launcher import Launcher, Layout
from portarray._launchers.opencl import ArrayLauncher
from portarray.backends.base import Backend
from portarray.clarray import Array, Device

__all__ = ["Launching"]


class Launching(Backend):
    """Launchers of programs on clarray's devices."""

    def launcher(self, device: Device) -> Launcher:
        return _launcher(device)

    def layout(self, x: Array) -> Layout:
        return x.shape, x.strides, x.offset

    def extent(self, x: Array) -> tuple[Hashable, int, tuple[int, ...]]:
        itemsize = x.dtype.itemsize
        host = x.storage.host
        memory, begin = (id(x.storage), 0) if host is None else (None, host.ctypes.data)
        strides = tuple([step * itemsize for step in x.strides])
        return memory, begin + x.offset * itemsize, strides


@cache
def _launcher(device: Device) -> Launcher:
    return ArrayLauncher(device)
