"""Programs: built once, kept in memory and on disk, and their kernels launched."""

from __future__ import annotations

from functools import lru_cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

import numpy as np
import pyopencl as cl

from portarray.clarray.errors import KernelError
from portarray.clarray.runtime.pool import Storage

if TYPE_CHECKING:
    from portarray.clarray.runtime.device import Device

__all__ = ["Kernel", "Programs", "source_of"]


@lru_cache(maxsize=None)
def source_of(name: str) -> str:
    """Return the text of ``kernels/NAME.cl``."""
    return (files("portarray.clarray") / "kernels" / f"{name}.cl").read_text("utf-8")


class Kernel:
    """One kernel of a program, on one device.

    Its parameters are buffers first, then values: offsets, sizes and strides as ``long``, scalars.
    """

    __slots__ = ("_device", "_kernel", "name")

    def __init__(
        self,
        device: Device,
        kernel: cl.Kernel,
        name: str,
        buffers: int,
        values: tuple[np.dtype[Any], ...],
    ) -> None:
        kernel.set_arg_types([None] * buffers + list(values))
        self._device = device
        self._kernel = kernel
        self.name = name

    def launch(
        self,
        size: tuple[int, ...],
        group: tuple[int, ...] | None,
        storages: tuple[Storage, ...],
        *values: Any,
    ) -> None:
        """Enqueue the kernel. Its result is there after :meth:`Device.finish`.

        Parameters
        ----------
        size, group : tuple of int
            Global and local size; None leaves the local size to the driver.
        storages : tuple of Storage
            What the buffer parameters get. Where one is shared with another library the call
            waits for the kernel.
        *values
            Python numbers for the rest.
        """
        device = self._device
        with device.lock:
            self._kernel.set_args(*[one.buffer for one in storages], *values)
            device.pending = True
            cl.enqueue_nd_range_kernel(device.queue, self._kernel, size, group)
        for one in storages:
            if one.shared:
                device.finish()
                break


class Programs:
    """The programs of one device."""

    def __init__(self, device: Device) -> None:
        self._device = device
        self._programs: dict[tuple[str, tuple[str, ...]], cl._cl._Program] = {}
        self._kernels: dict[tuple[Any, ...], Kernel] = {}

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
        if found is None:
            with self._device.lock:
                program = self._program(source, name, options)
                found = Kernel(self._device, cl.Kernel(program, name), name, buffers, values)
                self._kernels[key] = found
        return found

    def _program(self, source: str, name: str, options: tuple[str, ...]) -> cl._cl._Program:
        key = (source, options)
        found = self._programs.get(key)
        if found is None:
            flags = ["-cl-std=CL1.2", *options]
            if np.dtype(np.float64) in self._device.dtypes:
                flags.append("-DHAS_DOUBLE")
            # The class below pyopencl.Program: without the latter's cache on disk, and without
            # its warning whenever a compiler said something.
            found = cl._cl._Program(self._device.context, source_of("types") + source)
            try:
                found._build(" ".join(flags).encode())
            except cl.Error as error:
                log = str(found.get_build_info(self._device.native, cl.program_build_info.LOG))
                raise KernelError(
                    f"kernel {name!r} could not be built for {self._device}: {error}\n{log}",
                    kernel=name,
                    log=log,
                ) from error
            self._programs[key] = found
        return found
