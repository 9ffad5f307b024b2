"""Devices of JAX: discovery, dtypes, memory and errors.

JAX initializes every backend when it lists devices, and GPU backends preallocate most of the memory
unless the user sets ``XLA_PYTHON_CLIENT_PREALLOCATE=false``, which is not set here.
"""

from __future__ import annotations

import gc
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, suppress
from typing import Any

import jax
import ml_dtypes
import numpy as np
from jax._src.array import ArrayImpl  # the one concrete class; `jax.Array` is abstract

from portarray.backends.base import Backend
from portarray.backends.common import machine
from portarray.backends.jax import tracing
from portarray.backends.types import Description, MemoryFigures

__all__ = ["Devices", "configuration", "dtypes"]

# JAX's type stubs lack its settings.
_config: Any = jax.config

_live_arrays: Callable[[str], list[jax.Array]] = jax.live_arrays

_PLATFORMS = ("tpu", "cuda", "rocm", "cpu")

_DTYPES = {
    np.dtype(dtype): np.dtype(dtype)
    for dtype in (
        *(np.bool_, np.int8, np.int16, np.int32, np.uint8, np.uint16, np.uint32),
        *(np.float16, ml_dtypes.bfloat16, np.float32, np.complex64),
    )
}
_WITH_64_BITS = {
    **_DTYPES,
    **{np.dtype(d): np.dtype(d) for d in (np.int64, np.uint64, np.float64, np.complex128)},
}

_FAILURES = re.compile(r"\s*(INTERNAL|UNAVAILABLE|ABORTED|DATA_LOSS|DEADLINE_EXCEEDED|UNKNOWN)\b")

# JAX raises TypeError for some wrong shapes and values.
_ABOUT_VALUES = re.compile(
    r"incompatible shapes|cannot reshape|[Cc]annot concatenate|shapes? must|must have|dimension"
    r"|broadcast|equal shapes|same shape|contracting|[Aa]xis|ndim|\branks?\b|size|got shape"
)


