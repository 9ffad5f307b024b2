"""User kernels on dpnp's devices, on the queue of its arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import dpctl
import dpnp
import numpy as np
from dpctl.program import SyclProgramCompilationError, create_program_from_source
from dpctl.utils import SequentialOrderManager
from dpnp.tensor import Device

from portarray._launchers.host import log_of
from portarray._launchers.launcher import (
    ANY_GROUPS,
    COMPILER,
    Launch,
    Launcher,
    Layout,
    Program,
    Range,
    group_for,
    group_on_cpu,
)
from portarray.backends.base import Backend
from portarray.errors import KernelBuildError

__all__ = ["Launching"]

_as_ctypes_type: Callable[[Any], Callable[[Any], Any]] = np.ctypeslib.as_ctypes_type

# dpctl's own types of 8 bits.
_KINDS: dict[np.dtype[Any], Callable[[Any], Any]] = {
    np.dtype(np.int8): lambda value: ctypes.c_char(int(value) & 0xFF),
    np.dtype(np.bool_): lambda value: ctypes.c_ubyte(bool(value)),
}

_OPTIONS = "-cl-std=CL1.2"


class Launching(Backend):
    """Launchers of programs on dpnp's devices."""

    def launcher(self, device: Device) -> Launcher | str:
        return _launcher(device.sycl_queue)

    def layout(self, x: dpnp.ndarray) -> Layout:
        memory = x.get_array()
        return memory.shape, memory.strides, memory._element_offset

    def extent(self, x: dpnp.ndarray) -> tuple[None, int, tuple[int, ...]]:
        memory = x.get_array()
        itemsize = memory.itemsize
        start = memory.usm_data._pointer + memory._element_offset * itemsize
        return None, start, tuple([step * itemsize for step in memory.strides])

    def allocation(self, x: dpnp.ndarray) -> int:
        pointer: int = x.get_array().usm_data._pointer
        return pointer

    def is_broadcast(self, x: dpnp.ndarray) -> bool:
        memory = x.get_array()
        return not memory.flags.writable or 0 in memory.strides


@cache
def _launcher(queue: dpctl.SyclQueue) -> Launcher | str:
    device = queue.sycl_device
    if device.backend != dpctl.backend_type.opencl:
        return (
            f"SYCL compiles OpenCL C for OpenCL's drivers only, and the device uses "
            f"{device.backend.name}; use clarray or PyTorch there"
        )
    return _Launcher(queue)


class _Launcher:
    """Runs programs after dpnp's own work; does not wait."""

    dialect = "opencl"
    offsets = True
    immutable = False
    max_groups = ANY_GROUPS

    def __init__(self, queue: dpctl.SyclQueue) -> None:
        self._queue = queue
        self._device = device = queue.sycl_device
        self.name = f"{device.name} ({device.sycl_platform.name})"
        self.float64 = bool(device.has_aspect_fp64)
        self.atomics64 = bool(device.has_aspect_atomic64)
        self.max_group = int(device.max_work_group_size)
        self.max_sizes = tuple(map(int, device.max_work_item_sizes3d))
        self.local_memory = int(device.local_mem_size)

    def group(self, ndrange: Range) -> Range:
        if self._device.is_cpu:
            return group_on_cpu(ndrange, self._device.max_compute_units, self.max_group)
        return group_for(ndrange, min(256, self.max_group))

    def writable(self, x: dpnp.ndarray) -> dpnp.ndarray:
        """Return the array, or a copy of a read-only one, such as broadcast arrays."""
        return x if x.get_array().flags.writable else dpnp.copy(x, order="C")

    def copied(self, x: dpnp.ndarray, *, written: bool) -> str:
        return "it is read-only" if written and not x.get_array().flags.writable else ""

    def address(self, x: dpnp.ndarray) -> tuple[Hashable, int]:
        memory = x.get_array()
        return None, memory.usm_data._pointer + memory._element_offset * memory.itemsize

    def origin(self, program: Program) -> str:
        return COMPILER

    def build(self, program: Program) -> Launch:
        queue = self._queue
        options = _OPTIONS + (" -DHAS_DOUBLE" if self.float64 else "")
        try:
            built = create_program_from_source(queue, program.text, options)
        except SyclProgramCompilationError as error:
            log = str(error) or log_of(program)
            raise KernelBuildError(program.kernel, self._device.name, log, program.text) from error
        if not built.has_sycl_kernel(program.name):
            log = f"the program does not have a kernel {program.name!r}"
            raise KernelBuildError(program.kernel, self._device.name, log, program.text)
        kernel = built.get_sycl_kernel(program.name)
        kinds = [_KINDS.get(dtype) or _as_ctypes_type(dtype) for dtype in program.values]
        submit = queue.submit

        def launch(arrays: Sequence[Any], values: Sequence[Any], size: Range, group: Range) -> None:
            memory = [x.get_array().usm_data for x in arrays]
            passed = [kind(value) for kind, value in zip(kinds, values, strict=True)]
            order = SequentialOrderManager[queue]  # a new one after the user clears it
            event = submit(
                kernel, [*memory, *passed], list(size), list(group), order.submitted_events
            )
            order.add_event_pair(queue._submit_keep_args_alive(memory, [event]), event)

        return launch
