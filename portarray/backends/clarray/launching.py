"""User kernels on clarray's arrays."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import cache, partial
from typing import Any

from portarray._launchers.launcher import Launch, Launcher, Layout, Program, Range
from portarray._launchers.opencl import OpenCLLauncher
from portarray._opencl.pool import Storage
from portarray._opencl.programs import Kernel
from portarray._opencl.recording import Recorder
from portarray.backends.base import Backend
from portarray.backends.common.host_memory import owner_of
from portarray.clarray import Array, Device
from portarray.clarray.strided import new_array

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


class _ArrayRecorder(Recorder):
    """Records all that happens to clarray's arrays, in its queue."""

    records_calls = True

    def memory(self, x: Array) -> Storage:
        return x.storage

    def argument(self, memory: Storage) -> Any:
        return memory.buffer

    def layout(self, x: Array) -> Any:
        return None if x.storage.shared else (x.strides, x.offset)

    def nbytes(self, memory: Storage) -> int:
        return -1 if memory.shared else memory.nbytes

    def allocator(self, memory: Storage) -> Callable[[], Storage]:
        return partial(self.device.pool.take, memory.nbytes)

    def viewer(self, x: Array) -> Callable[[Storage], Array]:
        return lambda storage: new_array(
            storage, x.dtype, x.shape, x.strides, x.offset, x.contiguous
        )

    def finish(self, event: Any) -> None:
        """Do not wait: reading waits."""


class Launching(Backend):
    """Launchers of programs on clarray's devices."""

    records_calls = _ArrayRecorder.records_calls

    def launcher(self, device: Device) -> Launcher:
        return _launcher(device)

    def recorder(self, device: Device) -> Recorder:
        return _ArrayRecorder(device, device.queue)

    def layout(self, x: Array) -> Layout:
        return x.shape, x.strides, x.offset

    def extent(self, x: Array) -> tuple[Hashable, int, tuple[int, ...]]:
        itemsize = x.dtype.itemsize
        host = x.storage.host
        memory, start = (id(x.storage), 0) if host is None else (None, host.ctypes.data)
        strides = tuple([stride * itemsize for stride in x.strides])
        return memory, start + x.offset * itemsize, strides

    def allocation(self, x: Array) -> int:
        owner = x.storage.owner  # several storages may wrap the same host memory
        return id(x.storage) if owner is None else owner_of(owner)

    def is_broadcast(self, x: Array) -> bool:
        return not x.contiguous and 0 in x.strides


@cache
def _launcher(device: Device) -> Launcher:
    return _ArrayLauncher(device)
