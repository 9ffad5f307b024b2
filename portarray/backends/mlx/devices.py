"""MLX's devices: the CPU and the GPU of this build, their dtypes and their memory.

MLX's arrays do not have a device: the CPU and the GPU share their memory, and each operation runs
on a stream of either. The device of a native array is therefore MLX's default one.
"""

from __future__ import annotations

import platform as _host
import re
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Any

import ml_dtypes
import mlx.core as mx
import numpy as np

from portarray.backends.base import Backend
from portarray.backends.common import machine
from portarray.backends.mlx import limits, tracing
from portarray.backends.types import Description, MemoryFigures

__all__ = ["CPU_DTYPES", "LONGEST", "Devices", "dtypes", "memory"]

LONGEST = 2**31 - 1
"""Longest axis that MLX supports."""

# The build determines the platform of MLX's GPU, if any.
_HAS_GPU = mx.is_available(mx.gpu)
_GPU = "cuda" if mx.cuda.is_available() else "metal"
_TYPE_OF = {"cpu": mx.cpu, _GPU: mx.gpu}

_GPU_DTYPES: dict[np.dtype[Any], mx.Dtype] = {
    np.dtype(bool): mx.bool_,
    np.dtype(ml_dtypes.bfloat16): mx.bfloat16,
    **{
        np.dtype(name): getattr(mx, name)
        for name in (
            *("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
            *("float16", "float32", "complex64"),
        )
    },
}
# MLX supports float64 on CPUs only, and does not have complex128.
CPU_DTYPES = {**_GPU_DTYPES, np.dtype(np.float64): mx.float64}

_NO_MEMORY = ("nable to allocate", "[metal::malloc]", "Insufficient Memory", "out of memory")
_FAILURES = ("[METAL] Command buffer execution failed", "cudaError")


class Devices(Backend):
    """Devices of MLX: discovery, dtypes, memory and errors."""

    array_type = mx.array

    def version(self) -> str:
        # The stubs lack it.
        return str(mx.__version__)  # type: ignore[attr-defined]

    def count(self, platform: str) -> int:
        kind = _TYPE_OF.get(platform)
        if kind is None or not mx.is_available(kind):
            return 0
        return mx.device_count(kind)

    def reason_unsupported(self, platform: str) -> str:
        if platform not in ("cpu", "metal", "cuda"):
            return f"MLX does not support {platform}"
        if platform == "metal" and _host.system() != "Darwin":
            return "this MLX build does not have Metal, which needs macOS"
        if platform == "metal":
            return "this MLX build does not have Metal, or the Mac does not have a Metal GPU"
        if platform == "cuda" and not mx.cuda.is_available():
            return "this MLX build does not have CUDA"
        return "there is no NVIDIA driver or GPU" if platform == "cuda" else "MLX finds no CPU"

    def native_device(self, platform: str, index: int) -> mx.Device:
        return mx.Device(_TYPE_OF[platform], index)

    def describe(self, platform: str, index: int) -> Description:
        if platform == "cpu":
            return machine.processor()
        name = mx.device_info(self.native_device(platform, index)).get(
            "device_name", f"{platform} GPU"
        )
        return Description(str(name), "gpu")

    @staticmethod
    def dtypes(platform: str, index: int) -> Mapping[np.dtype[Any], mx.Dtype]:
        return CPU_DTYPES if platform == "cpu" else _GPU_DTYPES

    @staticmethod
    def device_of_native(device: object) -> tuple[str, int] | None:
        if isinstance(device, mx.DeviceType):
            return ("cpu" if device == mx.cpu else _GPU, 0)
        if not isinstance(device, mx.Device):
            return None
        return ("cpu" if device.type == mx.cpu else _GPU, _index(device))

    def device_of_array(self, x: mx.array) -> tuple[str, int]:
        """Return platform and index of MLX's default device, which can use any array."""
        where = self.device_of_native(mx.default_device())
        assert where is not None
        return where

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, MemoryError) or (
            isinstance(error, RuntimeError) and any(text in str(error) for text in _NO_MEMORY)
        )

    def requested_bytes(self, error: BaseException) -> int | None:
        match = re.search(r"allocate (\d+) bytes", str(error))
        return int(match[1]) if match else super().requested_bytes(error)

    def wrap_function(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return limits.bounded(name, function)

    def is_device_failure(self, error: BaseException) -> bool:
        return isinstance(error, RuntimeError) and any(text in str(error) for text in _FAILURES)

    def translate_error(self, error: Exception) -> Exception | None:
        """Return a clearer error for long axes, singular matrices, other threads' work and tracing.

        Streams, which compute a thread's arrays, are per thread and end with it:
        https://github.com/ml-explore/mlx/blob/v0.32.0/mlx/stream.cpp
        """
        if isinstance(error, OverflowError) and "outside the supported range" in str(error):
            return ValueError(
                f"an axis is longer than MLX's limit of {LONGEST} elements ({error})\n"
                f"Hint: use several axes or arrays"
            )
        if isinstance(error, RuntimeError) and "factorization failed" in str(error):
            # Only with check_linalg=False: otherwise the function itself raises.
            return np.linalg.LinAlgError(f"a matrix of an earlier call is singular ({error})")
        if not (isinstance(error, RuntimeError) and tracing.OTHER_THREAD in str(error)):
            return tracing.explained(error)
        return RuntimeError(
            f"another thread created the array, and only that thread can compute it ({error})\n"
            f"Hint: call mlx.core.eval(x.native) there, or read its values"
        )

    @staticmethod
    def memory(device: mx.Device) -> MemoryFigures:
        """Return the memory figures of a device.

        ``used`` and ``pooled`` are MLX's in this process, for all its devices together. Apple's
        GPUs use the machine's memory.
        """
        used, pooled = mx.get_active_memory(), mx.get_cache_memory()
        figures = machine.memory()
        total, free = figures.total, figures.free
        if device.type == mx.gpu:
            info = mx.device_info(device)
            if "total_memory" in info:
                total, free = int(info["total_memory"]), int(info["free_memory"])
            elif "max_recommended_working_set_size" in info:
                total = int(info["max_recommended_working_set_size"])
                free = max(total - used - pooled, 0)
        return MemoryFigures(total=total, free=free, used=used, pooled=pooled)

    def is_traced(self, x: mx.array) -> bool:
        return tracing.is_traced(x)

    def synchronize(self, device: mx.Device) -> None:
        mx.synchronize(device)

    def reclaim(self, device: mx.Device) -> None:
        mx.clear_cache()

    def driver(self, platform: str) -> str:
        """Return the version of macOS for Metal."""
        return _host.mac_ver()[0] if platform == "metal" else ""

    @staticmethod
    def scope(device: mx.Device) -> AbstractContextManager[Any] | None:
        """Return a context that makes a device MLX's default; None in CPU-only builds."""
        return mx.stream(device) if _HAS_GPU else None


def _index(device: mx.Device) -> int:
    """Return a device's index, which only its repr ``Device(gpu, 1)`` contains."""
    return int(str(device).rpartition(",")[2].rstrip(")"))


dtypes, memory = Devices.dtypes, Devices.memory
