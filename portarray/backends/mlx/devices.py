"""MLX's devices: the CPU and the GPU of this build, their dtypes and their memory.

MLX arrays have no device: they are in memory that the CPU and the GPU share, and each operation
runs on a stream of either. The device of a native array is therefore MLX's default one; MLX orders
the streams itself.
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
    np.dtype(np.bool_): mx.bool_,
    np.dtype(np.int8): mx.int8,
    np.dtype(np.int16): mx.int16,
    np.dtype(np.int32): mx.int32,
    np.dtype(np.int64): mx.int64,
    np.dtype(np.uint8): mx.uint8,
    np.dtype(np.uint16): mx.uint16,
    np.dtype(np.uint32): mx.uint32,
    np.dtype(np.uint64): mx.uint64,
    np.dtype(np.float16): mx.float16,
    np.dtype(ml_dtypes.bfloat16): mx.bfloat16,
    np.dtype(np.float32): mx.float32,
    np.dtype(np.complex64): mx.complex64,
}
# MLX supports float64 only on the CPU, and has no complex128.
CPU_DTYPES = {**_GPU_DTYPES, np.dtype(np.float64): mx.float64}

_FAILURES = ("[METAL] Command buffer execution failed", "cudaError")


class Devices(Backend):
    """MLX's devices: which there are, why others are not, their dtypes and their memory."""

    array_type = mx.array

    def version(self) -> str:
        # The stubs lack it.
        return str(mx.__version__)  # type: ignore[attr-defined]

    def count(self, platform: str) -> int:
        kind = _TYPE_OF.get(platform)
        if kind is None or not mx.is_available(kind):
            return 0
        return mx.device_count(kind)

    def why_not(self, platform: str) -> str:
        if platform not in ("cpu", "metal", "cuda"):
            return f"MLX does not drive {platform}"
        if platform == "metal":
            if _host.system() != "Darwin":
                return "this MLX build has no Metal, which only macOS has"
            return "this MLX build has no Metal, or the Mac no Metal card"
        if platform == "cuda":
            if not mx.cuda.is_available():
                return "this MLX build has no CUDA"
            return "no NVIDIA driver or card was found"
        return "MLX sees no CPU"

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
        if isinstance(error, MemoryError):
            return True
        if not isinstance(error, RuntimeError):
            return False
        # MLX raises RuntimeError; only the message tells.
        text = str(error)
        return (
            "nable to allocate" in text
            or "[metal::malloc]" in text
            or "Insufficient Memory" in text
            or "out of memory" in text
        )

    def requested_bytes(self, error: BaseException) -> int | None:
        found = re.search(r"allocate (\d+) bytes", str(error))
        return int(found[1]) if found else super().requested_bytes(error)

    def guard_memory(self, name: str, function: Callable[..., Any]) -> Callable[..., Any]:
        return limits.bounded(name, function)

    def is_device_failure(self, error: BaseException) -> bool:
        return isinstance(error, RuntimeError) and any(text in str(error) for text in _FAILURES)

    def translate_error(self, error: Exception) -> Exception | None:
        """Return a clearer error for some of MLX's.

        ValueError for an axis that is too long, RuntimeError for pending work of another thread.

        Streams, which compute a thread's arrays, are per thread and end with it:
        https://github.com/ml-explore/mlx/blob/v0.32.0/mlx/stream.cpp
        """
        if isinstance(error, OverflowError) and "outside the supported range" in str(error):
            return ValueError(
                f"MLX's arrays have axes of at most {LONGEST} elements; use several axes or arrays "
                f"({error})"
            )
        if isinstance(error, RuntimeError) and "factorization failed" in str(error):
            # Only with check_linalg=False: otherwise the function itself has waited.
            return np.linalg.LinAlgError(f"a matrix of an earlier call is singular ({error})")
        if not (isinstance(error, RuntimeError) and tracing.OTHER_THREAD in str(error)):
            return tracing.explained(error)
        return RuntimeError(
            f"MLX computes an array in the thread that asked for it, when its values are needed, "
            f"and no other thread can ({error}). Compute it there before it is handed on: "
            f"mlx.core.eval(x.native), or whatever reads its values"
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
        """Tell whether an array has no values yet: MLX does not say, but refuses to compute it."""
        return tracing.is_traced(x)

    def synchronize(self, device: mx.Device) -> None:
        mx.synchronize(device)

    def reclaim(self, device: mx.Device) -> None:
        mx.clear_cache()

    def driver(self, platform: str) -> str:
        """Return the driver version of a platform: that of macOS for Metal."""
        return _host.mac_ver()[0] if platform == "metal" else ""

    @staticmethod
    def scope(device: mx.Device) -> AbstractContextManager[Any] | None:
        """Return a context that makes a device MLX's default; None in CPU-only builds."""
        return mx.stream(device) if _HAS_GPU else None


def _index(device: mx.Device) -> int:
    """Return a device's index, which only its repr has: ``Device(gpu, 1)``."""
    return int(str(device).rpartition(",")[2].rstrip(")"))


dtypes, memory = Devices.dtypes, Devices.memory
