"""Virtual devices: registration, the current device, and memory use."""

from __future__ import annotations

import os
import re
import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import replace

from portarray.errors import DeviceNotFunctionalError
from portarray.testing.virtual.traits import Traits, preset, presets

__all__ = [
    "VirtualDevice",
    "VirtualMemoryError",
    "add",
    "live",
    "count_of",
    "probing",
    "remove",
]

VARIABLE = "PORTARRAY_VIRTUAL"


class VirtualMemoryError(MemoryError):
    """An allocation exceeds the memory of a virtual device."""

    def __init__(self, device: VirtualDevice, nbytes: int) -> None:
        super().__init__(
            f"out of memory allocating {nbytes:,} bytes on {device}: {device.used:,} of "
            f"{device.traits.memory:,} bytes are used"
        )
        self.requested = nbytes


class VirtualDevice:
    """The native device object of a virtual device; as a context manager, makes it current.

    Parameters
    ----------
    platform : str
        The emulated platform.
    index : int
        The device's index.
    traits : Traits
        The device's properties.

    Attributes
    ----------
    calls : int
        Number of calls on it.
    used, peak : int
        Bytes of memory in use, now and at peak.
    failure : Exception or None
        The error to raise on the next synchronization.
    """

    def __init__(self, platform: str, index: int, traits: Traits) -> None:
        self.platform = platform
        self.index = index
        self.together: tuple[VirtualDevice, ...] = (self,)
        self._currents = _Currents()
        self.life = 0  # arrays that outlive a block have an older life
        self.renew(traits)

    def renew(self, traits: Traits) -> None:
        """Reset the device."""
        self.traits = traits
        self.life += 1
        self.alive = True
        self.used = self.peak = self.calls = 0
        self.failure: Exception | None = None

    @property
    def is_current(self) -> bool:
        """Whether the device is the current one of its block in this thread."""
        return self._currents.of(self) is self

    @property
    def current(self) -> VirtualDevice:
        """The current device of the block."""
        return self._currents.of(self)

    def called(self, name: str, *, entered: bool = False) -> None:
        """Count a call; ``entered`` if it enters the device itself.

        Raises
        ------
        DeviceNotFunctionalError
            If the device was removed.
        ValueError
            If another device is current.
        AssertionError
            If there are too many calls.
        """
        self.check_alive(self.life)
        if self.traits.current and not entered and not self.is_current:
            raise ValueError(
                f"{name}: an array is on {self}, but {self.current} is the current virtual device\n"
                f"Hint: enter it, `with x.device:` of the native array x, or call portarray's "
                f"functions"
            )
        if _probe.runs:
            return
        self.calls += 1
        most = self.traits.launches
        if most is not None and self.calls > most:
            raise AssertionError(
                f"{name}: call {self.calls} on {self}, a virtual device with launches={most}\n"
                f"Hint: use functions of whole arrays instead of loops over elements"
            )

    def check_alive(self, life: int) -> None:
        """Raise DeviceNotFunctionalError if the device, or an array's life of it, has ended."""
        if not self.alive or life != self.life:
            raise DeviceNotFunctionalError(
                str(self),
                {str(self): "a virtual device is removed when its block ends, its arrays with it"},
                "Copy what is needed afterwards in the block: x.to_device('cpu').",
            )

    def allocate(self, nbytes: int) -> int:
        """Allocate memory and return how many bytes to free later.

        Raises
        ------
        VirtualMemoryError
            If there is not enough.
        """
        if _probe.runs:
            return 0
        memory = self.traits.memory
        if memory is not None and self.used + nbytes > memory:
            raise VirtualMemoryError(self, nbytes)
        self.used += nbytes
        self.peak = max(self.peak, self.used)
        return nbytes

    def free(self, nbytes: int, life: int) -> None:
        """Free memory; that of an earlier life is free already."""
        if life == self.life:
            self.used -= nbytes

    def wait(self) -> None:
        """Raise a pending failure once; called before values are read."""
        failure, self.failure = self.failure, None
        if failure is not None:
            raise failure

    def __enter__(self) -> VirtualDevice:
        self._currents.stack.append(self)
        return self

    def __exit__(self, *_: object) -> None:
        self._currents.stack.pop()

    def __str__(self) -> str:
        return f"virtual:{self.platform}:{self.index}"

    def __repr__(self) -> str:
        return f"VirtualDevice({str(self)!r})"


