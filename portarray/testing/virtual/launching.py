"""User kernels on virtual devices, with NumPy's launcher."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np

from portarray._launchers.host import OverHost, host_launcher
from portarray._launchers.launcher import Launch, Launcher, Layout, Program, Range, layout_of
from portarray.testing.virtual.array import VirtualArray, new_array
from portarray.testing.virtual.machine import VirtualDevice

__all__ = ["extent", "is_broadcast", "launcher", "layout"]


@cache  # devices are kept
def launcher(device: VirtualDevice) -> Launcher | str:
    """Return the launcher of a device, or why it has none."""
    host = host_launcher()
    return host if isinstance(host, str) else _Launcher(host, device)


def layout(x: VirtualArray) -> Layout:
    """Return shape, strides and offset of an array in elements."""
    return layout_of(x._values)


def extent(x: VirtualArray) -> tuple[None, int, tuple[int, ...]] | None:
    """Return the address and strides of an array in bytes; None for immutable arrays."""
    if x._memory.device.traits.immutable:
        return None
    return None, x._values.__array_interface__["data"][0], x._values.strides


def is_broadcast(x: VirtualArray) -> bool:
    """Return whether an array is read-only, or has elements that share memory."""
    return not x._values.flags.writeable or 0 in x._values.strides


class _Launcher(OverHost):
    """Runs programs in host memory and waits for them."""

    def __init__(self, host: Launcher, device: VirtualDevice) -> None:
        super().__init__(host)
        self._device = device
        self.immutable = device.traits.immutable
        self.float64 = host.float64 and device.traits.float64
        self.atomics64 = host.atomics64 and device.traits.int64

    def writable(self, x: VirtualArray) -> VirtualArray:
        """Return the array, or a copy if it is read-only, such as a broadcast."""
        if self.immutable or x._values.flags.writeable:
            return x
        return new_array(x._values.copy(), self._device)

    def copied(self, x: VirtualArray, *, written: bool) -> str:
        """Return why an array is copied."""
        if not written:
            return ""
        if self.immutable:
            return f"arrays on {self._device} are immutable, so the result is a new array"
        return "" if x._values.flags.writeable else "it is read-only"

    def address(self, x: VirtualArray) -> tuple[Hashable, int]:
        """Return the address of an array's first element."""
        return self._host.address(x._values)

    def build(self, program: Program) -> Launch:
        """Compile a program and return a function that launches its kernel."""
        inner = self._host.build(program)
        device, written, immutable = self._device, program.written, self.immutable

        def launch(
            arrays: Sequence[VirtualArray], values: Sequence[Any], ndrange: Range, group: Range
        ) -> list[VirtualArray] | None:
            device.called(program.kernel, entered=True)
            if not immutable:
                inner([x._values for x in arrays], values, ndrange, group)
                return None
            memory = [
                np.array(x._values, order="C") if changes else x._values
                for x, changes in zip(arrays, written, strict=True)
            ]
            inner(memory, values, ndrange, group)
            pairs = zip(memory, written, strict=True)
            return [new_array(fresh, device) for fresh, changes in pairs if changes]

        return launch
