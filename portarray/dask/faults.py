"""What an error of a task says: which worker it was on, and with which devices."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable
from typing import Any

import portarray as pa
from portarray.dask import scopes

__all__ = ["MOVES", "STRAYED", "note", "refuse_strayed", "strayed"]

STRAYED: dict[int, tuple[weakref.ref[pa.Array], str]] = {}
"""Arrays by their ids that came from a device that is not here, and its text."""

MOVES: set[Callable[..., Any]] = set()
"""Functions that may get them: they say on which device the result is."""


def strayed(x: pa.Array, text: str) -> None:
    """Note an array that another device has than it was pickled on.

    An error would end the connection to the other worker, and Dask would try for ever: tasks that
    get the array raise it.
    """
    if not _in_a_worker():
        return  # of the client, which may lack the devices of workers
    place = id(x)
    STRAYED[place] = weakref.ref(x, lambda _: STRAYED.pop(place, None)), text


def refuse_strayed(chunks: Iterable[pa.Array]) -> None:
    """Raise the error of the device that a chunk should be on."""
    for chunk in chunks:
        known = STRAYED.get(id(chunk))
        if known is not None and known[0]() is chunk:
            pa.device(known[1])


def note(error: Exception, name: str, devices: Iterable[str]) -> None:
    """Add to an error in which task it was raised, on which worker and devices."""
    if any(one.startswith("in Dask's") for one in getattr(error, "__notes__", ())):
        return  # of a task within
    there = list(dict.fromkeys(devices))
    on = f", with chunks on {', '.join(there)}" if there else ""
    worker = scopes.worker()
    at = f", on worker {worker.address}" if worker is not None else ""
    if isinstance(error, (pa.DeviceNotFunctionalError, pa.UnknownDeviceError)):
        on += f"; there are {', '.join(map(str, pa.devices()))}"
    error.add_note(f"in Dask's {name}{at}{on}")


def _in_a_worker() -> bool:
    try:
        from distributed import Worker
    except ImportError:
        return False
    return any(one.status.name == "running" for one in Worker._instances)
