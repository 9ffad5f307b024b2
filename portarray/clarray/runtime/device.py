"""Devices: one OpenCL device with its context, its queue, its memory and its programs."""

from __future__ import annotations

import atexit
import contextvars
import os
import threading
import weakref
from collections.abc import Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Literal

import numpy as np
import pyopencl as cl

from portarray.clarray.dtypes import ALL, cl_type
from portarray.clarray.errors import DeviceNotFunctionalError
from portarray.clarray.runtime import discovery, faults, probe
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

    def __reduce__(self) -> tuple[Any, ...]:
        every = devices()
        if self.index >= len(every) or every[self.index] is not self:
            raise TypeError(f"{self!r} is none of clarray.devices(), so it cannot be pickled")
        return device_of, (self.index,)

    def __copy__(self) -> Device:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Device:
        return self

    def __enter__(self) -> Device:
        _scopes.set((*_scopes.get(), self))
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        _scopes.set(_scopes.get()[:-1])

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

_scopes: contextvars.ContextVar[tuple[Device, ...]] = contextvars.ContextVar("scopes", default=())
_looking = threading.RLock()
_devices: tuple[Device, ...] | None = None
_first: Device | None = None


def devices() -> tuple[Device, ...]:
    """Return every functional OpenCL device, best first.

    Functional means that a kernel was built, ran and gave the right result.
    :func:`~portarray.clarray.reasons` says why others are not among them.
    ``CLARRAY_MEMORY=discrete`` in the environment treats each as a device with memory of its own.
    """
    global _devices
    found = _devices
    if found is None:
        with _looking:
            if _devices is None:
                _devices = _look()
            found = _devices
    return found


def _look() -> tuple[Device, ...]:
    memory_kind = os.environ.get("CLARRAY_MEMORY", "")
    if memory_kind not in ("", "discrete"):
        raise ValueError(
            f"CLARRAY_MEMORY={memory_kind!r}: it may be 'discrete', which treats every device as "
            f"one with memory of its own, or not set"
        )
    natives = discovery.candidates()
    found: list[Device] = []
    for native, refusal in zip(natives, probe.tried(natives), strict=True):
        reason = refusal
        if not reason:
            try:
                device = Device(native, len(found), discrete=memory_kind == "discrete")
                reason = probe.check(device)
            except Exception as error:  # noqa: BLE001 - a driver may raise anything; it is told
                reason = probe.reason_of(error)
        if reason:
            discovery.refuse(discovery.title(native), reason)
        else:
            found.append(device)
            # A driver that is unloaded while its threads compute may end the process badly.
            atexit.register(device.finish)
    return tuple(found)


def default_device() -> Device:
    """Return the device that arrays are made on where none is named.

    That of the innermost ``with device:``, else ``CLARRAY_DEVICE`` from the environment (an index,
    or part of a platform's or device's name), else the first functional one.
    """
    global _first
    scopes = _scopes.get()
    if scopes:
        return scopes[-1]
    if _first is None:
        _first = _chosen()
    return _first


def _chosen() -> Device:
    every = devices()
    given = os.environ.get("CLARRAY_DEVICE", "").strip()
    reasons = discovery.reasons()
    why = "".join(f"; {name}: {reason}" for name, reason in reasons.items())
    if not every:
        raise DeviceNotFunctionalError(f"no OpenCL device can be used{why}", reasons)
    if not given:
        return every[0]
    if given.isdecimal():
        if int(given) < len(every):
            return every[int(given)]
    else:
        for one in every:
            if given.lower() in f"{one.platform_name}\n{one.name}".lower():
                return one
    there = ", ".join(f"{one.index}: {one.name} ({one.platform_name})" for one in every)
    raise DeviceNotFunctionalError(
        f"CLARRAY_DEVICE={given!r} is no device; give an index or part of a name of {there}{why}",
        reasons,
    )


def device_of(device: object = None) -> Device:
    """Return a device from None (the default), a :class:`Device`, an index or a pyopencl device."""
    if device is None:
        return default_device()
    if isinstance(device, Device):
        return device
    if isinstance(device, int) and not isinstance(device, bool):
        every = devices()
        if not 0 <= device < len(every):
            raise DeviceNotFunctionalError(
                f"there is no OpenCL device {device}; there are {len(every)}", discovery.reasons()
            )
        return every[device]
    if isinstance(device, cl.Device):
        for one in devices():
            if one.native == device:
                return one
        raise DeviceNotFunctionalError(
            f"{discovery.title(device)} is not among the functional devices", discovery.reasons()
        )
    raise TypeError(
        f"a device is None, a clarray device, its index or a pyopencl.Device, got {device!r}"
    )


def synchronize(device: object = None) -> None:
    """Wait until everything enqueued on a device is done."""
    device_of(device).finish()


def memory(device: object = None) -> Memory:
    """Return a device's memory figures, in bytes."""
    return device_of(device).memory()


def reclaim(device: object = None) -> None:
    """Give memory that no array lies in back to the system; waits for running kernels."""
    device_of(device).pool.reclaim()