class _Currents(threading.local):
    """The devices of a block that a thread has entered."""

    def __init__(self) -> None:
        self.stack: list[VirtualDevice] = []

    def of(self, device: VirtualDevice) -> VirtualDevice:
        return self.stack[-1] if self.stack else device.together[0]


class _Probe(threading.local):
    """Whether the current thread probes a device, which is not counted."""

    runs = False


_probe = _Probe()


@contextmanager
def probing() -> Iterator[None]:
    """Do not count or refuse calls in a block."""
    _probe.runs = True
    try:
        yield
    finally:
        _probe.runs = False


_lock = threading.Lock()
_live: dict[tuple[str, int], VirtualDevice] = {}
_removed: dict[tuple[str, tuple[int, ...], Traits], tuple[VirtualDevice, ...]] = {}
"""Removed devices by platform, indices and traits, reused because caches refer to them."""
_variable_read: list[str] = []  # the variable, after it was read


def add(platform: str, count: int, traits: Traits) -> tuple[VirtualDevice, ...]:
    """Create the devices of a block with the lowest free indices."""
    from_environment()
    with _lock:
        return _add(platform, count, traits)


def _add(platform: str, count: int, traits: Traits) -> tuple[VirtualDevice, ...]:
    free = (index for index in range(len(_live) + count) if (platform, index) not in _live)
    indices = tuple(index for index, _ in zip(free, range(count), strict=False))
    key = (platform, indices, replace(traits, memory=None, launches=None))
    devices = _removed.get(key)
    if devices is None:
        devices = tuple(VirtualDevice(platform, index, traits) for index in indices)
        for device in devices:
            device.together, device._currents = devices, devices[0]._currents
        _removed[key] = devices
    else:
        for device in devices:
            device.renew(traits)
    _live.update({(platform, device.index): device for device in devices})
    return devices


def remove(devices: Iterable[VirtualDevice]) -> None:
    """Remove devices; their arrays become invalid."""
    with _lock:
        for device in devices:
            device.alive = False
            del _live[device.platform, device.index]


def live() -> bool:
    """Return whether any device exists."""
    return bool(_live)


def count_of(platform: str) -> int:
    """Return the highest index of a platform's devices, plus 1."""
    from_environment()
    return max((index + 1 for kind, index in list(_live) if kind == platform), default=0)


def default() -> VirtualDevice:
    """Return the default device: the current one of the last block."""
    return next(reversed(list(_live.values()))).current


def find(platform: str, index: int) -> VirtualDevice:
    """Return a device.

    Raises
    ------
    LookupError
        If it does not exist.
    """
    device = _live.get((platform, index))
    if device is None:
        raise LookupError(f"virtual:{platform}:{index} does not exist")
    return device


def from_environment() -> None:
    """Create the devices of the environment variable, once.

    Raises
    ------
    ValueError
        If it is not a list of ``platform`` or ``platform:count`` separated by commas.
    """
    if _variable_read:
        return
    requests = []
    for word in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        match = re.fullmatch(r"(?:virtual:)?([a-z]+)(?::([1-9][0-9]*))?", word)
        if match is None or match[1] not in presets():
            raise ValueError(
                f"{VARIABLE}: {word!r} is not a platform ({', '.join(presets())}), optionally with "
                f"a number of devices\nHint: write, for example, 'cuda:2,metal'"
            )
        requests.append((match[1], int(match[2] or 1)))
    with _lock:
        if not _variable_read:
            for platform, count in requests:
                _add(platform, count, preset(platform))
            _variable_read.append("")
