"""Write chunks to disk when a device of a worker runs out of memory.

``distributed`` writes chunks to disk when the worker's host memory is short, and reads them back
when a task needs them. This module uses the same storage when a device's memory is short.
"""

from __future__ import annotations

import traceback
from collections.abc import Collection
from functools import partial
from typing import Any

import portarray as pa
from portarray._array import pickling
from portarray.dask import scoped_tasks
from portarray.errors import OutOfMemoryError

__all__ = ["made_room", "start"]


def made_room(error: OutOfMemoryError, needed_keys: Collection[Any], worker: Any = None) -> bool:
    """Write chunks of a device to disk until enough memory is free; return whether any were.

    Parameters
    ----------
    error : OutOfMemoryError
        The raised error.
    needed_keys : collection of keys
        Chunks that the task needs.
    worker : distributed.Worker, optional
        The worker that runs this task.
    """
    worker = worker or scoped_tasks.worker()
    if worker is None:
        return False
    traceback.clear_frames(error.__traceback__)  # the frames hold intermediate arrays of the task
    fast = getattr(worker.data, "fast", None)
    if fast is None:
        error.add_note(
            "The worker has no memory limit, so it does not write chunks to disk.\n"
            "Hint: set memory_limit; the worker then writes unused chunks to disk when a device's "
            "memory is short"
        )
        return False
    freed = 0
    full: OSError | None = None
    for key in list(fast.order):  # least recently used first
        value = fast.d.get(key)
        if (
            key in needed_keys
            or not isinstance(value, pa.Array)
            or str(value.device) != error.device
        ):
            continue
        nbytes = value.nbytes
        del value
        try:
            fast.evict(key)
        except OSError as failure:
            full = failure
            error.add_note(f"Unused chunks could not be written to disk: {full}")
            break
        freed += nbytes
        if freed >= (error.requested or 0):
            break
    if freed:
        pa.reclaim(error.device)
    elif full is None:
        error.add_note(
            "No other chunk of this worker is on the device.\n"
            "Hint: use smaller chunks, fewer threads of the worker, or more workers"
        )
    return freed > 0


def start(worker: Any) -> None:
    """Make room on a worker's device for chunks that are read from disk or come from another."""
    handler = partial(made_room, needed_keys=(), worker=worker)
    others = [
        hook for hook in pickling.MAKE_ROOM if getattr(hook, "keywords", {}) != handler.keywords
    ]
    pickling.MAKE_ROOM[:] = [*others, handler]
