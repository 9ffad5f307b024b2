"""Programs, built once and cached in memory and on disk, and their kernels."""

from __future__ import annotations

import threading
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from portarray._compile_notice import compile_notice
from portarray._opencl.blocks import current
from portarray._opencl.errors import KernelError
from portarray._opencl.native_kernel import native_kernel
from portarray._opencl.pool import Storage
from portarray._opencl.program_cache import ProgramCache

if TYPE_CHECKING:
    from portarray._opencl.device import Device

enqueue = cl.enqueue_nd_range_kernel

CODES = {
    np.dtype(kind): code
    for kind, code in {
        "?": b"B",
        "i1": b"b",
        "u1": b"B",
        "i2": b"h",
        "u2": b"H",
        "i4": b"i",
        "u4": b"I",
        "i8": b"l",
        "u8": b"L",
        "f4": b"f",
        "f8": b"d",
    }.items()
}
"""pyopencl's codes of the dtypes of scalar arguments."""

OUT_OF_MEMORY = frozenset(
    {
        cl.status_code.MEM_OBJECT_ALLOCATION_FAILURE,
        cl.status_code.OUT_OF_RESOURCES,
        cl.status_code.OUT_OF_HOST_MEMORY,
    }
)
"""Codes of drivers' errors."""

_MAX_PROGRAMS = 512  # of about 3 MB each with Intel's runtime for CPUs
"""Programs kept in memory."""


@cache
def _types() -> str:
    """Return the source that begins every program."""
    return (Path(__file__).parent / "types.cl").read_text("utf-8")


class Kernel:
    """A kernel on one device; its parameters are buffers first, then values."""

    __slots__ = ("_buffers", "_device", "_kernel", "_set_buffers", "_set_values", "_values", "name")

    def __init__(
        self,
        device: Device,
        kernel: cl.Kernel,
        name: str,
        buffers: int,
        values: tuple[np.dtype[Any], ...],
    ) -> None:
        self._device = device
        self._kernel = kernel
        self.name = name
        # Kernel.set_args calls these through code generated for each kernel and cached on disk,
        # which takes longer than loading a built program.
        untyped: Any = kernel
        self._set_buffers = untyped._set_arg_multi
        self._set_values = untyped._set_arg_buf_pack_multi
        # Index and buffer alternate; index, type and value alternate. Each launch fills a copy:
        # a reference from here would keep memory from returning to its pool.
        self._buffers: list[Any] = [entry for index in range(buffers) for entry in (index, None)]
        self._values: list[Any] = [
            entry
            for index, dtype in enumerate(values, buffers)
            for entry in (index, CODES[dtype], None)
        ]

    def launch(
        self,
        size: tuple[int, ...],
        group: tuple[int, ...] | None,
        storages: tuple[Storage, ...],
        *values: Any,
        retry: bool = True,
    ) -> None:
        """Enqueue the kernel; :meth:`Device.finish` waits for its result."""
        device = self._device
        if group is None and device.traits.is_pocl:
            group = default_group(size)
        buffers = self._buffers.copy()
        arguments: list[Any] = []
        try:
            buffers[1::2] = [storage.buffer for storage in storages]
            with device.lock:
                self._set_buffers(tuple(buffers))
                if values:
                    arguments = self._values.copy()
                    arguments[2::3] = values
                    self._set_values(tuple(arguments))
                enqueue(device.queue, self._kernel, size, group)
                # Counted after enqueueing, so that queue.finish waits for all counted commands.
                device.launched += 1
            recorder = current.recorder
            if recorder is not None:
                values = tuple(arguments)
                recorder.add(device.queue, self._kernel, size, group, storages, values)
        except cl.Error as error:
            if not (retry and error.code in OUT_OF_MEMORY):
                raise device.translate_error(error, self.name) from error
            device.pool.reclaim()
            self.launch(size, group, storages, *values, retry=False)
        for storage in storages:
            if storage.shared:
                device.finish()
                break


def default_group(size: tuple[int, ...]) -> tuple[int, ...]:
    """Return PoCL's work-group size for a global size: a power of two up to 64."""
    first = size[0]
    return min(64, first & -first), *(1,) * (len(size) - 1)


class Programs:
    """The programs of one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        # Only one build at a time: not all compilers are thread-safe.
        self._lock = threading.RLock()
        self._programs: dict[tuple[str, tuple[str, ...]], cl._cl._Program] = {}
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        self._disk = ProgramCache(device.native)
        # No warnings: programs include files of which they use few functions.
        self._flags = ["-cl-std=CL1.2", "-w"]
        if device.double:
            self._flags.append("-DHAS_DOUBLE")

    def kernel(
        self,
        source: str,
        name: str,
        buffers: int,
        values: tuple[np.dtype[Any], ...],
        options: tuple[str, ...],
    ) -> Kernel:
        """Return a kernel; see :meth:`Device.kernel`."""
        key = (source, name, buffers, values, options)
        kernel = self._kernels.get(key)
        if kernel is not None:
            return kernel
        with self._lock:
            kernel = self._kernels.get(key)
            if kernel is None:
                native = self.native(_types() + source, name, options)
                kernel = self._kernels[key] = Kernel(self._device, native, name, buffers, values)
        return kernel

    def native(self, text: str, name: str, options: tuple[str, ...] = ()) -> cl.Kernel:
        """Return a new kernel, with separate arguments, of a complete program."""
        with self._lock:
            program = self._program(text, name, options)
            try:
                return native_kernel(program, name)
            except cl.Error as error:
                raise KernelError(
                    f"the program has no kernel {name!r} that {self._device} can run: {error}",
                    kernel=name,
                ) from error

    def is_in_memory(self, text: str, options: tuple[str, ...] = ()) -> bool | None:
        """Return whether a cached program is in memory, not on disk; None if it is not cached."""
        if (text, options) in self._programs:
            return True
        flags = " ".join((*self._flags, *options))
        return False if self._disk.has(self._disk.file(text, flags)) else None

    def _program(self, text: str, name: str, options: tuple[str, ...]) -> cl._cl._Program:
        key = (text, options)
        program = self._programs.get(key)
        if program is None:
            flags = " ".join((*self._flags, *options))
            file = self._disk.file(text, flags)
            program = self._disk.load(self._device.context, file, flags)
            if program is None:
                with compile_notice(
                    f"the driver compiles programs for {self._device}; other processes will find "
                    f"them in {file.parent}"
                ):
                    program = self._build(text, name, flags)
                self._disk.store(file, program)
            while len(self._programs) >= _MAX_PROGRAMS:  # the oldest; kernels hold references
                del self._programs[next(iter(self._programs))]
            self._programs[key] = program
        return program

    def _build(self, text: str, name: str, flags: str) -> cl._cl._Program:
        # pyopencl.Program's base class has no cache on disk and does not warn of compiler output.
        program = cl._cl._Program(self._device.context, text)
        try:
            program._build(flags.encode())
        except cl.Error as error:
            log = str(program.get_build_info(self._device.native, cl.program_build_info.LOG))
            raise KernelError(
                f"kernel {name!r} could not be built for {self._device}: {error}\n{log}",
                kernel=name,
                log=log,
            ) from error
        return program
