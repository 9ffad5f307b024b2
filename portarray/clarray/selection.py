"""The default device, devices named by callers, and functions of one device."""

from __future__ import annotations

import os

import pyopencl as cl

from portarray._opencl import discovery
from portarray._opencl.device import Device, scopes
from portarray._opencl.errors import DeviceNotFunctionalError
from portarray._opencl.pool import Memory
from portarray._opencl.registry import device_at, devices, reasons

_default: Device | None = None


def default_device() -> Device:
    """Return the device of new arrays: the innermost ``with device:``, else the default.

    ``CLARRAY_DEVICE`` in the environment names the default by index, or by part of the name of a
    platform or device; otherwise it is the first functional device.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> last = cl.devices()[-1]
    >>> with last:
    ...     x = cl.ones(3)
    ...     cl.default_device() is x.device is last
    True
    """
    global _default
    entered = scopes.get()
    if entered:
        return entered[-1]
    if _default is None:
        _default = _find_default()
    return _default


def _find_default() -> Device:
    every = devices()
    name = os.environ.get("CLARRAY_DEVICE", "").strip()
    refusals = reasons()
    details = "".join(f"; {device}: {reason}" for device, reason in refusals.items())
    if not every:
        raise DeviceNotFunctionalError(f"no OpenCL device can be used{details}", refusals)
    if not name:
        return every[0]
    if name.isdecimal():
        if int(name) < len(every):
            return every[int(name)]
    else:
        for device in every:
            if name.lower() in f"{device.platform_name}\n{device.name}".lower():
                return device
    available = ", ".join(
        f"{candidate.index}: {candidate.name} ({candidate.platform_name})" for candidate in every
    )
    raise DeviceNotFunctionalError(
        f"CLARRAY_DEVICE={name!r} does not name a device{details}\n"
        f"Hint: set it to an index or part of a name of {available}",
        refusals,
    )


def device_of(device: object = None) -> Device:
    """Return a device from None (the default), a :class:`Device`, an index or a pyopencl device."""
    if device is None:
        return default_device()
    if isinstance(device, Device):
        return device
    if isinstance(device, int) and not isinstance(device, bool):
        return device_at(device)
    if isinstance(device, cl.Device):
        for functional in devices():
            if functional.native == device:
                return functional
        raise DeviceNotFunctionalError(
            f"{discovery.title(device)} is not one of the functional devices", reasons()
        )
    raise TypeError(
        f"device must be None, a clarray device, its index or a pyopencl.Device, got {device!r}"
    )


def synchronize(device: object = None) -> None:
    """Wait until everything enqueued on a device is done.

    Examples
    --------
    >>> import time
    >>> from portarray import clarray as cl
    >>> x = cl.ones((500, 500), dtype=cl.float32)
    >>> began = time.perf_counter()
    >>> y = x @ x  # returns when the kernel is enqueued
    >>> cl.synchronize(x.device)
    >>> seconds = time.perf_counter() - began
    """
    device_of(device).finish()


def memory(device: object = None) -> Memory:
    """Return a device's memory figures, in bytes.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> x = cl.zeros(1_000_000, dtype=cl.uint8)
    >>> figures = cl.memory(x.device)
    >>> figures.used >= 1_000_000, figures.free < figures.total
    (True, True)
    """
    return device_of(device).memory()


def reclaim(device: object = None) -> None:
    """Wait for running kernels and return memory without arrays to the system.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> x = cl.zeros(1_000_000, dtype=cl.uint8)
    >>> del x
    >>> cl.memory().pooled >= 1_000_000  # reused by later arrays
    True
    >>> cl.reclaim()
    >>> cl.memory().pooled < 1_000_000
    True
    """
    device_of(device).pool.reclaim()
