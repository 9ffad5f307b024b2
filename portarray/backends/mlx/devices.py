"""MLX's devices: the CPU and the GPU of this build, their dtypes and their memory.

MLX arrays have no device: they live in memory that the CPU and the GPU share, and each operation
runs on a stream of one of the two. The device of a native array is therefore MLX's default one,
and arrays made under another work just as well: MLX orders the streams itself.
"""

from __future__ import annotations

import platform as _host
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any

import ml_dtypes
import mlx.core as mx
import numpy as np

from portarray.backends import machine
from portarray.backends.mlx import limits
from portarray.backends.protocol import Description, MemoryFigures

__all__ = [
    "ARRAY_TYPE",
    "CPU_DTYPES",
    "LONGEST",
    "asked",
    "count",
    "describe",
    "driver",
    "dtypes",
    "guarded",
    "is_failure",
    "is_out_of_memory",
    "locate",
    "memory",
    "native_device",
    "reclaim",
    "recognize",
    "scope",
    "synchronize",
    "translated",
    "version",
    "why_not",
]

ARRAY_TYPE = mx.array

LONGEST = 2**31 - 1
"""Elements that an axis can have."""

# The build decides what MLX's one type of GPU is; a build for neither has the CPU alone.
_HAS_GPU = mx.is_available(mx.gpu)
_GPU = "cuda" if mx.cuda.is_available() else "metal"
_TYPE_OF = {"cpu": mx.cpu, _GPU: mx.gpu}

_OTHER_THREAD = "There is no Stream("

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
# MLX computes in double precision on the CPU alone, and has no complex128 at all.
CPU_DTYPES = {**_GPU_DTYPES, np.dtype(np.float64): mx.float64}


def version() -> str:
    """Return MLX's version."""
    # The stubs lack it.
    return str(mx.__version__)  # type: ignore[attr-defined]


def count(platform: str) -> int:
    """Return how many devices of a platform this installation sees."""
    kind = _TYPE_OF.get(platform)
    if kind is None or not mx.is_available(kind):
        return 0
    return mx.device_count(kind)


def why_not(platform: str) -> str:
    """Return why a platform has no device here, as a clause."""
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


def native_device(platform: str, index: int) -> mx.Device:
    """Return MLX's device object."""
    return mx.Device(_TYPE_OF[platform], index)


def describe(platform: str, index: int) -> Description:
    """Return name and kind of a device."""
    if platform == "cpu":
        return machine.processor()
    name = mx.device_info(native_device(platform, index)).get("device_name", f"{platform} GPU")
    return Description(str(name), "gpu")


def dtypes(platform: str, index: int) -> Mapping[np.dtype[Any], mx.Dtype]:
    """Return every dtype that a device has, NumPy's to MLX's."""
    return CPU_DTYPES if platform == "cpu" else _GPU_DTYPES


def recognize(device: object) -> tuple[str, int] | None:
    """Return platform and index of an ``mx.Device`` or of ``mx.cpu`` and ``mx.gpu``."""
    if isinstance(device, mx.DeviceType):
        return ("cpu" if device == mx.cpu else _GPU, 0)
    if not isinstance(device, mx.Device):
        return None
    return ("cpu" if device.type == mx.cpu else _GPU, _index(device))


def _index(device: mx.Device) -> int:
    """Return a device's index, which MLX tells in text only: ``Device(gpu, 1)``."""
    return int(str(device).rpartition(",")[2].rstrip(")"))


def locate(x: mx.array) -> tuple[str, int]:
    """Return platform and index of MLX's default device, where any array can be used."""
    where = recognize(mx.default_device())
    assert where is not None
    return where


def is_out_of_memory(error: BaseException) -> bool:
    """Tell whether an error of MLX means that memory ran out."""
    if isinstance(error, MemoryError):
        return True
    if not isinstance(error, RuntimeError):
        return False
    # MLX raises plain RuntimeErrors; only the text tells.
    text = str(error)
    return (
        "nable to allocate" in text
        or "[metal::malloc]" in text
        or "Insufficient Memory" in text
        or "out of memory" in text
    )


def asked(error: BaseException) -> int | None:
    """Return how many bytes could not be had, which MLX says in words."""
    found = re.search(r"allocate (\d+) bytes", str(error))
    return int(found[1]) if found else getattr(error, "asked", None)


guarded = limits.bounded


_FAILURES = ("[METAL] Command buffer execution failed", "cudaError")


def is_failure(error: BaseException) -> bool:
    """Tell whether a GPU or its driver failed."""
    return isinstance(error, RuntimeError) and any(text in str(error) for text in _FAILURES)


def translated(error: Exception) -> Exception | None:
    """Return the error that says what to do, of those of which MLX says too little.

    An axis that it cannot count is a ValueError. Work left behind in another thread stays a
    RuntimeError.

    Each thread has streams of its own, which compute its arrays and end with it:
    https://github.com/ml-explore/mlx/blob/v0.32.0/mlx/stream.cpp
    """
    if isinstance(error, OverflowError) and "outside the supported range" in str(error):
        return ValueError(
            f"MLX's arrays have axes of at most {LONGEST} elements; use several axes or arrays "
            f"({error})"
        )
    if not (isinstance(error, RuntimeError) and _OTHER_THREAD in str(error)):
        return None
    return RuntimeError(
        f"MLX computes an array in the thread that asked for it, when its values are needed, and "
        f"no other thread can ({error}). Compute it there before it is handed on: "
        f"mlx.core.eval(x.native), or whatever reads its values"
    )


def memory(device: mx.Device) -> MemoryFigures:
    """Return the memory figures of a device.

    ``used`` and ``pooled`` are MLX's own in this process, and one figure for all its devices.
    Apple's GPUs have the machine's memory.
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


def synchronize(device: mx.Device) -> None:
    """Wait for all work that was started on a device by this thread."""
    mx.synchronize(device)


def reclaim(device: mx.Device) -> None:
    """Give memory that MLX pools back to the system."""
    mx.clear_cache()


def driver(platform: str) -> str:
    """Return the version of what drives a platform: macOS has Metal in itself."""
    return _host.mac_ver()[0] if platform == "metal" else ""


def scope(device: mx.Device) -> AbstractContextManager[Any] | None:
    """Make a device MLX's default one; None where the build has only the CPU."""
    return mx.stream(device) if _HAS_GPU else None