class Devices(Backend):
    """Devices of JAX: discovery, dtypes, memory and errors."""

    array_type = ArrayImpl

    def version(self) -> str:
        return str(jax.__version__)

    @staticmethod
    def count(platform: str) -> int:
        return len(_local(platform))

    def reason_unsupported(self, platform: str) -> str:
        if platform not in _PLATFORMS:
            return f"JAX does not support {platform}"
        try:
            jax.local_devices(backend=platform)
        except RuntimeError as error:
            reason = str(error).splitlines()[0].removesuffix(".")
            return f"JAX does not have a {platform} backend here ({reason})"
        return f"JAX does not find a {platform} device in this process"

    def native_device(self, platform: str, index: int) -> jax.Device:
        return _local(platform)[index]

    def describe(self, platform: str, index: int) -> Description:
        if platform == "cpu":
            return machine.processor()
        kind = _local(platform)[index].device_kind
        return Description(str(kind), "accelerator" if platform == "tpu" else "gpu")

    @staticmethod
    def configuration() -> bool:
        """Return whether 64-bit dtypes are enabled now, in this thread."""
        return bool(_config.jax_enable_x64)

    def setting_for(self, dtype: np.dtype[Any]) -> str:
        if dtype not in _WITH_64_BITS or self.configuration():
            return ""
        return (
            "jax.config.update('jax_enable_x64', True), or JAX_ENABLE_X64=1 before JAX is imported"
        )

    def has_fixed_dtype(self, dtype: np.dtype[Any]) -> bool:
        """Return whether a dtype exists without ``jax_enable_x64``."""
        return dtype in _DTYPES

    @staticmethod
    def dtypes(platform: str, index: int) -> Mapping[np.dtype[Any], np.dtype[Any]]:
        return _WITH_64_BITS if Devices.configuration() else _DTYPES

    @staticmethod
    def device_of_native(device: object) -> tuple[str, int] | None:
        """Return platform and local index of a ``jax.Device`` of this process; None for others."""
        if not isinstance(device, jax.Device):
            return None
        platform = _platform(device)
        local = _local(platform)
        return (platform, local.index(device)) if device in local else None

    def owns(self, x: object) -> bool:
        return isinstance(x, jax.Array)

    def device_of_array(self, x: jax.Array) -> tuple[str, int]:
        """Return platform and index of an array's device; tracers are on JAX's default one."""
        if isinstance(x, jax.core.Tracer):
            device = _default_device()
        else:
            holders = x.devices()
            if len(holders) != 1:
                raise ValueError(
                    f"the JAX array is sharded over {len(holders)} devices "
                    f"({', '.join(sorted(map(str, holders)))})\n"
                    f"Hint: gather it on one with jax.device_put(x, device)"
                )
            (device,) = holders
        index = self.device_of_native(device)
        if index is None:
            raise ValueError(
                f"the JAX array is on {device}, which is not a device of this process: "
                f"{', '.join(map(str, jax.local_devices()))}"
            )
        return index

    def is_out_of_memory(self, error: BaseException) -> bool:
        """Return whether XLA could not allocate.

        JAX sometimes raises ValueError, and errors of asynchronous work differ in the message only.
        Errors of user callbacks are below the message's first line.
        """
        if isinstance(error, jax.errors.JaxRuntimeError):
            first = str(error).partition("\n")[0]
            return "RESOURCE_EXHAUSTED" in first or "Out of memory" in first
        return isinstance(error, ValueError) and str(error).startswith("RESOURCE_EXHAUSTED")

    def requested_bytes(self, error: BaseException) -> int | None:
        match = re.search(r"allocat\w+ (\d+) bytes|allocate ([\d.]+)([KMG])iB", str(error))
        if match is None:
            return super().requested_bytes(error)
        if match[1]:
            return int(match[1])
        return int(float(match[2]) * {"K": 2**10, "M": 2**20, "G": 2**30}[match[3]])

    def is_device_failure(self, error: BaseException) -> bool:
        return isinstance(error, jax.errors.JaxRuntimeError) and bool(_FAILURES.match(str(error)))

    def translate_error(self, error: Exception) -> Exception | None:
        unknown = tracing.explained(error)
        if unknown is not None:
            return unknown
        if type(error) is TypeError and _ABOUT_VALUES.search(str(error)):
            return ValueError(str(error))
        return None

    def memory(self, device: jax.Device) -> MemoryFigures:
        """Return the memory figures of a device.

        On GPUs and TPUs ``total`` is JAX's limit for this process. On CPUs, where JAX does not have
        a pool, it is the machine's memory, and ``used`` is that of all live arrays.
        """
        figures = device.memory_stats()
        if not figures:
            if device.platform != "cpu":
                return MemoryFigures()
            whole = machine.memory()
            used = sum(x.nbytes for x in _alive_on(device))
            return MemoryFigures(total=whole.total, free=whole.free, used=used, pooled=0)
        used = figures.get("bytes_in_use")
        total = figures.get("bytes_limit")
        pool = figures.get("pool_bytes")
        tracked = used is not None
        return MemoryFigures(
            total=total,
            free=total - used if tracked and total is not None else None,
            used=used,
            pooled=max(pool - used, 0) if tracked and pool is not None else None,
        )

    def synchronize(self, device: jax.Device) -> None:
        """Wait for all work on a device.

        Accelerators work in order, so waiting for new work suffices. On CPUs all live arrays are
        waited for. Errors of failed work are raised when its result is read.
        """
        with self.eager():
            for x in _alive_on(device):
                with suppress(jax.errors.JaxRuntimeError):
                    x.block_until_ready()
            last = jax.device_put(np.zeros((), np.int32), device)
            (last + last).block_until_ready()

    def is_traced(self, x: Any) -> bool:
        return tracing.is_traced(x)

    @staticmethod
    def eager() -> AbstractContextManager[Any]:
        """Return a context in which arrays are concrete even while JAX traces a function."""
        context: AbstractContextManager[Any] = jax.ensure_compile_time_eval()
        return context

    def reclaim(self, device: jax.Device) -> None:
        """Clear JAX's cache of compiled programs, and collect NumPy memory of deleted arrays."""
        gc.collect(0)
        jax.clear_caches()  # type: ignore[no-untyped-call]

    def driver(self, platform: str) -> str:
        local = _local(platform)
        return " ".join(local[0].client.platform_version.split()) if local else ""


def _local(platform: str) -> list[jax.Device]:
    """Return this process's devices of a platform, in JAX's order."""
    if platform not in _PLATFORMS:
        return []
    try:
        return list(jax.local_devices(backend=platform))
    except RuntimeError:  # the backend is missing or fails to initialize
        return []


def _platform(device: jax.Device) -> str:
    """Return portarray's name of a device's platform; JAX has "gpu" for both NVIDIA and AMD."""
    if device.platform != "gpu":
        return str(device.platform)
    return "rocm" if "rocm" in device.client.platform_version.lower() else "cuda"


def _default_device() -> jax.Device:
    chosen = _config.jax_default_device
    if isinstance(chosen, jax.Device):
        return chosen
    return _local(chosen)[0] if isinstance(chosen, str) else jax.local_devices()[0]


def _alive_on(device: jax.Device) -> Iterator[jax.Array]:
    """Yield the live arrays on a device; another thread may delete or donate them."""
    alone = len(_local(device.platform)) == 1  # checking each array's device is slow
    for x in _live_arrays(device.platform):
        try:
            here = alone or x.devices() == {device}
        except RuntimeError:  # the array is deleted
            continue
        if here:
            yield x


configuration, dtypes = Devices.configuration, Devices.dtypes
