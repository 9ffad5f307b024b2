"""The backend of virtual devices: NumPy's functions on arrays that NumPy cannot read."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import AbstractContextManager
from typing import Any, ClassVar

import numpy as np

from portarray import _dlpack as dlpack
from portarray._dispatch import categories, native_functions
from portarray._launchers.launcher import Launcher, Layout
from portarray._version import __version__
from portarray.backends import registry
from portarray.backends.base import Backend
from portarray.backends.types import Description, MemoryFigures
from portarray.testing.virtual import launching, machine
from portarray.testing.virtual.array import VirtualArray, lifted, new_array
from portarray.testing.virtual.machine import VirtualDevice

__all__ = ["BACKEND"]

Values = np.ndarray[Any, Any]


class _Lifted:
    """A namespace of NumPy's functions for virtual arrays."""

    def __init__(self, over: Any, prefix: str = "") -> None:
        self._over = over
        self._prefix = prefix

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._over, name)
        full = self._prefix + name
        attribute: Any = value
        if full in categories.EXTENSIONS:
            attribute = _Lifted(value, f"{full}.")
        elif full in _CHECKED:
            attribute = _CHECKED[full](lifted(value, full))
        elif callable(value):
            attribute = lifted(value, full)
        self.__dict__[name] = attribute
        return attribute


def _assigning(assign: Any) -> Any:
    """Raise for assignment on devices with ``assignment=False``."""

    def setitem(x: VirtualArray, key: Any, value: Any, /) -> Any:
        traits = x.device.traits
        if not traits.assignment:
            raise TypeError(
                f"'Array' object does not support item assignment: {x.device}, a virtual device "
                f"with assignment=False, emulates the immutable arrays of {traits.library}\n"
                f"Hint: use xp.where(...), which returns a new array"
            )
        return assign(x, key, value)

    return setitem


def _reshaping(reshape: Any) -> Any:
    """Raise for views of immutable arrays, which would not show changes."""

    def checked(x: VirtualArray, /, shape: Any, *, copy: bool | None = None) -> Any:
        if copy is False and x.device.traits.immutable:
            raise ValueError(
                f"reshape: copy=False, but arrays on {x.device} are immutable and have no views\n"
                f"Hint: pass copy=None"
            )
        return reshape(x, shape, copy=copy)

    return checked


def _copying(asarray: Any) -> Any:
    """Copy NumPy's arrays to the device, as the libraries of GPUs do."""

    def checked(x: Any, /, *, device: Any = None, copy: bool | None = None, **options: Any) -> Any:
        if not isinstance(x, np.ndarray):
            return asarray(x, device=device, copy=copy, **options)
        target = machine.default() if device is None else device
        if copy is False:
            raise ValueError(
                f"asarray: copy=False, but {target} does not share NumPy's memory\n"
                f"Hint: pass copy=None"
            )
        return asarray(new_array(x.copy(), target), device=device, **options)

    return checked


_CHECKED = {"setitem": _assigning, "reshape": _reshaping, "asarray": _copying}


def _numpy() -> Any:
    return native_functions.NativeFunctions(registry.load_backend("numpy"), "cpu").namespace


