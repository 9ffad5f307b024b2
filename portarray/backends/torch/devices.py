"""PyTorch's devices: discovery, dtypes, memory and errors."""

from __future__ import annotations

import platform as _host
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any

import ml_dtypes  # noqa: F401  # registers bfloat16 with NumPy
import numpy as np
import torch
from torch.utils._python_dispatch import _disable_current_modes

from portarray.backends.base import Backend
from portarray.backends.common import machine
from portarray.backends.types import Description, MemoryFigures

__all__ = ["DTYPES", "Devices", "dtypes"]

# PyTorch calls AMD's GPUs "cuda" too: the build determines the platform.
_IS_ROCM = torch.version.hip is not None
_TYPE_OF = {
    "cpu": "cpu",
    "metal": "mps",
    "oneapi": "xpu",
    "rocm" if _IS_ROCM else "cuda": "cuda",
}
_PLATFORM_OF = {kind: platform for platform, kind in _TYPE_OF.items()}

DTYPES: dict[np.dtype[Any], torch.dtype] = {
    np.dtype(name): getattr(torch, name)
    for name in (
        *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
        *("float16", "bfloat16", "float32", "float64", "complex64", "complex128"),
    )
}
# Metal has no double precision.
_METAL_DTYPES = {
    dtype: native
    for dtype, native in DTYPES.items()
    if native not in (torch.float64, torch.complex128)
}
_OLD_METAL_DTYPES = {
    dtype: native
    for dtype, native in _METAL_DTYPES.items()
    if native not in (torch.bfloat16, torch.complex64)
}
"""Before macOS 14: https://github.com/pytorch/pytorch/pull/119641"""

_NO_MEMORY = (
    "DefaultCPUAllocator: can't allocate memory",
    "DefaultCPUAllocator: not enough memory",  # on Windows
    "MPS backend out of memory",
    "Storage size calculation overflowed",
    "CUDA error: out of memory",  # pinned memory, for example
    "HIP error: out of memory",
    "_STATUS_ALLOC_FAILED",  # workspace of NVIDIA's and AMD's libraries
)

_is_wrapped: Callable[[torch.Tensor], bool] = torch._C._functorch.is_functorch_wrapped_tensor
_modes_before_dispatch: Callable[[], int] = torch._ops._len_torch_dispatch_stack_pre_dispatch

_UNITS = {"b": 1, "k": 2**10, "m": 2**20, "g": 2**30}


