"""Launchers of user kernels on OpenCL devices.

Importing this module imports pyopencl; :mod:`portarray._launchers.host` does so when the
first kernel runs.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Hashable
from functools import cache, partial
from typing import Any

from portarray._launchers.launcher import (
    ANY_GROUPS,
    COMPILER,
    DISK,
    MEMORY,
    Launch,
    Launcher,
    Layout,
    Program,
    Range,
    group_for,
    group_on_cpu,
    strides_of,
)
from portarray._opencl import registry, svm
from portarray._opencl.device import Device
from portarray._opencl.errors import KernelError
from portarray._opencl.recording import Recorder
from portarray.errors import KernelBuildError

__all__ = ["OpenCLLauncher", "host_device", "host_launcher", "log_of"]

_ATOMICS = frozenset(("cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"))


class OpenCLLauncher:
    """Base of launchers on an OpenCL device."""

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
        """Return a fast group size."""
        device = self._device
        if device.kind == "cpu":
            # PoCL stores the private arrays of all work-items of a group on the stack.
            max_group = 1024 if "Portable" in device.platform_name else self.max_group
            return group_on_cpu(ndrange, device.traits.units, max_group)
        return group_for(ndrange, min(256, self.max_group))

    def writable(self, x: Any) -> Any:
        """Return the array."""
        return x

    def copied(self, x: Any, *, written: bool) -> str:
        """Return why an array is copied: never."""
        return ""

    def origin(self, program: Program) -> str:
        """Return where building takes a program from."""
        in_memory = self._device.programs.is_in_memory(program.text)
        return {True: MEMORY, False: DISK, None: COMPILER}[in_memory]

    @abstractmethod
    def address(self, x: Any) -> tuple[Hashable, int]:
        """Return the memory of an array, and the address or offset of its first element."""

    @abstractmethod
    def build(self, program: Program) -> Launch:
        """Compile a program and return a function that runs its kernel."""

    def _kernel(self, program: Program) -> Any:
        """Return a program's kernel, with separate arguments."""
        try:
            return self._device.programs.native(program.text, program.name)
        except KernelError as error:
            name = f"{self._device} ({self._device.name})"
            log = error.log or str(error)
            raise KernelBuildError(program.kernel, name, log, program.text) from error


class _HostLauncher(OpenCLLauncher):
    """Runs programs in host memory and waits for them."""

    def __init__(self, device: Device, address: Callable[[Any], int] | None) -> None:
        super().__init__(device)
        self._address = address

    def address(self, x: Any) -> tuple[Hashable, int]:
        if self._address is None:
            return None, x.__array_interface__["data"][0]
        return None, self._address(x)

    def build(self, program: Program) -> Launch:
        return svm.host_launch(
            self._device,
            self._kernel(program),
            program.kernel,
            len(program.arrays),
            program.values,
            self._address,
        )

    def recorder(
        self, layout: Callable[[Any], Layout], array_type: type, new: Callable[[Any], Any]
    ) -> Recorder:
        """Return a recorder of launches in the memory of a library."""
        return _HostRecorder(self._device, self._address, layout, array_type, new)


class _HostRecorder(Recorder):
    """Records launches in host memory; arrays are in C order."""

    records_calls = False

    def __init__(
        self,
        device: Device,
        address: Callable[[Any], int] | None,
        layout: Callable[[Any], Layout],
        array_type: type,
        new: Callable[[Any], Any],
    ) -> None:
        super().__init__(device, svm.queue_of(device))
        self._pointer = svm.pointer_function(address)
        self._layout, self._array_type, self._new = layout, array_type, new

    def memory(self, x: Any) -> Any:
        return x

    def argument(self, memory: Any) -> Any:
        return self._pointer(memory)

    def layout(self, x: Any) -> Any:
        if x.__class__ is not self._array_type:  # a number of NumPy's
            return None
        shape, strides, _ = self._layout(x)
        return strides if tuple(strides) == strides_of(shape) else None

    def nbytes(self, memory: Any) -> int:
        nbytes: int = memory.nbytes
        return nbytes

    def allocator(self, memory: Any) -> Callable[[], Any]:
        return partial(self._new, memory)

    def viewer(self, x: Any) -> Callable[[Any], Any]:
        return lambda memory: memory

    def finish(self, event: Any) -> None:
        self.device.wait(event, self.queue)


@cache
def host_device() -> Device | str:
    """Return the OpenCL device that computes in host memory, or why there is none."""
    device = svm.host_device()
    if device is not None:
        return device
    details = "".join(f"; {name}: {reason}" for name, reason in registry.reasons().items())
    return f"no OpenCL device here is a CPU that uses other libraries' memory{details}"


def host_launcher(address: Callable[[Any], int] | None) -> Launcher | str:
    """Return a launcher for arrays in host memory, or why there is none.

    Parameters
    ----------
    address : callable or None
        Returns the address of a native array's first element; None for NumPy arrays.
    """
    device = host_device()
    if isinstance(device, str):
        return device
    return _HostLauncher(device, address)


def log_of(program: Program) -> str:
    """Return the CPU compiler's messages about a program, empty if it accepts it."""
    device = host_device()
    if isinstance(device, str):
        return ""
    try:
        device.programs.native(program.text, program.name)
    except KernelError as error:
        return error.log or str(error)
    return ""
