"""CuPy's devices: how many GPUs it sees, why none, their dtypes and their memory."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from functools import cache
from typing import Any

import cupy
import numpy as np
from cupy.cuda import runtime

from portarray.backends.base import Backend
from portarray.backends.types import Description, MemoryFigures

__all__ = ["Devices", "dtypes"]

# Without bfloat16: CuPy 14 has arithmetic for it, but neither sorting nor selection.
_DTYPES = {
    np.dtype(name): np.dtype(name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "float32", "float64", "complex64", "complex128"),
    )
}

# In out-of-memory errors of CUDA, ROCm and their libraries, in addition to CuPy's.
_NO_MEMORY = ("MemoryAllocation", "OUT_OF_MEMORY", "OutOfMemory", "ALLOC_FAILED")


class Devices(Backend):
    """Devices of CuPy: discovery, dtypes, memory and errors."""

    array_type = cupy.ndarray

    @staticmethod
    def version() -> str:
        text: str = cupy.__version__
        return text

    @staticmethod
    def driver(platform: str) -> str:
        """Return the driver's version as the runtime writes it, or an empty string."""
        try:
            return str(runtime.driverGetVersion())
        except runtime.CUDARuntimeError:
            return ""

    @staticmethod
    def count(platform: str) -> int:
        return _count_devices()[0] if platform == _built_for() else 0

    def reason_unsupported(self, platform: str) -> str:
        built = _built_for()
        if platform != built:
            return f"this CuPy {self.version()} was built for {built}, not for {platform}"
        return _count_devices()[1]

    def native_device(self, platform: str, index: int) -> Any:
        return cupy.cuda.Device(index)

    def describe(self, platform: str, index: int) -> Description:
        name = runtime.getDeviceProperties(index)["name"]
        text = name.decode() if isinstance(name, bytes) else str(name)
        # ROCm names some GPUs by architecture only, and old releases give no name.
        return Description(text or f"{'AMD' if runtime.is_hip else 'NVIDIA'} GPU", "gpu")

    @staticmethod
    def dtypes(platform: str, index: int) -> Mapping[np.dtype[Any], np.dtype[Any]]:
        return _DTYPES

    def device_of_native(self, device: object) -> tuple[str, int] | None:
        """Return platform and index of a ``cupy.cuda.Device``; None for other objects."""
        return (_built_for(), int(device.id)) if isinstance(device, cupy.cuda.Device) else None

    def device_of_array(self, x: Any) -> tuple[str, int]:
        """Return platform and index of the GPU that holds an array, managed memory included."""
        return _built_for(), int(x.data.device_id)

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether an error of CuPy, or of a library that it calls, means out of memory."""
        if isinstance(error, cupy.cuda.memory.OutOfMemoryError):
            return True
        return self.is_device_failure(error) and any(word in str(error) for word in _NO_MEMORY)

    def requested_bytes(self, error: BaseException) -> int | None:
        size: int | None = getattr(error, "_size", None)
        return super().requested_bytes(error) if size is None else size

    def is_device_failure(self, error: BaseException) -> bool:
        """Return whether the GPU, its driver or one of its libraries failed.

        Some of them (illegal address, failed assertion) are sticky: every further CUDA call of the
        process fails.
        """
        # By module name: importing the error classes would import their libraries.
        home = type(error).__module__.partition(".")[0]
        return isinstance(error, (RuntimeError, cupy.cuda.compiler.CompileException)) and (
            home in ("cupy", "cupy_backends", "cuda")  # "cuda" is cuda-pathfinder
        )

    def memory(self, device: Any) -> MemoryFigures:
        """Return the memory figures of a GPU.

        ``used`` and ``pooled`` are those of CuPy's memory pool; None if the user set an allocator
        without statistics.
        """
        with device:
            free, total = runtime.memGetInfo()
            pool = _pool()
            if pool is None:
                return MemoryFigures(total=total, free=free)
            used = pool.used_bytes()
            return MemoryFigures(
                total=total, free=free, used=used, pooled=max(pool.total_bytes() - used, 0)
            )

    def synchronize(self, device: Any) -> None:
        """Wait for all work on all streams of a GPU."""
        device.synchronize()

    def reclaim(self, device: Any) -> None:
        """Return pooled GPU memory and pinned host memory to the driver."""
        with device:
            pool = _pool()
            if pool is not None:
                pool.free_all_blocks()
            cupy.get_default_pinned_memory_pool().free_all_blocks()

    def scope(self, device: Any) -> AbstractContextManager[Any] | None:
        """Return a context that makes a GPU current; None if there is only one."""
        context: AbstractContextManager[Any] | None = device if _device_count() > 1 else None
        return context


def _built_for() -> str:
    return "rocm" if runtime.is_hip else "cuda"


def _count_devices() -> tuple[int, str]:
    """Return the number of GPUs, and a reason if it is 0."""
    try:
        count: int = runtime.getDeviceCount()
    except runtime.CUDARuntimeError as error:
        # The runtime raises instead of returning 0.
        return 0, _trouble(error)
    return count, "" if count else f"CuPy {Devices.version()} finds a driver, but no GPU"


def _trouble(error: Exception) -> str:
    """Return why the runtime finds no GPU: no driver, too old a driver, or no device."""
    driver = Devices.driver("")
    message = " ".join(str(error).split())
    if driver in ("", "0"):  # CUDA without a driver
        maker = "AMD" if runtime.is_hip else "NVIDIA"
        return f"CuPy {Devices.version()} finds no {maker} driver ({message})"
    if not runtime.is_hip:
        needs, offers = runtime.runtimeGetVersion(), int(driver)
        # Drivers are compatible within a major version.
        if offers // 1000 < needs // 1000:
            major = offers // 1000
            return (
                f"CuPy {Devices.version()} was built for CUDA {needs // 1000} and needs a driver "
                f"for it, but this one goes up to CUDA {major}.{offers % 1000 // 10}; "
                f"update the driver, or install the CuPy for CUDA {major} (cupy-cuda{major}x)"
            )
    return f"CuPy {Devices.version()} finds driver {driver}, but no GPU that it can use ({message})"


@cache
def _device_count() -> int:
    return Devices.count(_built_for())


def _pool() -> Any:
    """Return the pool that CuPy allocates from; None for user-defined allocators."""
    owner = getattr(cupy.cuda.get_allocator(), "__self__", None)
    pool_types = (cupy.cuda.MemoryPool, cupy.cuda.MemoryAsyncPool)
    return owner if isinstance(owner, pool_types) else None


dtypes = Devices.dtypes
