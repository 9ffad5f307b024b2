"""Memory of devices, and waiting for their work."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext

from portarray._devices import discovery, selection
from portarray._devices.device import Device
from portarray.backends.protocol import MemoryFigures

__all__ = ["MemoryFigures", "memory", "reclaim", "synchronize"]


def memory(device: object = None) -> MemoryFigures:
    """Return the memory figures of a device.

    Parameters
    ----------
    device : device-like, optional
        As for :func:`portarray.device`; the default device.

    Returns
    -------
    MemoryFigures
        ``total``, ``free``, ``used`` (by arrays of this library in this process) and ``pooled``
        (held by the library beyond that), in bytes; None where the library cannot say. Libraries on
        the CPU know the machine's memory only.
    """
    where = selection.resolve(device)
    with _current(where):
        return where.room.memory(where.native)


def reclaim(device: object = None) -> None:
    """Give memory that a library holds in its pool back to the device.

    Arrays are not touched. Libraries without a pool have nothing to give.

    Parameters
    ----------
    device : device-like, optional
        As for :func:`portarray.device`; every device used so far.
    """
    for where in _meant(device):
        with _current(where):
            where.room.reclaim(where.native)


def synchronize(device: object = None) -> None:
    """Wait until all work given to a device is done.

    Reading a result waits by itself; timing needs this. Devices whose functions return when they
    are done return at once.

    Parameters
    ----------
    device : device-like, optional
        As for :func:`portarray.device`; every device used so far.
    """
    for where in _meant(device):
        with _current(where):
            where.room.synchronize(where.native)


def _meant(device: object) -> list[Device]:
    return discovery.made() if device is None else [selection.resolve(device)]


def _current(device: Device) -> AbstractContextManager[object]:
    """Return what makes a device current while its room is asked."""
    return device.room.scope(device.native) or nullcontext()
