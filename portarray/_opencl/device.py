"""An OpenCL device with its context, queue, memory and programs."""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from types import TracebackType
from typing import Any, Literal

import numpy as np
import pyopencl as cl

from portarray._opencl import waiting
from portarray._opencl.blocks import current
from portarray._opencl.errors import DeviceLostError, KernelError
from portarray._opencl.pool import Memory, Pool
from portarray._opencl.programs import OUT_OF_MEMORY, Kernel, Programs

_LOST = frozenset(
    {
        cl.status_code.DEVICE_NOT_AVAILABLE,
        cl.status_code.INVALID_CONTEXT,
        cl.status_code.INVALID_COMMAND_QUEUE,
        cl.status_code.INVALID_DEVICE,
    }
)


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a device by which kernels are chosen."""

    host_memory: bool
    local_memory: bool
    group: int
    units: int
    is_pocl: bool = False
    is_intel_cpu: bool = False


class Device:
    """An OpenCL device; there is one object for each, compared with ``is``.

    A ``with`` statement, which may be nested, makes it the default device of the thread or task.
    ``index`` is its position among all devices, -1 until they are known. ``double``: it has double
    precision. ``host_memory``: it computes in host memory.

    Hold ``lock`` while enqueueing commands, never while waiting. ``launched`` counts enqueued
    commands: add one after enqueueing without :meth:`Kernel.launch`.
    """

    def __init__(self, native: cl.Device, index: int, *, discrete: bool = False) -> None:
        self.native = native
        self.index = index
        self.name = native.name.strip()
        self.platform_name = native.platform.name.strip()
        self.kind: Literal["cpu", "gpu", "accelerator"] = (
            "cpu"
            if native.type & cl.device_type.CPU
            else "gpu"
            if native.type & cl.device_type.GPU
            else "accelerator"
        )
        self.double = "cl_khr_fp64" in native.extensions.split()
        on_host = self.kind == "cpu" and not discrete
        self.traits = Traits(
            host_memory=on_host,
            local_memory=not on_host,
            group=min(64 if on_host else 256, native.max_work_group_size),
            units=native.max_compute_units,
            is_pocl="Portable Computing Language" in self.platform_name,
            is_intel_cpu=on_host and "Intel" in self.platform_name,
        )
        self.host_memory = on_host
        self.context = cl.Context([native])
        self.queue = cl.CommandQueue(self.context)
        self.lock = threading.RLock()
        self.launched = 0
        self._finished = 0
        self._retired: list[object] = []
        self.pool = Pool(self)
        self.programs = Programs(self)
        opened.add(self)

    def __repr__(self) -> str:
        index = "-" if self.index < 0 else self.index
        return f"<clarray device {index}: {self.name} ({self.platform_name})>"

    def __str__(self) -> str:
        return "clarray" if self.index < 0 else f"clarray:{self.index}"

    @cached_property
    def dtypes(self) -> frozenset[np.dtype[Any]]:
        """The supported dtypes."""
        # ml_dtypes takes longer to import than a driver to load a program, and kernels in other
        # libraries' memory do not need it.
        from portarray._opencl.c_types import ALL, cl_type

        return frozenset(dtype for dtype in ALL if self.double or not cl_type(dtype).needs_double)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Device:
        return self

    def __enter__(self) -> Device:
        scopes.set((*scopes.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        scopes.set(scopes.get()[:-1])

    @property
    def pending(self) -> bool:
        """Whether commands may be enqueued that :meth:`finish` has not waited for."""
        return self.launched != self._finished

    def finish(self) -> None:
        """Wait for everything enqueued before this call."""
        if current.recorder is not None:  # the host is about to use memory
            current.recorder.refuse()
        launched = self.launched
        if launched == self._finished and not self._retired:
            return
        retired, self._retired = self._retired, []
        try:
            waiting.finish(self.queue, intel_cpu=self.traits.is_intel_cpu)
        except cl.Error as error:
            raise self.translate_error(error) from error
        finally:
            with self.lock:
                # Updated after the wait, so that memory is final once nothing is pending.
                self._finished = max(self._finished, launched)
            retired.clear()  # no kernel uses this memory any more

    def retire(self, owner: object) -> None:
        """Release an owner of memory after the kernels that may use it; does not wait."""
        if self.launched != self._finished:
            self._retired.append(owner)

    def release(self, beyond: int = 0) -> None:
        """Wait for kernels if more than ``beyond`` owners will be released after them."""
        if len(self._retired) > beyond:
            self.finish()

    def wait(self, event: cl.Event, queue: cl.CommandQueue) -> None:
        """Wait for a command of a queue of this device; raise what it raised."""
        waiting.wait(event, queue, intel_cpu=self.traits.is_intel_cpu)

    def translate_error(self, error: cl.Error, kernel: str = "") -> Exception:
        """Return the exception to raise for a driver's error."""
        subject = f"kernel {kernel!r}" if kernel else "a kernel launched before"
        if error.code in _LOST:
            return DeviceLostError(
                f"{self} was lost or reset ({error}); its arrays are gone\n"
                f"Hint: start a new process and create them again",
                {self.name: str(error)},
            )
        if error.code in OUT_OF_MEMORY:
            return self.pool.out_of_memory(f"{subject} found no memory on {self} ({error})")
        return KernelError(f"{subject} did not run on {self}: {error}", kernel=kernel)

    def memory(self) -> Memory:
        """Return the device's memory figures."""
        return self.pool.memory()

    def kernel(
        self,
        source: str,
        name: str,
        buffers: int,
        values: Sequence[Any] = (),
        options: tuple[str, ...] = (),
    ) -> Kernel:
        """Return a kernel, built or from the cache; looking it up costs more than launching it."""
        return self.programs.kernel(source, name, buffers, tuple(map(np.dtype, values)), options)


opened: weakref.WeakSet[Device] = weakref.WeakSet()
"""All device objects."""

scopes: contextvars.ContextVar[tuple[Device, ...]] = contextvars.ContextVar("scopes", default=())
"""Devices of enclosing ``with`` statements, the innermost last."""