class VirtualBackend(Backend):
    """NumPy behind virtual devices."""

    array_type = VirtualArray
    standard: ClassVar[Any] = _Lifted(_numpy())
    accepts_scalars = True
    linalg_ignores_nonfinite = frozenset()  # NumPy's functions already handle non-finite values

    def version(self) -> str:
        return __version__

    def count(self, platform: str) -> int:
        return machine.count_of(platform)

    def reason_unsupported(self, platform: str) -> str:
        return (
            f"none was created; use portarray.testing.virtual_devices({platform!r}) or "
            f"{machine.VARIABLE}={platform}"
        )

    def native_device(self, platform: str, index: int) -> VirtualDevice:
        return machine.find(platform, index)

    def describe(self, platform: str, index: int) -> Description:
        traits = machine.find(platform, index).traits
        title = registry.backend_infos()[traits.library].title
        return Description(f"virtual {platform} device, emulating {title}", traits.kind)

    def dtypes(self, platform: str, index: int) -> Mapping[np.dtype[Any], np.dtype[Any]]:
        return machine.find(platform, index).traits.dtypes()

    def device_of_native(self, device: object) -> tuple[str, int] | None:
        if not isinstance(device, VirtualDevice):
            return None
        device.check_alive(device.life)
        return device.platform, device.index

    def device_of_array(self, x: VirtualArray) -> tuple[str, int]:
        device = x.device
        device.check_alive(x._memory.life)
        return device.platform, device.index

    def serves(self, device: VirtualDevice, name: str) -> bool:
        return name not in device.traits.host_functions

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, MemoryError)

    def memory(self, device: VirtualDevice) -> MemoryFigures:
        total = device.traits.memory
        free = None if total is None else total - device.used
        return MemoryFigures(total=total, free=free, used=device.used, pooled=0)

    def synchronize(self, device: VirtualDevice) -> None:
        """Raise a pending failure."""
        device.check_alive(device.life)
        device.wait()

    def eager(self) -> AbstractContextManager[Any]:
        return machine.probing()

    def scope(self, device: VirtualDevice) -> AbstractContextManager[Any] | None:
        return device if device.traits.current and len(device.together) > 1 else None

    # Kernels

    def launcher(self, device: VirtualDevice) -> Launcher | str:
        return launching.launcher(device)

    def layout(self, x: VirtualArray) -> Layout:
        return launching.layout(x)

    def extent(self, x: VirtualArray) -> tuple[None, int, tuple[int, ...]] | None:
        return launching.extent(x)

    def allocation(self, x: VirtualArray) -> int:
        return id(x._memory)

    def is_broadcast(self, x: VirtualArray) -> bool:
        return launching.is_broadcast(x)

    # Host memory

    def on_host(self, device: VirtualDevice) -> bool:
        return device.traits.host_readable

    def from_host(
        self,
        array: Values,
        device: VirtualDevice,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> VirtualArray:
        """Copy NumPy's array to a device.

        Raises
        ------
        ValueError
            If ``copy=False``.
        """
        if copy is False:
            raise ValueError(f"copy=False, but {self.why_copied_in(array, device)}; pass copy=None")
        device.check_alive(device.life)
        return new_array(np.array(array, dtype=array.dtype.newbyteorder("="), order="C"), device)

    def why_copied_in(self, array: Values, device: VirtualDevice) -> str:
        return f"{device} has memory of its own"

    def to_host(self, x: VirtualArray, *, copy: bool | None) -> Values:
        """Return a NumPy array: a copy, or a read-only view of host-readable memory.

        Raises
        ------
        ValueError
            If ``copy=False`` and the memory is not host-readable.
        """
        device = x.device
        device.check_alive(x._memory.life)
        shared = device.traits.host_readable and not copy
        if copy is False and not shared:
            raise ValueError(
                f"copy=False, but {device} has memory of its own; pass copy=None or copy=True"
            )
        device.wait()
        values = x._values.view() if shared else x._values.copy()
        if shared:
            values.flags.writeable = False
        return values

    def printable(self, x: VirtualArray, device: VirtualDevice) -> Values:
        """Return the values for printing, which does not count as a transfer."""
        device.check_alive(x._memory.life)
        device.wait()
        return x._values

    def move(
        self,
        x: VirtualArray,
        device: VirtualDevice,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> VirtualArray:
        """Return an array on another virtual device.

        Raises
        ------
        ValueError
            If ``copy=False`` and the data must move.
        """
        x.device.check_alive(x._memory.life)
        device.check_alive(device.life)
        if device is x.device and not copy:
            return x
        if copy is False:
            raise ValueError(f"copy=False, but {self.why_copied(x, device)}; pass copy=None")
        return new_array(x._values.copy(), device)

    # DLPack

    def from_dlpack(self, x: Any, device: VirtualDevice, *, copy: bool | None) -> VirtualArray:
        """Copy a producer's host memory to a device.

        Raises
        ------
        BufferError
            If the data is in the memory of a real device.
        """
        kind = int(x.__dlpack_device__()[0])
        if kind not in dlpack.HOST_KINDS:
            raise BufferError(
                f"{device} is a virtual device and cannot read {dlpack.kind_name(kind)} memory; "
                f"move the data to the host first"
            )
        return self.from_host(dlpack.host_values(x), device, copy=copy)

    def to_dlpack(
        self,
        x: VirtualArray,
        *,
        stream: Any,
        max_version: tuple[int, int] | None,
        dl_device: tuple[int, int] | None,
        copy: bool | None,
    ) -> Any:
        return x.__dlpack__(stream=stream, max_version=max_version, dl_device=dl_device, copy=copy)

    def dlpack_device(self, x: VirtualArray) -> tuple[int, int]:
        return x.__dlpack_device__()


BACKEND = VirtualBackend
