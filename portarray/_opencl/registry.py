"""The functional OpenCL devices of this process."""

from __future__ import annotations

import atexit
import copyreg
import os
import threading
from collections.abc import Callable
from typing import Any

import pyopencl as cl

from portarray._opencl import discovery, forking, probe
from portarray._opencl.device import Device
from portarray._opencl.errors import DeviceNotFunctionalError

_lock = threading.RLock()
_devices: tuple[Device, ...] | None = None
_opened: dict[cl.Device, Device] = {}  # by `first`, before all devices


def devices() -> tuple[Device, ...]:
    """Return every functional OpenCL device, best first.

    A kernel was built on each, ran and returned the right result; :func:`reasons` explains why
    other devices are missing. If ``CLARRAY_MEMORY`` is ``discrete`` in the environment, every
    device is treated as having separate memory.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> best = cl.devices()[0]
    >>> x = cl.ones(4, dtype=cl.float32, device=best)
    >>> x.device is best, best.index
    (True, 0)
    """
    global _devices
    if _devices is None:
        with _lock:
            if _devices is None:
                _devices = _open_all()
    return _devices


def first(accepts: Callable[[cl.Device], bool]) -> Device | None:
    """Return the best functional device that is accepted, without opening any other."""
    with _lock:
        if _devices is not None:
            return next((device for device in _devices if accepts(device.native)), None)
        for native in filter(accepts, discovery.candidates()):
            if native in _opened:
                return _opened[native]
            in_process = probe.begin_in_process(native)
            device = _open(native, "" if in_process else probe.refusals_of([native])[0])
            if isinstance(device, Device):
                if in_process:
                    probe.record_success(native)
                _opened[native] = device
                return device
    return None


def _open_all() -> tuple[Device, ...]:
    natives = discovery.candidates()
    unopened = [native for native in natives if native not in _opened]
    refusals = dict(zip(unopened, probe.refusals_of(unopened), strict=True))
    functional: list[Device] = []
    for native in natives:
        device = _opened[native] if native in _opened else _open(native, refusals[native])
        if isinstance(device, Device):
            device.index = len(functional)
            functional.append(device)
        else:
            discovery.refuse(discovery.title(native), device)
    return tuple(functional)


def _open(native: cl.Device, refusal: str) -> Device | str:
    """Return a functional device, or the reason why it cannot be used."""
    memory_kind = os.environ.get("CLARRAY_MEMORY", "")
    if memory_kind not in ("", "discrete"):
        raise ValueError(
            f"CLARRAY_MEMORY={memory_kind!r} is not supported\nHint: unset it, or set it to "
            f"'discrete', which treats every device as having separate memory"
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
    # A driver unloaded while its threads compute may crash.
    atexit.register(device.finish)
    return device


def device_at(index: int) -> Device:
    """Return the device with an index."""
    every = devices()
    if not 0 <= index < len(every):
        raise DeviceNotFunctionalError(
            f"there is no OpenCL device {index}; there are {len(every)}", reasons()
        )
    return every[index]


def reasons() -> dict[str, str]:
    """Return why platforms, devices and driver entries cannot be used, by name.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> refused = [f"{name}: {reason}" for name, reason in cl.reasons().items()]
    >>> all(cl.reasons().values())  # every entry has a reason
    True
    """
    devices()
    return discovery.refusals()


def _reduce(device: Device) -> tuple[Any, ...]:
    """Return pickle's constructor and its arguments."""
    every = devices()
    if device.index >= len(every) or every[device.index] is not device:
        raise TypeError(f"cannot pickle {device!r}, which is not in clarray.devices()")
    return device_at, (device.index,)


forking.install()
for _class in (Device, forking.ForkedDevice):
    copyreg.pickle(_class, _reduce)
