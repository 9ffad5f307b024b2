"""dpnp's devices: SYCL's, except those that dpnp cannot compute on.

On CPUs dpnp needs Intel's OpenCL runtime, as PoCL's devices lack unified shared memory (USM). If
SYCL's default device lacks it, dpnp aborts the process, whichever device is used: its extensions
allocate there without catching SYCL's exception (``dpctl_capi`` of
https://github.com/IntelPython/dpctl/blob/master/dpctl/apis/include/dpctl4pybind11.hpp). So drivers
are set up, Intel's first, before SYCL lists platforms.
"""

from __future__ import annotations

import math
import re
import traceback
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import dpctl
import dpnp
import numpy as np
from dpctl.memory import USMAllocationError
from dpctl.utils import SequentialOrderManager, intel_device_info
from dpnp.tensor import Device, usm_ndarray

from portarray._opencl import loader
from portarray.backends.base import Backend
from portarray.backends.common import machine
from portarray.backends.dpnp import warmup
from portarray.backends.types import Description, MemoryFigures

__all__ = ["Devices", "device_of_native", "dtypes", "native_device", "wait_for_work"]

_DOUBLE = (np.dtype(np.float64), np.dtype(np.complex128))
_HALF = np.dtype(np.float16)
_DTYPES = [
    np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
]

# The order of devices; of two drivers for one GPU the first is used.
_BACKENDS = ("level_zero", "cuda", "hip", "opencl")

_FAILURES = (
    *(dpctl.SyclKernelSubmitError, dpctl.SyclQueueCreationError),
    *(dpctl.SyclContextCreationError, dpctl.SyclDeviceCreationError),
)

# SYCL's out-of-memory errors, by name or number:
# https://github.com/intel/llvm/blob/sycl/unified-runtime/include/unified-runtime/ur_api.h
_NO_MEMORY = re.compile(r"UR_RESULT_ERROR_OUT_OF_(HOST_MEMORY|DEVICE_MEMORY|RESOURCES)")


