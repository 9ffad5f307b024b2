"""The devices of this process: those that work, the default, and how a caller names one."""

from __future__ import annotations

import atexit
import copyreg
import os
import threading
from collections.abc import Callable
from typing import Any

import pyopencl as cl

from portarray.clarray.errors import DeviceNotFunctionalError
from portarray.clarray.runtime import discovery, probe
from portarray.clarray.runtime.device import Device, scopes
from portarray.clarray.runtime.pool import Memory

_looking = threading.RLock()
_devices: tuple[Device, ...] | None = None
_ahead: dict[cl.Device, Device] = {}  # those that :func:`first` found
_first: Device | None = None


def devices() -> tuple[Device, ...]:
    """Return every functional OpenCL device, best first.

    On each a kernel was built, ran and gave the right result; :func:`reasons` says why others are
    missing. ``CLARRAY_MEMORY=discrete`` in the environment treats each as one with its own memory.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> best = cl.devices()[0]
    >>> x = cl.ones(4, dtype=cl.float32, device=best)
    >>> x.device is best, best.index
    (True, 0)
    """
    global _devices
    found = _devices
    if found is None:
        with _looking:
            if _devices is None:
                _devices = _look()
            found = _devices
    return found


def first(wanted: Callable[[cl.Device], bool]) -> Device | None:
    """Return the best functional device of those wanted; no other one is tried, nor opened."""
    with _looking:
        if _devices is not None:
            return next((one for one in _devices if wanted(one.native)), None)
        for native in filter(wanted, discovery.candidates()):
            if native in _ahead:
                return _ahead[native]
            here = probe.begin_here(native)
            device = _opened(native, "" if here else probe.refusals_of([native])[0])
            if isinstance(device, Device):
                if here:
                    probe.passed(native)
                _ahead[native] = device
                return device
    return None


def _look() -> tuple[Device, ...]:
    natives = discovery.candidates()
    new = [native for native in natives if native not in _ahead]
    refusals = dict(zip(new, probe.refusals_of(new), strict=True))
    found: list[Device] = []
    for native in natives:
        device = _ahead[native] if native in _ahead else _opened(native, refusals[native])
        if isinstance(device, Device):
            device.index = len(found)
            found.append(device)
        else:
            discovery.refuse(discovery.title(native), device)
    return tuple(found)


def _opened(native: cl.Device, refusal: str) -> Device | str:
    """Return a device that works, or the reason why it does not."""
    memory_kind = os.environ.get("CLARRAY_MEMORY", "")
    if memory_kind not in ("", "discrete"):
        raise ValueError(
            f"CLARRAY_MEMORY={memory_kind!r}: it may be 'discrete', which treats every device as "
            f"one with memory of its own, or not set"
        )
    if refusal:
        return refusal
    try:
        device = Device(native, -1, discrete=memory_kind == "discrete")
        reason = probe.check(device)
    except Exception as error:  # noqa: BLE001 - a driver may raise anything; it is reported
        return probe.reason_of(error)
    if reason:
        return reason
    # A driver that is unloaded while its threads compute may crash.
    atexit.register(device.finish)
    return device


def reasons() -> dict[str, str]:
    """Return why platforms, devices and drivers' entries cannot be used, by their names.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> refused = [f"{name}: {reason}" for name, reason in cl.reasons().items()]
    >>> all(cl.reasons().values())  # nothing is refused without a reason
    True
    """
    devices()
    return discovery.refusals()


def default_device() -> Device:
    """Return the device of new arrays: that of the innermost ``with device:``, else the default.

    The default is named by the environment's ``CLARRAY_DEVICE``, an index or part of the name of a
    platform or device, or is the first functional one.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> last = cl.devices()[-1]
    >>> with last:
    ...     x = cl.ones(3)
    ...     cl.default_device() is x.device is last
    True
    """
    global _first
    entered = scopes.get()
    if entered:
        return entered[-1]
    if _first is None:
        _first = _chosen()
    return _first


def _chosen() -> Device:
    every = devices()
    given = os.environ.get("CLARRAY_DEVICE", "").strip()
    why_not = reasons()
    why = "".join(f"; {name}: {reason}" for name, reason in why_not.items())
    if not every:
        raise DeviceNotFunctionalError(f"no OpenCL device can be used{why}", why_not)
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
        why_not,
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
                f"there is no OpenCL device {device}; there are {len(every)}", reasons()
            )
        return every[device]
    if isinstance(device, cl.Device):
        for one in devices():
            if one.native == device:
                return one
        raise DeviceNotFunctionalError(
            f"{discovery.title(device)} is not among the functional devices", reasons()
        )
    raise TypeError(
        f"a device is None, a clarray device, its index or a pyopencl.Device, got {device!r}"
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
    """Return memory without arrays to the system; waits for running kernels.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> x = cl.zeros(1_000_000, dtype=cl.uint8)
    >>> del x
    >>> cl.memory().pooled >= 1_000_000  # kept for arrays to come
    True
    >>> cl.reclaim()
    >>> cl.memory().pooled < 1_000_000
    True
    """
    device_of(device).pool.reclaim()


def reduced(device: Device) -> tuple[Any, ...]:
    """Return the arguments of pickle: a device's index."""
    every = devices()
    if device.index >= len(every) or every[device.index] is not device:
        raise TypeError(f"{device!r} is none of clarray.devices(), so it cannot be pickled")
    return device_of, (device.index,)


copyreg.pickle(Device, reduced)
