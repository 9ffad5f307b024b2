"""Transfer between devices, and DLPack.

JAX's arrays are immutable. Memory that other libraries may write is therefore shared only on
request (``copy=False``).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np

from portarray import _dlpack as dlpack
from portarray.backends.jax import tracing
from portarray.backends.jax.devices import Devices
from portarray.backends.jax.host_memory import HostMemory

__all__ = ["Transfer", "from_dlpack", "from_host", "move"]

# DLPack's device types.
_DLPACK_CPU = 1
_GPU = {"cuda": 2, "rocm": 10}

_BFLOAT16 = np.dtype(ml_dtypes.bfloat16)  # not exported by NumPy

# JAX's stubs type the results as Any.
_put: Callable[[Any, jax.Device], jax.Array] = jax.device_put


class Transfer(HostMemory):
    """Transfer of JAX's arrays: host memory, other devices, DLPack."""

    immutable = True

    def dlpack_device_of(self, device: jax.Device) -> tuple[int, int] | None:
        """Return DLPack's type and index of a device's memory; None for TPUs."""
        if self.on_host(device):
            return (_DLPACK_CPU, 0)
        kind, index = _kind(device), device.local_hardware_id
        return None if kind is None or index is None else (kind, index)

    def readable_dlpack_types(self, device: jax.Device) -> frozenset[int]:
        kind = _kind(device)
        return frozenset() if kind is None else frozenset({kind})

    @staticmethod
    def move(
        x: jax.Array, device: jax.Device, *, copy: bool | None, non_blocking: bool = False
    ) -> jax.Array:
        """Return an array on another device."""
        if tracing.is_traced(x):
            return _put(x, device)
        here = _only_device(x)
        if here == device:
            if not copy:
                return x
        elif copy is False:
            raise ValueError(
                f"copy=False, but moving an array from {here} to {device} copies it\n"
                f"Hint: pass copy=None or copy=True"
            )
        if HostMemory.on_host(here) and HostMemory.on_host(device):
            return HostMemory.from_host(np.asarray(x), device, copy=True)
        return jnp.array(x, copy=True) if here == device else _put(x, device)

    def why_copied(self, x: jax.Array, device: jax.Device) -> str:
        if tracing.is_traced(x) or x.devices() == {device}:
            return ""
        return f"{_only_device(x)} and {device} have separate memory"

    @staticmethod
    def from_dlpack(x: Any, device: jax.Device | None, *, copy: bool | None) -> jax.Array:
        """Make an array on a device from an object with ``__dlpack__``."""
        if isinstance(x, jax.Array):
            return Transfer.move(x, _only_device(x) if device is None else device, copy=copy)
        kind, index = map(int, x.__dlpack_device__())
        if kind in dlpack.HOST_KINDS:
            values = dlpack.host_values(x)
            _refuse_missing(values.dtype.newbyteorder("="))
            return HostMemory.from_host(values, _cpu() if device is None else device, copy=copy)
        shared, private = _over_gpu_memory(x, (kind, index), copy)
        _refuse_missing(shared.dtype)
        here = _only_device(shared)
        if device is None or device == here:
            if private or copy is False:
                return shared
            with Devices.eager():
                # The asynchronous copy reads memory that the producer may write.
                return jnp.array(shared, copy=True).block_until_ready()
        if copy is False:
            raise ValueError(
                f"copy=False, but the data is on {here} and not on {device}\n"
                f"Hint: pass copy=None or copy=True"
            )
        with Devices.eager():
            return _put(shared, device).block_until_ready()

    def to_dlpack(
        self,
        x: Any,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        """Return a DLPack capsule of an array, once it is computed.

        For DLPack 1.0 host memory is flagged read-only unless it is a copy. JAX's own capsules lack
        the flag, but must not be written either.
        """
        origin = self.dlpack_device(x)
        source = x
        if dl_device is not None and (int(dl_device[0]), int(dl_device[1])) != origin:
            if int(dl_device[0]) != _DLPACK_CPU:
                raise BufferError(
                    f"an array on {x.device} can be exported to its own DLPack device {origin} "
                    f"and to the CPU ({_DLPACK_CPU}, 0), not to {tuple(dl_device)}"
                )
            if copy is False:
                raise BufferError(f"copy=False, but the array on {x.device} must be moved first")
            with self.eager():
                source = _put(x, _cpu())
            stream, origin, copy = None, (_DLPACK_CPU, 0), None
        reads_flags = max_version is not None and max_version[0] >= 1
        if origin[0] == _DLPACK_CPU and reads_flags and x.dtype != _BFLOAT16:
            return self.to_host(source, copy=copy).__dlpack__(max_version=max_version)
        if copy:
            source = self.move(source, _only_device(source), copy=True)
        # XLA would read -1 (no synchronization) as a stream's address; without a stream it waits.
        return source.__dlpack__(stream=None if stream == -1 else stream)

    def dlpack_device(self, x: Any) -> tuple[int, int]:
        if tracing.is_traced(x):
            with tracing.values_needed():
                x.__dlpack__()  # JAX lacks __dlpack_device__ there
        kind, index = x.__dlpack_device__()
        return int(kind), int(index)


def _kind(device: jax.Device) -> int | None:
    """Return DLPack's type of a GPU; None for other devices and GPUs of other processes."""
    index = Devices.device_of_native(device)
    return None if index is None else _GPU.get(index[0])


def _over_gpu_memory(x: Any, origin: tuple[int, int], copy: bool | None) -> tuple[jax.Array, bool]:
    """Import a GPU's memory, after the producer's work; also return whether it was copied."""
    if not any(kind == origin[0] and Devices.count(name) for name, kind in _GPU.items()):
        raise BufferError(
            f"JAX cannot read DLPack device {origin} ({dlpack.kind_name(origin[0])}) here\n"
            f"Hint: move the data to the host first"
        )
    # Without jax_enable_x64 JAX would narrow 64-bit dtypes with only a warning.
    with jax.enable_x64(True), Devices.eager():
        try:
            return jnp.from_dlpack(x), False  # passes XLA's stream to the producer
        except jax.errors.JaxRuntimeError as error:
            if copy is False:
                raise ValueError(
                    f"copy=False, but XLA cannot share the memory ({error})\nHint: pass copy=None"
                ) from error
        return jnp.from_dlpack(_Compact(x)), True


class _Compact:
    """A producer that exports contiguous copies."""

    def __init__(self, x: Any) -> None:
        self._x = x

    def __dlpack__(self, *, stream: Any = None) -> Any:
        return self._x.__dlpack__(stream=stream, copy=True)  # XLA cannot read DLPack 1.0

    def __dlpack_device__(self) -> Any:
        return self._x.__dlpack_device__()


def _refuse_missing(dtype: np.dtype[Any]) -> None:
    if dtype not in Devices.dtypes("cpu", 0):
        raise TypeError(
            f"JAX does not have {dtype} without jax_enable_x64\nHint: set JAX_ENABLE_X64=1, call "
            f"jax.config.update('jax_enable_x64', True), or convert the data to 32 bits first"
        )


def _cpu() -> jax.Device:
    return jax.local_devices(backend="cpu")[0]


def _only_device(x: jax.Array) -> jax.Device:
    (device,) = x.devices()
    return device


from_dlpack, move, from_host = Transfer.from_dlpack, Transfer.move, Transfer.from_host
