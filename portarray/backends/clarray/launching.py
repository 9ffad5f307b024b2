"""User kernels on clarray's devices."""

from __future__ import annotations

from functools import cache

from portarray.backends.base import Backend
from portarray.backends.launching import Launcher, Layout
from portarray.backends.opencl_launching import ArrayLauncher
from portarray.clarray import Array, Device

__all__ = ["Launching"]


class Launching(Backend):
    """Launchers of programs on clarray's devices."""

    def launcher(self, device: Device) -> Launcher:
        return _launcher(device)

    def layout(self, x: Array) -> Layout:
        return x.shape, x.strides, x.offset


@cache
def _launcher(device: Device) -> Launcher:
    return ArrayLauncher(device)
