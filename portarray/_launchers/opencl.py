"""Launchers on clarray's devices: for its own arrays, and for those in memory of the host.

Imports clarray, and with it OpenCL's drivers: :mod:`portarray._launchers.host` imports this
module when a kernel is run first.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np

from portarray._launchers.launcher import (
    ANY_GROUPS,
    COMPILER,
    DISK,
    MEMORY,
    Launch,
    Launcher,
    Program,
    Range,
    group_for,
    group_on_cpu,
)
from portarray.clarray.errors import KernelError
from portarray.clarray.runtime import pointers, registry
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.programs import Kernel
from portarray.errors import KernelBuildError

__all__ = ["ArrayLauncher", "host_device", "host_launcher", "log_of"]

_ATOMICS = frozenset(("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"))


class _OpenCLLauncher:
    """What launchers on an OpenCL device have in common."""

    dialect = "opencl"
    offsets = False
    immutable = False

    max_groups = ANY_GROUPS

    def __init__(self, device: Device) -> None:
        native = device.native
        self.name = f"{device.name} ({device.platform_name})"
        self._device = device
        self.float64 = device.double
        self.atomics64 = _ATOMICS.issubset(native.extensions.split())
        self.max_group = int(native.max_work_group_size)
        self.max_sizes = tuple(map(int, native.max_work_item_sizes[2::-1]))
        self.local_memory = int(native.local_mem_size)

    def group(self, ndrange: Range) -> Range:
        device = self._device
        if device.kind == "cpu":
            # PoCL keeps the private arrays of all work-items of a group on the stack.
            most = 1024 if "Portable" in device.platform_name else self.max_group
            return group_on_cpu(ndrange, device.traits.units, most)
        return group_for(ndrange, min(256, self.max_group))

    def writable(self, x: Any) -> Any:
        return x

    def copied(self, x: Any, *, written: bool) -> str:
        return ""

    def origin(self, program: Program) -> str:
        return {True: MEMORY, False: DISK, None: COMPILER}[self._device.programs.kept(program.text)]

    @abstractmethod
    def address(self, x: Any) -> tuple[Hashable, int]: ...

    @abstractmethod
    def build(self, program: Program) -> Launch: ...

    def _kernel(self, program: Program) -> Any:
        """Return a program's kernel, with arguments of its own."""
        try:
            return self._device.programs.native(program.text, program.name)
        except KernelError as error:
            name = f"{self._device} ({self._device.name})"
            log = error.log or str(error)
            raise KernelBuildError(program.name, name, log, program.text) from error


class ArrayLauncher(_OpenCLLauncher):
    """Runs programs on clarray's arrays; does not wait."""

    offsets = True

    def address(self, x: Any) -> tuple[Hashable, int]:
        """Return where an array's first element is; several storages may wrap one host memory."""
        first = x.offset * x.dtype.itemsize
        if x.storage.shared and x.storage.host is not None:
            return None, first + x.storage.host.ctypes.data
        return id(x.storage), first

    def build(self, program: Program) -> Launch:
        """Compile a program and return what runs its kernel."""
        native = self._kernel(program)
        kernel = Kernel(
            self._device, native, program.name, len(program.arrays), program.values
        ).launch

        def launch(arrays: Sequence[Any], values: Sequence[Any], size: Range, group: Range) -> None:
            kernel(size[::-1], group[::-1], tuple([x.storage for x in arrays]), *values)

        return launch


class _HostLauncher(_OpenCLLauncher):
    """Runs programs in host memory and waits for them."""

    def __init__(self, device: Device, address: Callable[[Any], int] | None) -> None:
        super().__init__(device)
        self._address = address or _address_of
        self._given = address

    def address(self, x: Any) -> tuple[Hashable, int]:
        """Return where an array's first element is."""
        return None, self._address(x)

    def build(self, program: Program) -> Launch:
        return pointers.launch_of(
            self._device,
            self._kernel(program),
            program.name,
            len(program.arrays),
            program.values,
            self._given,
        )


def _address_of(x: np.ndarray[Any, Any]) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


@cache
def host_device() -> Device | str:
    """Return the OpenCL device that computes in host memory, or why there is none."""
    device = pointers.host_device()
    if device is not None:
        return device
    why = "".join(f"; {name}: {reason}" for name, reason in registry.reasons().items())
    return f"there is no OpenCL CPU device that uses memory of other libraries{why}"


def host_launcher(address: Callable[[Any], int] | None) -> Launcher | str:
    """Return a launcher for arrays in host memory, NumPy's if there is no function for addresses.

    Parameters
    ----------
    address : callable or None
        Returns the address of a native array's first element.
    """
    device = host_device()
    if isinstance(device, str):
        return device
    return _HostLauncher(device, address)


def log_of(program: Program) -> str:
    """Return what the CPU's compiler says of a program, empty if it accepts it."""
    device = host_device()
    if isinstance(device, str):
        return ""
    try:
        device.programs.native(program.text, program.name)
    except KernelError as error:
        return error.log or str(error)
    return ""