class Devices(Backend):
    """PyTorch's devices: discovery, dtypes, memory and errors."""

    array_type = torch.Tensor

    def version(self) -> str:
        return str(torch.__version__)

    def count(self, platform: str) -> int:
        kind = _TYPE_OF.get(platform)
        if kind == "cpu":
            return 1
        if kind == "cuda":
            return torch.cuda.device_count() if torch.cuda.is_available() else 0
        if kind == "mps":
            return 1 if torch.backends.mps.is_available() else 0
        if kind == "xpu":
            return torch.xpu.device_count() if torch.xpu.is_available() else 0
        return 0

    def reason_unsupported(self, platform: str) -> str:
        if platform == "cuda":
            if _IS_ROCM:
                return "this PyTorch build is for ROCm, not CUDA"
            if not torch.backends.cuda.is_built():  # type: ignore[no-untyped-call, unused-ignore]
                return "this PyTorch build has no CUDA"
            return _cuda_trouble("no NVIDIA driver or card was found")
        if platform == "rocm":
            if not _IS_ROCM:
                return "this PyTorch build has no ROCm"
            return _cuda_trouble("no AMD driver or card was found")
        if platform == "metal":
            if not torch.backends.mps.is_built():
                return "this PyTorch build has no Metal (MPS)"
            return "Metal (MPS) needs macOS 12.3 or later on a machine with a Metal card"
        if platform == "oneapi":
            # CPU and CUDA builds have torch.xpu too, without the device type.
            if not torch.xpu._is_compiled():
                return "this PyTorch build has no oneAPI (XPU)"
            return "no Intel card with a oneAPI driver was found"
        return f"PyTorch does not drive {platform}"

    def native_device(self, platform: str, index: int) -> torch.device:
        kind = _TYPE_OF[platform]
        # CPU tensors have device "cpu", which differs from "cpu:0".
        return torch.device("cpu") if kind == "cpu" else torch.device(kind, index)

    def describe(self, platform: str, index: int) -> Description:
        kind = _TYPE_OF[platform]
        if kind == "cuda":
            return Description(torch.cuda.get_device_name(index), "gpu")
        if kind == "xpu":
            return Description(torch.xpu.get_device_name(index), "gpu")
        if kind == "mps":
            return Description("Metal GPU", "gpu")
        return machine.processor()

    @staticmethod
    def dtypes(platform: str, index: int) -> Mapping[np.dtype[Any], torch.dtype]:
        if platform != "metal":
            return DTYPES
        mps = torch.backends.mps
        is_old = mps.is_available() and not mps.is_macos_or_newer(14, 0)
        return _OLD_METAL_DTYPES if is_old else _METAL_DTYPES

    def device_of_native(self, device: object) -> tuple[str, int] | None:
        """Return platform and index of a ``torch.device``; None for other objects.

        A device without an index, such as ``torch.device("cuda")``, is PyTorch's current one of
        that type.
        """
        if not isinstance(device, torch.device):
            return None
        platform = _PLATFORM_OF.get(device.type)
        if platform is None:
            return None
        # The stubs type the index as int; it may be None.
        index: int | None = device.index
        if index is not None:
            return platform, index
        if device.type == "cuda" and torch.cuda.is_available():
            return platform, torch.cuda.current_device()
        if device.type == "xpu" and torch.xpu.is_available():
            return platform, torch.xpu.current_device()
        return platform, 0

    def device_of_array(self, x: torch.Tensor) -> tuple[str, int]:
        device = x.device
        platform = _PLATFORM_OF.get(device.type)
        if platform is None:
            raise ValueError(
                f"unsupported PyTorch device {device.type!r}\n"
                f"Hint: move the tensor to one of {', '.join(sorted(_PLATFORM_OF))}"
            )
        return platform, device.index or 0

    @staticmethod
    def is_out_of_memory(error: BaseException) -> bool:
        if isinstance(error, torch.OutOfMemoryError):
            return True
        if not isinstance(error, RuntimeError):
            return False
        # Other allocators than the GPUs' raise RuntimeError; only the message tells.
        text = str(error)
        return text == "std::bad_alloc" or any(phrase in text for phrase in _NO_MEMORY)

    def requested_bytes(self, error: BaseException) -> int | None:
        match = re.search(
            r"tried to allocate ([\d.]+) ?(bytes|[KMG]i?B)?", str(error), re.IGNORECASE
        )
        if match is None:
            return super().requested_bytes(error)
        return int(float(match[1]) * _UNITS[(match[2] or "b")[0].lower()])

    def linalg_errors(self) -> tuple[type[Exception], ...]:
        return (torch.linalg.LinAlgError,)  # type: ignore[attr-defined]

    def is_device_failure(self, error: BaseException) -> bool:
        # Older releases raise RuntimeError.
        failure: type[BaseException] | None = getattr(torch, "AcceleratorError", None)
        return failure is not None and isinstance(error, failure)

    def translate_error(self, error: Exception) -> Exception | None:
        """Return an IndexError for an index out of bounds in a program of Inductor on a CPU."""
        match = re.search(r"index out of bounds: 0 <= \w+ < (\d+)", str(error))
        if not isinstance(error, RuntimeError) or match is None:
            return None
        return IndexError(
            f"in a compiled function, an index is out of bounds for an axis of size {match[1]}\n"
            f"Hint: call the function without pa.compile to see which"
        )

    def memory(self, device: torch.device) -> MemoryFigures:
        """Return the memory figures of a device.

        On CUDA, ROCm and oneAPI ``used`` and ``pooled`` are PyTorch's in this process; a CPU has
        the machine's memory, without a pool.
        """
        if device.type in ("cuda", "xpu"):
            module = torch.cuda if device.type == "cuda" else torch.xpu
            used = module.memory_allocated(device)
            pooled = module.memory_reserved(device) - used
            free, total = module.mem_get_info(device)
            return MemoryFigures(total=total, free=free, used=used, pooled=pooled)
        if device.type == "mps":
            used = torch.mps.current_allocated_memory()
            total = torch.mps.recommended_max_memory()
            driver_bytes = torch.mps.driver_allocated_memory()
            return MemoryFigures(
                total=total,
                free=max(total - driver_bytes, 0),
                used=used,
                pooled=driver_bytes - used,
            )
        return machine.memory()

    @staticmethod
    @contextmanager
    def eager() -> Iterator[None]:
        """Compute outside torch.func's transformations and PyTorch's dispatch modes."""
        # Disabling modes imports modules, also where there are none.
        modes = torch._C._len_torch_dispatch_stack() or _modes_before_dispatch()
        with torch._C._DisableFuncTorch(), _disable_current_modes() if modes else nullcontext():
            yield

    def is_traced(self, x: torch.Tensor) -> bool:
        return x.__class__ is not torch.Tensor or _is_wrapped(x)

    def synchronize(self, device: torch.device) -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)
        elif device.type == "xpu":
            torch.xpu.synchronize(device)
        elif device.type == "mps":
            torch.mps.synchronize()

    def reclaim(self, device: torch.device) -> None:
        if device.type == "cuda":
            with torch.cuda.device(device):
                torch.cuda.empty_cache()
        elif device.type == "xpu":
            torch.xpu.empty_cache()
        elif device.type == "mps":
            torch.mps.empty_cache()

    def driver(self, platform: str) -> str:
        if platform == "cuda":
            return str(torch.version.cuda or "")
        if platform == "rocm":
            return str(torch.version.hip or "")
        if platform == "oneapi":
            return str(getattr(torch.version, "xpu", None) or "")
        if platform == "metal":
            return _host.mac_ver()[0]
        return ""

    def scope(self, device: torch.device) -> AbstractContextManager[Any] | None:
        """Return a context that makes a device current; None if none is needed."""
        if device.type == "cuda":
            return torch.cuda.device(device)
        if device.type == "xpu":
            return torch.xpu.device(device)
        return None


def _cuda_trouble(nothing_found: str) -> str:
    try:
        torch.cuda.init()  # type: ignore[no-untyped-call, unused-ignore]
    except (RuntimeError, AssertionError) as error:
        first_line = (str(error).strip() or type(error).__name__).splitlines()[0]
        return f"{nothing_found} ({first_line})"
    return nothing_found


dtypes = Devices.dtypes
