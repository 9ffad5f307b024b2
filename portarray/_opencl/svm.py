"""Kernels that compute in other libraries' host memory, by address.

CPU drivers accept any address of the process: OpenCL's fine-grained system shared virtual memory
(SVM). PoCL supports it on CPUs although it does not report it. Unlike a buffer, an address needs
no object for each array.
"""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Callable, Sequence
from functools import cache, lru_cache, partial
from typing import Any

import numpy as np
import pyopencl as cl

from portarray import _codegen
from portarray._opencl import blocks, registry, waiting
from portarray._opencl.device import Device
from portarray._opencl.programs import CODES, enqueue

_SYSTEM = cl.device_svm_capabilities.FINE_GRAIN_SYSTEM

# Wraps the byte at an address in an object from which pyopencl takes a pointer.
_byte_at = ctypes.c_char.from_address
_pointer = cl.SVM


def accepts_addresses(native: cl.Device) -> bool:
    """Return whether kernels of a device can use any memory of the process."""
    if not native.type & cl.device_type.CPU:
        return False
    try:
        reported = bool(native.svm_capabilities & _SYSTEM)
    except cl.Error:  # OpenCL 1.2
        reported = False
    return reported or "Portable Computing Language" in native.platform.name


def host_device() -> Device | None:
    """Return the first device that can use any memory of the process, if there is one."""
    return registry.first(accepts_addresses)


@cache
def queue_of(device: Device) -> cl.CommandQueue:
    """Return the queue for these kernels, which do not wait for those of clarray's arrays."""
    return cl.CommandQueue(device.context)


def pointer_to(x: np.ndarray[Any, Any]) -> Any:
    """Return a pointer to a NumPy array's first element, for kernels."""
    try:
        return _pointer(x)
    except ValueError:  # not contiguous, read-only, or its dtype has no buffer format
        return _pointer(_byte_at(x.__array_interface__["data"][0]))


@lru_cache(maxsize=4096)
def pointer_at(address: int) -> Any:
    """Return a pointer to an address, for kernels."""
    return _pointer(_byte_at(address))


def pointer_function(address: Callable[[Any], int] | None) -> Callable[[Any], Any]:
    """Return a function that returns a pointer to an array's first element, for kernels."""
    return pointer_to if address is None else lambda x: pointer_at(address(x))


Sizes = tuple[int, ...]


def host_launch(
    device: Device,
    kernel: cl.Kernel,
    name: str,
    arrays: int,
    values: Sequence[np.dtype[Any]],
    address: Callable[[Any], int] | None,
) -> Callable[[Sequence[Any], Sequence[Any], Sizes, Sizes], None]:
    """Return a function that runs a kernel and waits for it, in a block of launches at its end.

    ``address`` returns the address of an array's first element; None for NumPy arrays.
    """
    queue = queue_of(device)
    set_values, submit = _submit_functions(kernel, queue, arrays, values, address)
    codes = [CODES[dtype] for dtype in values]
    intel_cpu = device.traits.is_intel_cpu
    current_values: Sequence[Any] | None = None

    def launch(arrays: Sequence[Any], values: Sequence[Any], ndrange: Sizes, group: Sizes) -> None:
        nonlocal current_values
        if len(ndrange) > 1:
            ndrange, group = ndrange[::-1], group[::-1]
        try:
            # In forked processes, where nothing would run, the device's lock raises an error.
            with device.lock:
                if values is not current_values:
                    set_values(values)
                    current_values = values if type(values) is tuple else None
                event = submit(arrays, ndrange, group)
        except cl.Error as error:
            raise device.translate_error(error, name) from error
        if blocks.current.recorder is not None:
            indexed = zip(itertools.count(len(arrays)), codes, values, strict=False)
            scalars = tuple(itertools.chain.from_iterable(indexed))
            blocks.current.recorder.add(queue, kernel, ndrange, group, arrays, scalars)
        block = blocks.current.block
        if block is None:
            wait(event)
        else:
            block.add(arrays, partial(wait, event))

    def wait(event: cl.Event) -> None:
        try:
            waiting.wait(event, queue, intel_cpu=intel_cpu)
        except cl.Error as error:
            raise device.translate_error(error, name) from error

    return launch


def _submit_functions(
    kernel: cl.Kernel,
    queue: cl.CommandQueue,
    arrays: int,
    values: Sequence[np.dtype[Any]],
    address: Callable[[Any], int] | None,
) -> tuple[Callable[[Sequence[Any]], object], Callable[[Sequence[Any], Sizes, Sizes], cl.Event]]:
    """Return a function that sets a kernel's values, and one that sets its arrays and enqueues it.

    The kernel has no other user, so that values need not be set again until they change.
    """
    untyped: Any = kernel
    # Index and pointer alternate; index, type and value alternate. Unrolled: a loop takes a tenth
    # of a launch.
    pointer = "pointer_to({})" if address is None else "pointer_at(address({}))"
    pointers = "".join(f"{n}, {pointer.format(f'arrays[{n}]')}, " for n in range(arrays))
    scalars = "".join(
        f"{n}, {CODES[dtype]!r}, values[{n - arrays}], " for n, dtype in enumerate(values, arrays)
    )
    names = {
        "pointer_to": pointer_to,
        "pointer_at": pointer_at,
        "address": address,
        "set_pointers": untyped._set_arg_multi,
        "set_values": untyped._set_arg_buf_pack_multi,
        "enqueue": enqueue,
        "queue": queue,
        "kernel": kernel,
    }
    submit = (
        f"lambda arrays, size, group: "
        f"(set_pointers(({pointers})), enqueue(queue, kernel, size, group))[1]"
    )
    set_values = f"lambda values: set_values(({scalars}))"
    return _codegen.evaluate(set_values, names), _codegen.evaluate(submit, names)
