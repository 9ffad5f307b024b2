"""``virtual_devices``: context managers that create virtual devices."""

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


class _Request(NamedTuple):
    platform: str
    n_devices: int
    traits: Traits


class VirtualDevices(ContextDecorator):
    """A context manager and decorator that creates virtual devices."""

    def __init__(self, requests: tuple[_Request, ...]) -> None:
        self._requests = requests
        self._entered: list[tuple[list[VirtualDevice], list[Device]]] = []

    def _recreate_cm(self) -> VirtualDevices:
        return VirtualDevices(self._requests)

    def __enter__(self) -> tuple[Device, ...]:
        natives: list[VirtualDevice] = []
        devices: list[Device] = []
        try:
            for request in self._requests:
                natives += _add(*request)
            devices += map(_device, natives)
        except BaseException:
            _remove(natives, devices)
            raise
        self._entered.append((natives, devices))
        return tuple(devices)

    def __exit__(self, *_: object) -> None:
        _remove(*self._entered.pop())


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
    """Return a context manager that creates virtual devices.

    Virtual devices compute with NumPy and have the restrictions of real devices. Their texts begin
    with ``virtual``, and they are removed at the end of the block. Blocks may be nested and used in
    several threads: each creates devices with the lowest free indices.

    Parameters
    ----------
    *platforms : str
        The emulated platforms, from :func:`presets`; ``"cuda"`` by default. A device has the traits
        of the library that portarray prefers on the platform, unless other arguments change them.
    count : int
        Number of devices of each platform.
    float64, int64 : bool, optional
        Whether the device has float64 and complex128, and int64 and uint64.
    immutable : bool, optional
        Whether native arrays are immutable.
    assignment : bool, optional
        Whether ``x[key] = value`` is allowed on :class:`portarray.Array`. By default it replaces an
        immutable native array by a new one; False refuses it, for code that must also work with
        JAX's arrays.
    host_readable : bool, optional
        Whether NumPy can read the memory.
    current : bool, optional
        Whether native functions refuse arrays on another than the current device. portarray's
        functions enter each array's device.
    late : bool, optional
        Whether errors that depend on values, such as singular matrices and indices out of bounds,
        are raised on synchronization.
    memory : int, optional
        Bytes of memory of each device; unlimited by default.
    dynamic_shapes : bool, optional
        Whether ``nonzero``, ``unique_*`` and boolean masks work, whose result shapes depend on
        values.
    launches : int, optional
        Maximum number of calls on each device; more raise an AssertionError, for example a loop
        over elements. ``device.native.calls`` is the count.
    host_functions : collection of str, optional
        Functions of the standard that are computed on the host, as for a library without them.

    Returns
    -------
    VirtualDevices
        A context manager, which yields a tuple of devices, and a decorator.

    Raises
    ------
    ValueError, TypeError
        If a platform is unknown or a value is invalid.

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
    ...         print(str(error).splitlines()[0])
    [2. 2. 2.]
    NumPy cannot read the memory of virtual:cuda:1
    """
    if type(count) is not int or count < 1:
        raise ValueError(f"virtual_devices: count={count!r} is not a positive int")
    options: dict[str, Any] = {
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
    changes = {name: value for name, value in options.items() if value is not None}
    return VirtualDevices(
        tuple(_Request(name, count, preset(name, **changes)) for name in platforms or ("cuda",))
    )


_lock = threading.Lock()
"""Held while devices are added or removed, so that a new one cannot reuse an index too early."""
_devices: dict[VirtualDevice, Device] = {}  # kept, as the native ones are


def _add(platform: str, count: int, traits: Traits) -> tuple[VirtualDevice, ...]:
    with _lock:
        natives = machine.add(platform, count, traits)
        registry.add_backend(INFO.module)
        devices = [_devices[native] for native in natives if native in _devices]
        discovery.change(INFO.library, platform, added=devices)
    return natives


def _device(native: VirtualDevice) -> Device:
    device = discovery.get_device(INFO.library, native.platform, native.index)
    return _devices.setdefault(native, device)


def _remove(natives: list[VirtualDevice], devices: list[Device]) -> None:
    with _lock:
        machine.remove(natives)
        for platform in {native.platform for native in natives}:
            removed = [device for device in devices if device.platform == platform]
            discovery.change(INFO.library, platform, removed=removed)
        for device in devices:
            selection.forget_device(device)
            host_fallback.forget_warnings(device)
        if not machine.live():
            registry.remove_backend(INFO.library)
