"""Waiting for kernels, also where SYCL computes by the same threads.

Intel's OpenCL runtime has one set of threads, for SYCL's kernels too, as many as there are cores. A
thread that waits takes part in them. When there are as many already, its wait is handed to one of
them, which may be waiting for what cannot go on before it returns: with dpnp in one thread and
clarray, or kernels in NumPy's memory, in another, both wait for ever. There events are asked
whether they are done instead.
"""

from __future__ import annotations

import sys
import threading
import time
from typing import TYPE_CHECKING

import pyopencl as cl

if TYPE_CHECKING:
    from portarray.clarray.runtime.device import Device

__all__ = ["finish", "wait"]

SHORTEST, LONGEST = 1e-5, 5e-4
"""Seconds between two questions: they grow by a half each time."""


def finish(device: Device) -> None:
    """Wait for all commands of a device's queue; raise what a kernel raised."""
    if _shared(device):
        _polled(cl.enqueue_marker(device.queue), device.queue)
    else:
        device.queue.finish()


def wait(event: cl.Event, queue: cl.CommandQueue, device: Device) -> None:
    """Wait for a command of a queue; raise what it raised."""
    if _shared(device):
        _polled(event, queue)
    else:
        event.wait()


def _shared(device: Device) -> bool:
    """Tell whether another thread may compute by SYCL on the device."""
    return (
        device.traits.intel
        and "dpctl" in sys.modules  # which dpnp imports
        and threading.active_count() > 1
    )


def _polled(event: cl.Event, queue: cl.CommandQueue) -> None:
    queue.flush()
    pause = SHORTEST
    while event.command_execution_status > cl.command_execution_status.COMPLETE:
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST)
    event.wait()  # returns at once, or raises