class Devices(Backend):
    """Devices of dpnp: discovery, dtypes, memory and errors."""

    array_type = dpnp.ndarray

    def version(self) -> str:
        return str(dpnp.__version__)

    def count(self, platform: str) -> int:
        """Return the number of SYCL devices that dpnp computes on: GPUs, others, then CPUs."""
        return len(_native_devices()[0]) if platform == "oneapi" else 0

    def reason_unsupported(self, platform: str) -> str:
        """Return why there are no devices, with the rejected ones."""
        if platform != "oneapi":
            return f"dpnp supports SYCL devices only, not {platform}"
        reasons = [f"{name}: {reason}" for name, reason in _native_devices()[1].items()]
        reasons += [f"{entry}: {reason}" for entry, reason in loader.wrong_entries().items()]
        summary = "SYCL does not have a device for dpnp; CPUs need pip install intel-opencl-rt"
        return "; ".join([summary, *reasons])

    @staticmethod
    def native_device(platform: str, index: int) -> Device:
        return _device(_native_devices()[0][index])

    def describe(self, platform: str, index: int) -> Description:
        native = _native_devices()[0][index]
        kind = native.device_type.name
        return Description(
            native.name.strip(),
            "gpu" if kind == "gpu" else "cpu" if kind == "cpu" else "accelerator",
        )

    @staticmethod
    def dtypes(platform: str, index: int) -> Mapping[np.dtype[Any], np.dtype[Any]]:
        """Return the dtypes of a device: NumPy's, without bfloat16."""
        native = _native_devices()[0][index]
        return {
            dtype: dtype
            for dtype in _DTYPES
            if (native.has_aspect_fp64 or dtype not in _DOUBLE)
            and (native.has_aspect_fp16 or dtype != _HALF)
        }

    @staticmethod
    def device_of_native(device: object) -> tuple[str, int] | None:
        """Return the index of a device or of a queue's device; None for other objects."""
        if isinstance(device, (Device, dpctl.SyclQueue)):
            device = device.sycl_device
        if not isinstance(device, dpctl.SyclDevice):
            return None
        return "oneapi", _index(device)

    @staticmethod
    def device_of_array(x: dpnp.ndarray) -> tuple[str, int]:
        return "oneapi", _index(x.sycl_device)

    def owns(self, x: object) -> bool:
        return isinstance(x, (dpnp.ndarray, usm_ndarray))

    def is_out_of_memory(self, error: BaseException) -> bool:
        text = str(error)
        return (
            isinstance(error, USMAllocationError)
            or (isinstance(error, RuntimeError) and _NO_MEMORY.search(text) is not None)
            # Sizes overflow to negative numbers.
            or (isinstance(error, ValueError) and "request allocation must be positive" in text)
        )

    def requested_bytes(self, error: BaseException) -> int | None:
        """Return the size in bytes of the failed allocation; None for a driver's own.

        dpnp's error lacks it: local variables of the innermost frame, which allocates, have it.
        """
        if not isinstance(error, USMAllocationError):
            return super().requested_bytes(error)
        frames = [frame for frame, _ in traceback.walk_tb(error.__traceback__)]
        allocating = next(
            candidate
            for candidate in reversed(frames)
            if not candidate.f_code.co_filename.endswith(".pyx")
        )
        size_in = _REQUESTED_SIZES.get(allocating.f_globals.get("__name__", ""))
        try:
            return None if size_in is None else size_in(allocating.f_locals)
        except (KeyError, TypeError, AttributeError):  # another allocating function
            return None

    def linalg_errors(self) -> tuple[type[Exception], ...]:
        return (dpnp.linalg.LinAlgError, np.linalg.LinAlgError)

    def is_device_failure(self, error: BaseException) -> bool:
        return isinstance(error, _FAILURES)

    def memory(self, device: Device) -> MemoryFigures:
        """Return the memory figures of a device; SYCL does not track usage.

        Free GPU memory needs driver support: with Level Zero ``ZES_ENABLE_SYSMAN=1``. A CPU has the
        machine's memory.
        """
        native = device.sycl_device
        if native.is_cpu:
            return machine.memory()
        free = intel_device_info(native).get("free_memory")
        return MemoryFigures(total=native.global_mem_size, free=None if free is None else int(free))

    def synchronize(self, device: Device) -> None:
        """Wait for all work on a device, on all queues."""
        wait_for_work(device.sycl_queue)
        device.sycl_queue.wait()

    def driver(self, platform: str) -> str:
        """Return the versions of all drivers, in the order of their devices."""
        return "+".join(native.driver_version for native in _native_devices()[0])


@cache
def _native_devices() -> tuple[tuple[dpctl.SyclDevice, ...], dict[str, str]]:
    """Return the devices that dpnp computes on, best first, and why others are rejected."""
    # SYCL lists OpenCL platforms once, on first use.
    loader.prepare()
    usable: list[dpctl.SyclDevice] = []
    reasons: dict[str, str] = {}
    deadly = _deadly_default()
    taken: dict[str, int] = {}  # GPUs by name, with the preferred driver
    for native in sorted(dpctl.get_devices(), key=_rank):
        reason = _obstacle(native) or deadly
        if not reason and native.is_gpu:
            if native.backend.name == "opencl" and taken.get(native.name, 0):
                taken[native.name] -= 1
                reason = "it is the same GPU as a Level Zero device"
            elif native.backend.name != "opencl":
                taken[native.name] = taken.get(native.name, 0) + 1
        if reason:
            reasons[_title(native)] = reason
        else:
            usable.append(native)
    if reasons and deadly and deadly not in reasons.values():
        reasons["all"] = deadly  # has the fix
    if usable:
        warmup.warm_up()
    return tuple(usable), reasons


