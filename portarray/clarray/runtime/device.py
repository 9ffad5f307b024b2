"""Devices: one OpenCL device with its context, its queue, its memory and its programs."""

from __future__ import annotations

import contextvars
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal

import numpy as np
import pyopencl as cl

from portarray.clarray.dtypes import ALL, cl_type
from portarray.clarray.errors import DeviceNotFunctionalError
from portarray.clarray.runtime import discovery
from portarray.clarray.runtime.pool import Pool
from portarray.clarray.runtime.programs import Kernel, Programs

__all__ = ["Device", "Traits", "default_device", "device_of", "devices"]


@dataclass(frozen=True, slots=True)
class Traits:
    """What kernels are chosen by.

    Parameters
    ----------
    host_memory : bool
        Whether the device computes in host memory.
    local_memory : bool
        Whether work-groups share fast memory, so that reductions and transposes go through it.
    group : int
        Work-items of a group, where the skeleton does not fix them.
    units : int
        Compute units: how many groups keep the device busy.
    """

    host_memory: bool
    local_memory: bool
    group: int
    units: int


class Device:
    """One OpenCL device; there is one object for each, so that ``is`` compares them.

    Attributes
    ----------
    index : int
        Place in :func:`devices`.
    name, platform_name : str
        What the driver calls the device and its platform.
    kind : {"cpu", "gpu", "accelerator"}
        What it is.
    dtypes : frozenset of numpy.dtype
        What it has.
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
        )
        self.host_memory = on_host
        self.context = cl.Context([native])
        self.queue = cl.CommandQueue(self.context)
        self.lock = threading.RLock()
        self.pending = False
        self.pool = Pool(self)
        self.programs = Programs(self)

    def __repr__(self) -> str:
        return f"<clarray device {self.index}: {self.name} ({self.platform_name})>"

    def __reduce__(self) -> tuple[Any, ...]:
        return device_of, (self.index,)

    def finish(self) -> None:
        """Wait for everything enqueued so far."""
        if self.pending:
            with self.lock:
                self.pending = False
                self.queue.finish()

    def kernel(
        self,
        source: str,
        name: str,
        buffers: int,
        values: Sequence[Any] = (),
        options: tuple[str, ...] = (),
    ) -> Kernel:
        """Return a kernel, built or from the cache.

        Parameters
        ----------
        source : str
            The program's text without ``kernels/types.cl``, which every program begins with.
        name : str
            The kernel's name in it.
        buffers : int
            How many buffers its parameters begin with.
        values : sequence of dtype
            The dtypes of the by-value parameters after them.
        options : tuple of str
            Build options such as ``"-DWIDTH=4"``.
        """
        return self.programs.kernel(source, name, buffers, tuple(map(np.dtype, values)), options)


@lru_cache(maxsize=None)
def devices() -> tuple[Device, ...]:
    """Return every functional OpenCL device, best first."""
    return tuple(Device(native, index) for index, native in enumerate(discovery.functional()))


_default: contextvars.ContextVar[Device | None] = contextvars.ContextVar("default", default=None)


def default_device() -> Device:
    """Return the device that arrays are made on where none is named: the first functional one.

    Raises
    ------
    DeviceNotFunctionalError
        If there is none; it says why.
    """
    found = _default.get()
    if found is not None:
        return found
    every = devices()
    if not every:
        reasons = discovery.reasons()
        raise DeviceNotFunctionalError(
            "no OpenCL device can be used: "
            + "; ".join(f"{name}: {reason}" for name, reason in reasons.items()),
            reasons,
        )
    return every[0]


def device_of(device: object = None) -> Device:
    """Return a device from None (the default), a :class:`Device`, an index or a pyopencl device.

    Raises
    ------
    DeviceNotFunctionalError
        If there is no such device.
    TypeError
        If it is nothing that names a device.
    """
    if device is None:
        return default_device()
    if isinstance(device, Device):
        return device
    if isinstance(device, int):
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
            f"{device} is not among the functional devices", discovery.reasons()
        )
    raise TypeError(
        f"a device is None, a clarray device, its index or a pyopencl.Device, got {device!r}"
    )
