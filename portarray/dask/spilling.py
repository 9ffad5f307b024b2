"""A device of a worker that runs out of memory: other chunks are written to disk.

``distributed`` does that with chunks when the worker's host memory is short, and reads them back
where they are needed next. Here it is done, by the same storage, when a device's memory is.
"""

from __future__ import annotations

import traceback
from collections.abc import Collection
from functools import partial
from typing import Any

import portarray as pa
from portarray._array import pickling
from portarray.dask import scopes
from portarray.errors import OutOfMemoryError

__all__ = ["begin", "made_room"]


def made_room(error: OutOfMemoryError, kept: Collection[Any], worker: Any = None) -> bool:
    """Write chunks of a device to disk until what it lacked is free; tell whether any were.

    Parameters
    ----------
    error : OutOfMemoryError
        What was raised.
    kept : collection of keys
        Chunks that the task needs.
    worker : distributed.Worker, optional
        That which runs this task.
    """
    worker = worker or scopes.worker()
    if worker is None:
        return False
    traceback.clear_frames(error.__traceback__)  # they hold what the task had made so far
    fast = getattr(worker.data, "fast", None)
    if fast is None:
        error.add_note(
            "The worker has no limit of memory, so it writes no chunks to disk: give it one by "
            "memory_limit=, and what is not in use is written when a device's memory is short."
        )
        return False
    freed = 0
    full: OSError | None = None
    for key in list(fast.order):  # the one that was used longest ago first
        value = fast.d.get(key)
        if key in kept or not isinstance(value, pa.Array) or str(value.device) != error.device:
            continue
        nbytes = value.nbytes
        del value
        try:
            fast.evict(key)
        except OSError as found:
            full = found
            error.add_note(f"Chunks that are not in use could not be written to disk: {full}")
            break
        freed += nbytes
        if freed >= (error.asked or 0):
            break
    if freed:
        pa.reclaim(error.device)
    elif full is None:
        error.add_note(
            "No other chunk of this worker is on the device: use smaller chunks, fewer threads of "
            "the worker, or more workers."
        )
    return freed > 0


def begin(worker: Any) -> None:
    """Make room on a worker's device for chunks that are read from disk or come from another."""
    found = partial(made_room, kept=(), worker=worker)
    others = [one for one in pickling.MAKE_ROOM if getattr(one, "keywords", {}) != found.keywords]
    pickling.MAKE_ROOM[:] = [*others, found]