def _rank(native: dpctl.SyclDevice) -> tuple[int, int]:
    backend = native.backend.name
    order = _BACKENDS.index(backend) if backend in _BACKENDS else len(_BACKENDS)
    # Accelerators come between GPUs and CPUs; the sort is stable.
    return (0 if native.is_gpu else 2 if native.is_cpu else 1), order


def _obstacle(native: dpctl.SyclDevice) -> str:
    """Return why dpnp cannot compute on a device, or an empty string."""
    platform = native.sycl_platform.name
    if native.has_aspect_emulated or "FPGA" in platform:
        return "it emulates FPGAs"
    if native.backend.name == "opencl" and "Intel" not in platform:
        if "Portable Computing Language" in platform:
            return "PoCL does not have unified shared memory, and dpnp ends the process on it"
        return "dpnp supports Intel's OpenCL drivers only"
    if not native.has_aspect_usm_device_allocations:
        return "it does not have unified shared memory, which dpnp needs"
    return ""


def _deadly_default() -> str:
    """Return why dpnp would abort the process in its first call, or an empty string."""
    try:
        native = dpctl.select_default_device()
    except dpctl.SyclDeviceCreationError as error:
        return f"SYCL does not have a default device ({error})"
    if native.has_aspect_usm_host_allocations:
        return ""
    return (
        f"SYCL's default device is {_title(native)}, which does not have unified shared memory, so "
        f"that dpnp would end the process; list portarray's devices before anything else uses SYCL "
        f"or OpenCL, or put Intel's driver (libintelocl.so) first in OCL_ICD_FILENAMES"
    )


def _title(native: dpctl.SyclDevice) -> str:
    return f"{native.name.strip()} ({native.sycl_platform.name.strip()})"


@cache
def _indices() -> dict[dpctl.SyclDevice, int]:
    return {native: index for index, native in enumerate(_native_devices()[0])}


@cache
def _device(native: dpctl.SyclDevice) -> Device:
    device = Device.create_device(native)
    # Created here, in one thread: two threads would create two and lose one's events.
    SequentialOrderManager[device.sycl_queue]
    return device


def wait_for_work(queue: dpctl.SyclQueue) -> None:
    """Wait for the events of all work that dpnp has submitted to a queue.

    Waiting for the queue is not enough: ``queue.wait()`` takes the pending events from the queue,
    and another thread's call returns before they are done; dpnp's ``asnumpy`` and ``item`` wait
    that way. The order manager's ``wait`` reads its list of events while other threads change it.
    """
    events = SequentialOrderManager[queue].submitted_events
    if events:
        dpctl.SyclEvent.wait_for(events)


def _index(native: dpctl.SyclDevice) -> int:
    index = _indices().get(native)
    if index is not None:
        return index
    if native.parent_device is not None:
        raise ValueError(
            f"{_title(native)} is part of a SYCL device, and portarray supports whole ones only\n"
            f"Hint: move its arrays to the parent device with dpnp"
        )
    reason = _native_devices()[1].get(_title(native), "SYCL did not list it")
    raise ValueError(
        f"{_title(native)} is not a portarray device: {reason}\n"
        f"Hint: move its arrays to another device with dpnp"
    )


def _of_shape(variables: Mapping[str, Any]) -> int | None:
    shape, dtype = variables["shape"], variables["dtype"]
    if dtype is None:  # the default dtype
        return None
    lengths = shape if isinstance(shape, (tuple, list)) else (shape,)
    return math.prod(map(int, lengths)) * int(np.dtype(dtype).itemsize)


_REQUESTED_SIZES: Mapping[str, Callable[[Mapping[str, Any]], int | None]] = {
    "dpnp.tensor._ctors": _of_shape,
    "dpnp.dpnp_array": _of_shape,
    "dpnp.tensor._reshape": lambda variables: int(variables["X"].nbytes),
    "portarray.backends.dpnp.transfer": lambda variables: int(variables["array"].nbytes),
}
"""How to find the size of a failed allocation in local variables, by module."""


dtypes, native_device = Devices.dtypes, Devices.native_device
device_of_native = Devices.device_of_native
