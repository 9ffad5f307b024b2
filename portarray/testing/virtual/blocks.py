"""``virtual_devices``: blocks in which there are virtual devices."""

from __future__ import annotations

import threading
from collections.abc import Collection
from contextlib import ContextDecorator
from typing import Any, NamedTuple

from portarray._array import host_fallback
from portarray._devices import discovery, selection
from portarray._devices.device import Device
from portarray.backends import registry
from portarray.testing.virtual import INFO, machine
from portarray.testing.virtual.machine import VirtualDevice
from portarray.testing.virtual.traits import Traits, preset

__all__ = ["VirtualDevices", "virtual_devices"]


class _Wanted(NamedTuple):
    platform: str
    number: int
    traits: Traits


class VirtualDevices(ContextDecorator):
    """A block, or a function that it decorates, in which there are virtual devices."""

    def __init__(self, wanted: tuple[_Wanted, ...]) -> None:
        self._wanted = wanted
        self._made: list[tuple[list[VirtualDevice], list[Device]]] = []

    def _recreate_cm(self) -> VirtualDevices:
        return VirtualDevices(self._wanted)

    def __enter__(self) -> tuple[Device, ...]:
        natives: list[VirtualDevice] = []
        devices: list[Device] = []
        try:
            for wanted in self._wanted:
                natives += _add(*wanted)
            devices += map(_device, natives)
        except BaseException:
            _remove(natives, devices)
            raise
        self._made.append((natives, devices))
        return tuple(devices)

    def __exit__(self, *_: object) -> None:
        _remove(*self._made.pop())


def virtual_devices(
    *platforms: str,
    count: int = 1,
    float64: bool | None = None,
    int64: bool | None = None,
    immutable: bool | None = None,
    assignment: bool | None = None,
    host_readable: bool | None = None,
    current: bool | None = None,
    late: bool | None = None,
    memory: int | None = None,
    dynamic_shapes: bool | None = None,
    launches: int | None = None,
    host_functions: Collection[str] | None = None,
) -> VirtualDevices:
    """Return a block in which there are virtual devices.

    They compute with NumPy and refuse what real devices refuse. Only texts that begin with
    ``virtual`` mean them, and they are removed at the end of the block. Blocks may be nested and
    used in several threads: each has devices of its own, of the lowest indices that are free.

    Parameters
    ----------
    *platforms : str
        What they stand for, of :func:`presets`; ``"cuda"`` if none is named. What a device has and
        refuses is what the library declares that portarray prefers there; the other arguments
        change it.
    count : int
        How many devices of each platform.
    float64, int64 : bool, optional
        Whether there are float64 and complex128, and int64 and uint64.
    immutable : bool, optional
        Whether native arrays are immutable.
    assignment : bool, optional
        Whether ``x[key] = value`` is allowed on :class:`portarray.Array`. It works on immutable
        native arrays, too, by a new one in its place; False refuses it, for code that is to work
        with JAX's own arrays.
    host_readable : bool, optional
        Whether memory is the host's, which NumPy reads.
    current : bool, optional
        Whether native functions refuse arrays of another device than the current one. portarray's
        functions enter each array's device.
    late : bool, optional
        Whether errors that depend on values, such as those of singular matrices and of indices out
        of bounds, are raised when the device is waited for.
    memory : int, optional
        Bytes of memory of each device; without it as much as the host has.
    dynamic_shapes : bool, optional
        Whether ``nonzero``, ``unique_*`` and boolean masks work, whose results have shapes that
        depend on values.
    launches : int, optional
        How many functions may be called on each device, of which an AssertionError is raised: a
        loop over elements calls one for each. ``device.native.calls`` is the count.
    host_functions : collection of str, optional
        Functions of the standard that the host computes, as where a library lacks them.

    Returns
    -------
    VirtualDevices
        A context manager, which yields a tuple of devices, and a decorator.

    Raises
    ------
    ValueError, TypeError
        If a platform is not known, or a value makes no sense.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> from portarray.testing import virtual_devices
    >>> with virtual_devices("cuda", count=2) as (first, second):
    ...     x = pa.ones(3, device=second)
    ...     print(x + x)
    ...     try:
    ...         np.asarray(x)
    ...     except TypeError as error:
    ...         print(str(error).partition(";")[0])
    [2. 2. 2.]
    NumPy cannot read the memory of virtual:cuda:1
    """
    if type(count) is not int or count < 1:
        raise ValueError(f"count={count!r}: use a number of devices, 1 or more")
    given: dict[str, Any] = {
        "float64": float64,
        "int64": int64,
        "immutable": immutable,
        "assignment": assignment,
        "host_readable": host_readable,
        "current": current,
        "late": late,
        "memory": memory,
        "dynamic_shapes": dynamic_shapes,
        "launches": launches,
        "host_functions": host_functions,
    }
    changes = {name: value for name, value in given.items() if value is not None}
    return VirtualDevices(
        tuple(_Wanted(name, count, preset(name, **changes)) for name in platforms or ("cuda",))
    )


_lock = threading.Lock()
"""Held while devices come or leave, so that none takes the place of one that is leaving."""
_devices: dict[VirtualDevice, Device] = {}  # kept, as the native ones are


def _add(platform: str, number: int, traits: Traits) -> tuple[VirtualDevice, ...]:
    with _lock:
        made = machine.add(platform, number, traits)
        registry.add_backend(INFO.module)
        known = [_devices[native] for native in made if native in _devices]
        discovery.change(INFO.library, platform, added=known)
    return made


def _device(native: VirtualDevice) -> Device:
    found = discovery.get_device(INFO.library, native.platform, native.index)
    return _devices.setdefault(native, found)


def _remove(natives: list[VirtualDevice], devices: list[Device]) -> None:
    with _lock:
        machine.remove(natives)
        for platform in {native.platform for native in natives}:
            left = [device for device in devices if device.platform == platform]
            discovery.change(INFO.library, platform, removed=left)
        for device in devices:
            selection.forget_device(device)
            host_fallback.forget_warnings(device)
        if not machine.live():
            registry.remove_backend(INFO.library)
