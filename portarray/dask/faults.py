"""Notes on task errors: the worker, and the devices of the chunks."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import portarray as pa
from portarray.dask import scoped_tasks

__all__ = [
    "MISPLACED",
    "accepts_misplaced",
    "accepts_mixed",
    "note",
    "note_misplaced",
    "refuse_misplaced",
    "register",
]

MISPLACED: dict[int, tuple[weakref.ref[pa.Array], str]] = {}
"""Arrays, by id, that were pickled on a device that this process lacks, and its name."""

_ACCEPTS_MISPLACED: dict[int, Callable[..., Any]] = {}
_ACCEPTS_MIXED: dict[int, Callable[..., Any]] = {}
"""Functions by id, since other functions of graphs may not be hashable."""


def register(function: Callable[..., Any], *, misplaced: bool) -> None:
    """Let a function get arrays on several devices; misplaced ones if it chooses the device."""
    _ACCEPTS_MIXED[id(function)] = function
    if misplaced:
        _ACCEPTS_MISPLACED[id(function)] = function


def accepts_misplaced(function: Any) -> bool:
    """Return whether a function accepts misplaced arrays."""
    return id(function) in _ACCEPTS_MISPLACED


def accepts_mixed(function: Any) -> bool:
    """Return whether a function accepts arrays on several devices."""
    return id(function) in _ACCEPTS_MIXED


def note_misplaced(x: pa.Array, text: str) -> None:
    """Record an array that is on another device than it was pickled on.

    An error here would end the connection to the other worker, and Dask would retry forever.
    Tasks that get the array raise the error instead.
    """
    if not _in_a_worker():
        return  # a client may lack the devices of workers
    identity = id(x)
    MISPLACED[identity] = weakref.ref(x, lambda _: MISPLACED.pop(identity, None)), text


def refuse_misplaced(chunks: Iterable[pa.Array]) -> None:
    """Raise the error of the device that a chunk should be on."""
    for chunk in chunks:
        entry = MISPLACED.get(id(chunk))
        if entry is not None and entry[0]() is chunk:
            pa.device(entry[1])


def note(error: Exception, name: str, devices: Iterable[str]) -> None:
    """Add the task, the worker and the devices to an error."""
    if any(text.startswith("in Dask's") for text in getattr(error, "__notes__", ())):
        return  # an inner task added the note
    there = list(dict.fromkeys(devices))
    on = f", with chunks on {', '.join(there)}" if there else ""
    worker = scoped_tasks.worker()
    at = f", on worker {worker.address}" if worker is not None else ""
    if isinstance(error, (pa.DeviceNotFunctionalError, pa.UnknownDeviceError)):
        on += f"; there are {', '.join(map(str, pa.devices()))}"
    error.add_note(f"in Dask's {name}{at}{on}")


def _in_a_worker() -> bool:
    try:
        from distributed import Worker
    except ImportError:
        return False
    return any(worker.status.name == "running" for worker in Worker._instances)
