"""Virtual devices: which there are, which is current, and how much of their memory is used."""

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
    "number_of",
    "probing",
    "remove",
]

VARIABLE = "PORTARRAY_VIRTUAL"


class VirtualMemoryError(MemoryError):
    """The memory of a virtual device does not suffice."""

    def __init__(self, device: VirtualDevice, asked: int) -> None:
        super().__init__(
            f"out of memory allocating {asked:,} bytes on {device}: {device.used:,} of "
            f"{device.traits.memory:,} bytes are used"
        )
        self.asked = asked


class VirtualDevice:
    """The native device object of a virtual device; a context in which it is the current one.

    Parameters
    ----------
    platform : str
        What it stands for.
    index : int
        Which one.
    traits : Traits
        What it refuses.

    Attributes
    ----------
    calls : int
        How many functions were called on it.
    used, peak : int
        Bytes of memory in use, now and at most.
    failure : Exception or None
        What is raised when the device is waited for next.
    """

    def __init__(self, platform: str, index: int, traits: Traits) -> None:
        self.platform = platform
        self.index = index
        self.together: tuple[VirtualDevice, ...] = (self,)
        self._currents = _Currents()
        self.life = 0  # of arrays that outlive a block this is another
        self.renew(traits)

    def renew(self, traits: Traits) -> None:
        """Start anew: nothing is used, counted or pending."""
        self.traits = traits
        self.life += 1
        self.alive = True
        self.used = self.peak = self.calls = 0
        self.failure: Exception | None = None

    @property
    def is_current(self) -> bool:
        """Whether the device is the current one of those made with it, in this thread."""
        return self._currents.of(self) is self

    @property
    def current(self) -> VirtualDevice:
        """The current one of the devices that were made together."""
        return self._currents.of(self)

    def called(self, name: str, *, entered: bool = False) -> None:
        """Note that a function is called; it enters the device itself where ``entered``.

        Raises
        ------
        DeviceNotFunctionalError
            If the device was removed.
        ValueError
            If another device is current.
        AssertionError
            If there were too many calls.
        """
        self.check_alive(self.life)
        if self.traits.current and not entered and not self.is_current:
            raise ValueError(
                f"{name} got an array on {self} while {self.current} is the current device (both "
                f"are virtual); enter it: `with x.device:` of the native array x, or call "
                f"portarray's functions, which do"
            )
        if _probe.runs:
            return
        self.calls += 1
        most = self.traits.launches
        if most is not None and self.calls > most:
            raise AssertionError(
                f"{name} is call number {self.calls} on {self}, a virtual device with "
                f"launches={most}: each call launches a kernel, and a loop over elements as many "
                f"as there are; use functions of whole arrays"
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
        """Take memory, and return how many bytes to give back.

        Raises
        ------
        VirtualMemoryError
            If there is not so much.
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
        """Give memory back; that of an earlier life is gone already."""
        if life == self.life:
            self.used -= nbytes

    def wait(self) -> None:
        """Raise what failed, once; called where values are read."""
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
    """The devices that a thread has entered, of those that were made together."""

    def __init__(self) -> None:
        self.stack: list[VirtualDevice] = []

    def of(self, device: VirtualDevice) -> VirtualDevice:
        return self.stack[-1] if self.stack else device.together[0]


class _Probe(threading.local):
    """Whether the running thread finds out whether a device functions, which costs it nothing."""

    runs = False


_probe = _Probe()


@contextmanager
def probing() -> Iterator[None]:
    """Count nothing and refuse nothing in a block."""
    _probe.runs = True
    try:
        yield
    finally:
        _probe.runs = False


_lock = threading.Lock()
_live: dict[tuple[str, int], VirtualDevice] = {}
_kept: dict[tuple[str, tuple[int, ...], Traits], tuple[VirtualDevice, ...]] = {}
"""Those of the past, to be used again: what is known of a device and a dtype is kept with them.

By the traits that this depends on."""
_asked: list[str] = []  # the variable, once it was read


def add(platform: str, count: int, traits: Traits) -> tuple[VirtualDevice, ...]:
    """Make devices that belong together, of the lowest indices that are free."""
    from_environment()
    with _lock:
        return _add(platform, count, traits)


def _add(platform: str, count: int, traits: Traits) -> tuple[VirtualDevice, ...]:
    free = (index for index in range(len(_live) + count) if (platform, index) not in _live)
    indices = tuple(index for index, _ in zip(free, range(count), strict=False))
    key = (platform, indices, replace(traits, memory=None, launches=None))
    made = _kept.get(key)
    if made is None:
        made = tuple(VirtualDevice(platform, index, traits) for index in indices)
        for device in made:
            device.together, device._currents = made, made[0]._currents
        _kept[key] = made
    else:
        for device in made:
            device.renew(traits)
    _live.update({(platform, device.index): device for device in made})
    return made


def remove(devices: Iterable[VirtualDevice]) -> None:
    """Remove devices; their arrays are of no use any more."""
    with _lock:
        for device in devices:
            device.alive = False
            del _live[device.platform, device.index]


def live() -> bool:
    """Tell whether there is any device."""
    return bool(_live)


def number_of(platform: str) -> int:
    """Return the highest index of a platform's devices, plus 1."""
    from_environment()
    return max((index + 1 for kind, index in list(_live) if kind == platform), default=0)


def default() -> VirtualDevice:
    """Return the device of arrays that are made without a device: the last block's current one."""
    return next(reversed(list(_live.values()))).current


def find(platform: str, index: int) -> VirtualDevice:
    """Return a device.

    Raises
    ------
    LookupError
        If there is none, or no longer.
    """
    found = _live.get((platform, index))
    if found is None:
        raise LookupError(f"there is no virtual:{platform}:{index} now")
    return found


def from_environment() -> None:
    """Make the devices that the environment variable names, once.

    Raises
    ------
    ValueError
        If it is none of ``platform`` and ``platform:count``, separated by commas.
    """
    if _asked:
        return
    wanted = []
    for word in filter(None, map(str.strip, os.environ.get(VARIABLE, "").split(","))):
        found = re.fullmatch(r"(?:virtual:)?([a-z]+)(?::([1-9][0-9]*))?", word)
        if found is None or found[1] not in presets():
            raise ValueError(
                f"{VARIABLE} has {word!r}; use platforms ({', '.join(presets())}), each with the "
                f"number of devices after ':' if there are several: 'cuda:2,metal'"
            )
        wanted.append((found[1], int(found[2] or 1)))
    with _lock:
        if not _asked:
            for platform, count in wanted:
                _add(platform, count, preset(platform))
            _asked.append("")
