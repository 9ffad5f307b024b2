"""Waiting for commands without a deadlock between OpenCL and SYCL on Intel's CPU runtime.

The runtime has one thread per core for OpenCL and SYCL together, and a thread that waits joins
them. If all threads are busy, its wait is handed to one of them, which may be waiting for the
thread that waits: with dpnp in one Python thread and OpenCL kernels in another, both wait forever.
There, events are polled instead.
"""

from __future__ import annotations

import sys
import threading
import time

import pyopencl as cl

SHORTEST, LONGEST = 1e-5, 5e-4
"""Seconds between two polls: they grow by half each time."""


def finish(queue: cl.CommandQueue, *, intel_cpu: bool) -> None:
    """Wait for all commands of a queue; raise what a kernel raised."""
    if intel_cpu and _sycl_may_run():
        _poll(cl.enqueue_marker(queue), queue)
    else:
        queue.finish()


def wait(event: cl.Event, queue: cl.CommandQueue, *, intel_cpu: bool) -> None:
    """Wait for a command of a queue; raise what it raised."""
    if intel_cpu and _sycl_may_run():
        _poll(event, queue)
    else:
        event.wait()


def _sycl_may_run() -> bool:
    """Return whether another thread may run SYCL kernels."""
    return "dpctl" in sys.modules and threading.active_count() > 1  # dpnp imports dpctl


def _poll(event: cl.Event, queue: cl.CommandQueue) -> None:
    queue.flush()
    pause = SHORTEST
    while event.command_execution_status > cl.command_execution_status.COMPLETE:
        time.sleep(pause)
        pause = min(1.5 * pause, LONGEST)
    event.wait()  # returns immediately, or raises
