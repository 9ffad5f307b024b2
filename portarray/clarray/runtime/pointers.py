"""Kernels that compute in memory of the host's other libraries, by its addresses.

A CPU's drivers use any address of the process: shared virtual memory of the fine-grained system
kind. PoCL does not claim it for its CPUs, and supports it too. So nothing is made for each array,
as a buffer over its memory would be.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from typing import Any

import numpy as np
import pyopencl as cl

from portarray.clarray.runtime import faults, registry, waiting
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.programs import CODES, enqueue

_SYSTEM = cl.device_svm_capabilities.FINE_GRAIN_SYSTEM

# The address of a byte becomes an object that pyopencl takes a pointer from.
_at = ctypes.c_char.from_address
_pointer = cl.SVM


def takes_addresses(native: cl.Device) -> bool:
    """Tell whether kernels of a device can use any memory of the process."""
    if not native.type & cl.device_type.CPU:
        return False
    try:
        claimed = bool(native.svm_capabilities & _SYSTEM)
    except cl.Error:  # OpenCL 1.2
        claimed = False
    return claimed or "Portable Computing Language" in native.platform.name


def host_device() -> Device | None:
    """Return the first device that can use any memory of the process, if there is one."""
    return registry.first(takes_addresses)


@cache
def _queue(device: Device) -> cl.CommandQueue:
    """Return the queue of such kernels, which do not wait for those of clarray's arrays."""
    return cl.CommandQueue(device.context)


def pointer_to(x: np.ndarray[Any, Any]) -> Any:
    """Return a pointer to a NumPy array's first element, for kernels."""
    try:
        return _pointer(x)
    except ValueError:  # not contiguous, read-only, or of a dtype that has no buffer
        return _pointer(_at(x.__array_interface__["data"][0]))


@lru_cache(maxsize=4096)
def pointer_at(address: int) -> Any:
    """Return a pointer to an address, for kernels."""
    return _pointer(_at(address))


Sizes = tuple[int, ...]


def launch_of(
    device: Device,
    kernel: cl.Kernel,
    name: str,
    arrays: int,
    values: Sequence[np.dtype[Any]],
    address: Callable[[Any], int] | None,
) -> Callable[[Sequence[Any], Sequence[Any], Sizes, Sizes], None]:
    """Return a function that runs a kernel and waits for it.

    ``address`` is that of an array's first element; None where arrays are NumPy's.
    """
    queue = _queue(device)
    submit = _submitter(kernel, queue, arrays, values, address)

    def launch(arrays: Sequence[Any], values: Sequence[Any], ndrange: Sizes, group: Sizes) -> None:
        if len(ndrange) > 1:
            ndrange, group = ndrange[::-1], group[::-1]
        try:
            # The device's lock refuses in forked processes, where nothing would run.
            with device.lock:
                event = submit(arrays, values, ndrange, group)
            waiting.wait(event, queue, device)
        except cl.Error as error:
            raise faults.translated(error, device, name) from error

    return launch


def _submitter(
    kernel: cl.Kernel,
    queue: cl.CommandQueue,
    arrays: int,
    values: Sequence[np.dtype[Any]],
    address: Callable[[Any], int] | None,
) -> Callable[[Sequence[Any], Sequence[Any], Sizes, Sizes], cl.Event]:
    """Return what sets a kernel's arguments to arrays and values, and enqueues it."""
    plain: Any = kernel
    # Index and pointer alternating; index, type and value alternating. Written out: a loop takes a
    # tenth of a launch.
    pointer = "pointer_to({})" if address is None else "pointer_at(address({}))"
    pointers = "".join(f"{n}, {pointer.format(f'arrays[{n}]')}, " for n in range(arrays))
    parts = "".join(
        f"{n}, {CODES[dtype]!r}, values[{n - arrays}], " for n, dtype in enumerate(values, arrays)
    )
    text = f"set_pointers(({pointers})), set_values(({parts})), enqueue(queue, kernel, size, group)"
    made: Callable[[Sequence[Any], Sequence[Any], Sizes, Sizes], cl.Event] = eval(  # noqa: S307
        f"lambda arrays, values, size, group: ({text})[2]",
        {
            "pointer_to": pointer_to,
            "pointer_at": pointer_at,
            "address": address,
            "set_pointers": plain._set_arg_multi,
            "set_values": plain._set_arg_buf_pack_multi,
            "enqueue": enqueue,
            "queue": queue,
            "kernel": kernel,
        },
    )
    return made
