"""Devices: one OpenCL device with its context, its queue, its memory and its programs."""

from __future__ import annotations

import contextvars
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import numpy as np
import pyopencl as cl

from portarray.clarray.dtypes import ALL, cl_type
from portarray.clarray.runtime import faults
from portarray.clarray.runtime.pool import Memory, Pool
from portarray.clarray.runtime.programs import Kernel, Programs


@dataclass(frozen=True, slots=True)
class Traits:
    """What kernels are chosen by."""

    host_memory: bool
    local_memory: bool
    group: int
    units: int
    few_groups: bool = False


class Device:
    """One OpenCL device; there is one object for each, so that ``is`` compares them.

    In a ``with`` statement it is the device that arrays are made on where none is named, in this
    thread or task; such statements may stand within each other.

    Attributes
    ----------
    name, platform_name : str
        What the driver calls the device and its platform.
    kind : {"cpu", "gpu", "accelerator"}
        What it is.
    dtypes : frozenset of numpy.dtype
        What it has.
    traits : Traits
        What kernels are chosen by.
    host_memory : bool
        Whether the device computes in host memory.
    lock : threading.RLock
        Held while commands are enqueued, never while one waits.
    launched : int
        Commands enqueued so far; who enqueues one without :meth:`Kernel.launch` adds one after it.
    kernels : dict
        For callers: kernels by whatever key is quick to make. Begin keys with a name of your own.
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
        has_double = "cl_khr_fp64" in native.extensions.split()
        self.dtypes = frozenset(one for one in ALL if has_double or not cl_type(one).needs_double)
        on_host = self.kind == "cpu" and not discrete
        self.traits = Traits(
            host_memory=on_host,
            local_memory=not on_host,
            group=min(64 if on_host else 256, native.max_work_group_size),
            units=native.max_compute_units,
            few_groups="Portable Computing Language" in self.platform_name,
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
        self.kernels: dict[Any, Kernel] = {}
        opened.add(self)

    def __repr__(self) -> str:
        return f"<clarray device {self.index}: {self.name} ({self.platform_name})>"

    def __str__(self) -> str:
        return f"clarray:{self.index}"

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
        """Whether something may be enqueued that :meth:`finish` has not waited for."""
        return self.launched != self._finished

    def finish(self) -> None:
        """Wait for everything that this thread enqueued so far, and others before."""
        upto = self.launched
        if upto == self._finished and not self._retired:
            return
        retired, self._retired = self._retired, []
        try:
            self.queue.finish()
        except cl.Error as error:
            raise faults.translated(error, self, "") from error
        finally:
            with self.lock:
                # Noted after the wait: whoever finds nothing pending reads finished memory.
                self._finished = max(self._finished, upto)
            # No kernel uses these any more.
            retired.clear()

    def retire(self, kept: object) -> None:
        """Let go of memory, but not before the kernels that may still use it. Never waits."""
        if self.launched != self._finished:
            self._retired.append(kept)

    def release(self, beyond: int = 0) -> None:
        """Wait for kernels if more than so many blocks are let go of as soon as they are done."""
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
        """Return a kernel, built or from the cache.

        Callers keep what they get, in :attr:`kernels` for instance: looking it up here costs more
        than launching it.
        """
        return self.programs.kernel(source, name, buffers, tuple(map(np.dtype, values)), options)


opened: weakref.WeakSet[Device] = weakref.WeakSet()
"""Every device object that there is."""

scopes: contextvars.ContextVar[tuple[Device, ...]] = contextvars.ContextVar("scopes", default=())
"""The devices of the ``with`` statements around, the innermost last."""
