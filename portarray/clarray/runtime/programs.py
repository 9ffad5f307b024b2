"""Programs, built once and cached in memory and on disk, and their kernels."""

from __future__ import annotations

import threading
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from portarray.clarray.errors import KernelError
from portarray.clarray.runtime import faults
from portarray.clarray.runtime.binaries import Binaries
from portarray.clarray.runtime.native_kernel import native_kernel
from portarray.clarray.runtime.pool import Storage

if TYPE_CHECKING:
    from portarray.clarray.runtime.device import Device

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
"""pyopencl's codes for arguments that are values."""


_MOST = 4096
"""Programs that are kept in memory."""


@cache
def source_of(name: str) -> str:
    """Return the text of ``kernels/NAME.cl``."""
    return (files("portarray.clarray") / "kernels" / f"{name}.cl").read_text("utf-8")


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
        # What Kernel.set_args calls in the end, through code generated for each kernel and cached
        # on disk, which takes longer than loading a built program.
        plain: Any = kernel
        self._set_buffers = plain._set_arg_multi
        self._set_values = plain._set_arg_buf_pack_multi
        # Index and value alternating; index, type and value alternating. Each launch fills a copy,
        # since references from here would keep memory from its pool.
        self._buffers: list[Any] = [part for index in range(buffers) for part in (index, None)]
        self._values: list[Any] = [
            part
            for index, dtype in enumerate(values, buffers)
            for part in (index, CODES[dtype], None)
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
        if group is None and device.traits.few_groups:
            group = few(size)
        buffers = self._buffers.copy()
        try:
            buffers[1::2] = [one.buffer for one in storages]
            with device.lock:
                self._set_buffers(tuple(buffers))
                if values:
                    parts = self._values.copy()
                    parts[2::3] = values
                    self._set_values(tuple(parts))
                enqueue(device.queue, self._kernel, size, group)
                # Counted after enqueueing, so that queue.finish waits for all counted commands.
                device.launched += 1
        except cl.Error as error:
            if not (retry and faults.is_memory(error)):
                raise faults.translated(error, device, self.name) from error
            device.pool.reclaim()
            self.launch(size, group, storages, *values, retry=False)
        for one in storages:
            if one.shared:
                device.finish()
                break


def few(size: tuple[int, ...]) -> tuple[int, ...]:
    """Return a local size that divides a global one: a power of two up to 64."""
    first = size[0]
    return min(64, first & -first), *(1,) * (len(size) - 1)


class Programs:
    """The programs of one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        # One build at a time: not all compilers are thread-safe.
        self._lock = threading.RLock()
        self._programs: dict[tuple[str, tuple[str, ...]], cl._cl._Program] = {}
        self._kernels: dict[tuple[Any, ...], Kernel] = {}
        self._binaries = Binaries(device.native)
        # Without warnings: programs include files of which they use few functions.
        self._flags = ["-cl-std=CL1.2", "-w"]
        if np.dtype(np.float64) in device.dtypes:
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
        found = self._kernels.get(key)
        if found is not None:
            return found
        with self._lock:
            found = self._kernels.get(key)
            if found is None:
                native = self.native(source_of("types") + source, name, options)
                found = self._kernels[key] = Kernel(self._device, native, name, buffers, values)
        return found

    def native(self, text: str, name: str, options: tuple[str, ...] = ()) -> cl.Kernel:
        """Return a new kernel of a complete program, with arguments of its own."""
        with self._lock:
            program = self._program(text, name, options)
            try:
                return native_kernel(program, name)
            except cl.Error as error:
                raise KernelError(
                    f"the program of kernel {name!r} has no such kernel that "
                    f"{self._device} can run: {error}",
                    kernel=name,
                ) from error

    def kept(self, text: str, options: tuple[str, ...] = ()) -> bool | None:
        """Tell whether a program is in memory (True) or on disk (False); None if it is not kept."""
        if (text, options) in self._programs:
            return True
        flags = " ".join((*self._flags, *options))
        return False if self._binaries.has(self._binaries.file(text, flags)) else None

    def _program(self, text: str, name: str, options: tuple[str, ...]) -> cl._cl._Program:
        key = (text, options)
        found = self._programs.get(key)
        if found is None:
            flags = " ".join((*self._flags, *options))
            file = self._binaries.file(text, flags)
            found = self._binaries.load(self._device.context, file, flags)
            if found is None:
                found = self._build(text, name, flags)
                self._binaries.store(file, found)
            while len(self._programs) >= _MOST:  # the oldest; kernels keep what they need
                del self._programs[next(iter(self._programs))]
            self._programs[key] = found
        return found

    def _build(self, text: str, name: str, flags: str) -> cl._cl._Program:
        # The class below pyopencl.Program, without its cache on disk and its warnings about any
        # output of the compiler.
        found = cl._cl._Program(self._device.context, text)
        try:
            found._build(flags.encode())
        except cl.Error as error:
            log = str(found.get_build_info(self._device.native, cl.program_build_info.LOG))
            raise KernelError(
                f"kernel {name!r} could not be built for {self._device}: {error}\n{log}",
                kernel=name,
                log=log,
            ) from error
        return found
