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

from portarray.clarray.runtime import faults, waiting
from portarray.clarray.runtime.pool import Memory, Pool
from portarray.clarray.runtime.programs import Kernel, Programs


@dataclass(frozen=True, slots=True)
class Traits:
    """Properties of a device that kernels are chosen by."""

    host_memory: bool
    local_memory: bool
    group: int
    units: int
    few_groups: bool = False
    intel: bool = False


class Device:
    """An OpenCL device; one object each, compared with ``is``.

    In a ``with`` statement, which may be nested, it is the default device of the thread or task.
    ``index`` is its place among all devices, -1 until they are known.
    ``double`` tells whether it has double precision, ``host_memory`` whether it computes in host
    memory.
    ``lock`` is held while commands are enqueued, never while waiting. ``launched`` counts enqueued
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
            few_groups="Portable Computing Language" in self.platform_name,
            intel=on_host and "Intel" in self.platform_name,
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
        return f"<clarray device {self._number or '-'}: {self.name} ({self.platform_name})>"

    def __str__(self) -> str:
        return f"clarray:{self._number}" if self._number else "clarray"

    @cached_property
    def dtypes(self) -> frozenset[np.dtype[Any]]:
        """The supported dtypes."""
        # Here, as ml_dtypes takes longer to import than a driver to load a program, and kernels in
        # memory of other libraries need none of this.
        from portarray.clarray.dtypes import ALL, cl_type

        return frozenset(one for one in ALL if self.double or not cl_type(one).needs_double)

    @property
    def _number(self) -> str:
        """The index as text, empty before all devices are known."""
        return str(self.index) if self.index >= 0 else ""

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
        upto = self.launched
        if upto == self._finished and not self._retired:
            return
        retired, self._retired = self._retired, []
        try:
            waiting.finish(self)
        except cl.Error as error:
            raise faults.translated(error, self, "") from error
        finally:
            with self.lock:
                # Updated after the wait, so that memory is final once nothing is pending.
                self._finished = max(self._finished, upto)
            # No kernel uses this memory any more.
            retired.clear()

    def retire(self, owner: object) -> None:
        """Release an owner of memory after the kernels that may use it; does not wait."""
        if self.launched != self._finished:
            self._retired.append(owner)

    def release(self, beyond: int = 0) -> None:
        """Wait for kernels if more than ``beyond`` owners are to be released after them."""
        if len(self._retired) > beyond:
            self.finish()

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
"""The devices of enclosing ``with`` statements, the innermost last."""
