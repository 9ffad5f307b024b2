"""Base of the fake backends: wrappers of NumPy's arrays, each with a device.

A fake backend computes with the NumPy backend's functions. NumPy cannot read its arrays by
accident, its functions refuse mixed devices and unsupported dtypes, and results are narrowed like
those of a library without 64-bit types.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np

from portarray._dispatch import native_functions
from portarray.backends import registry
from portarray.backends.base import Backend
from portarray.backends.types import Description, Kind, MemoryFigures

NAMES = (
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "complex64", "complex128"),
)

_NARROWER = {
    "int64": "int32",
    "uint64": "uint32",
    "float64": "float32",
    "complex128": "complex64",
}


@dataclass(frozen=True)
class NativeDevice:
    """A fake library's own device object."""

    library: str
    index: int


class FakeMemoryError(Exception):
    """A fake library's own error."""


class FakeArray:
    """An array of a fake library; each library has its own subclass."""

    library: Library
    __slots__ = ("data", "device")

    def __init__(self, data: np.ndarray[Any, Any], device: NativeDevice) -> None:
        self.data = data
        self.device = device

    @property
    def shape(self) -> tuple[int, ...]:
        shape: tuple[int, ...] = self.data.shape
        return shape

    @property
    def dtype(self) -> np.dtype[Any]:
        dtype: np.dtype[Any] = self.data.dtype
        return dtype

    @property
    def ndim(self) -> int:
        return self.data.ndim

    @property
    def size(self) -> int:
        return self.data.size

    def __array__(self, *args: object, **options: object) -> None:
        raise TypeError(f"NumPy cannot read arrays of {self.library.name}")


class Standard:
    """A namespace of NumPy's functions, for the arrays of a fake library."""

    def __init__(self, library: Library, over: Any, lacking: tuple[str, ...]) -> None:
        self._library, self._of_numpy, self._lacking = library, over, lacking

    def __getattr__(self, name: str) -> Any:
        if name in self._lacking:
            raise AttributeError(name)
        value = getattr(self._of_numpy, name)
        if not callable(value) and name in ("linalg", "fft", "special"):
            return Standard(self._library, value, self._lacking)
        return self._library._over(value) if callable(value) else value


class Scope:
    """A block in which a device is current; an unclosed block leaves it current."""

    def __init__(self, library: Library, device: NativeDevice) -> None:
        self._library, self._device = library, device

    def __enter__(self) -> None:
        self._previous, self._library.current = self._library.current, self._device.index
        self._library.entered += 1

    def __exit__(self, *_: object) -> None:
        self._library.current = self._previous
        self._library.entered -= 1


@dataclass
class Library:
    """A fake library: its devices, unsupported dtypes, and recorded calls."""

    name: str
    platform: str
    count: int
    kind: Kind
    lacking: tuple[str, ...] = ()
    on_host: bool = False
    scoped: bool = False  # whether it has a current device
    memory: dict[int, MemoryFigures] = field(default_factory=dict)
    synchronized: list[int] = field(default_factory=list)
    reclaimed: list[int] = field(default_factory=list)
    current: int = 0
    entered: int = 0  # scopes that were not left

    def __post_init__(self) -> None:
        members = {"__slots__": (), "library": self}
        self.array_type: Any = type(f"{self.name.title()}Array", (FakeArray,), members)
        self.dtypes = {np.dtype(n): np.dtype(n) for n in NAMES if n not in self.lacking}

    def on_device(self, device: NativeDevice) -> Scope:
        """Make a device current."""
        return Scope(self, device)

    def check(self, dtype: np.dtype[Any]) -> None:
        """Raise for dtypes that the library lacks."""
        if dtype not in self.dtypes:
            raise TypeError(f"{self.name} has no {dtype}")

    def standard(self, lacking: tuple[str, ...] = ()) -> Standard:
        """Return the NumPy backend's functions, for arrays of this library."""
        functions = native_functions.NativeFunctions(registry.load_backend("numpy"), "cpu")
        return Standard(self, functions.namespace, lacking)

    def _over(self, function: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(function)
        def over(*args: Any, **options: Any) -> Any:
            arrays: list[FakeArray] = []
            args = self._bare(args, arrays)
            options = {key: self._bare(value, arrays) for key, value in options.items()}
            devices = {x.device for x in arrays}
            if len(devices) > 1:
                raise RuntimeError(f"{self.name} got arrays of {devices}")
            requested = options.pop("device", None)
            device = requested or (
                devices.pop() if devices else NativeDevice(self.name, self.current)
            )
            return self._wrapped(function(*args, **options), device, arrays)

        return over

    def _bare(self, value: Any, arrays: list[FakeArray]) -> Any:
        if isinstance(value, FakeArray):
            if not isinstance(value, self.array_type):
                raise TypeError(f"{self.name} got {value!r}")
            arrays.append(value)
            return value.data
        if isinstance(value, np.ndarray):
            raise TypeError(f"{self.name} got a NumPy array")
        if isinstance(value, np.dtype):
            self.check(value)
        if type(value) in (list, tuple):
            return type(value)(self._bare(part, arrays) for part in value)
        return value

    def _wrapped(self, value: Any, device: NativeDevice, arrays: list[FakeArray]) -> Any:
        if isinstance(value, np.ndarray | np.generic):
            for x in arrays:
                if x.data is value:  # changed in place
                    return x
            data = np.asarray(value)
            if data.dtype.name in self.lacking:
                name = data.dtype.name
                while name in self.lacking:
                    name = _NARROWER[name]
                data = data.astype(name)
            return self.array_type(data, device)
        if isinstance(value, tuple):
            parts = [self._wrapped(part, device, arrays) for part in value]
            return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
        if isinstance(value, list):
            return [self._wrapped(part, device, arrays) for part in value]
        return value


class OverNumpy(Backend):
    """A fake backend; each has its own ``_library``."""

    _library: ClassVar[Library]
    accepts_scalars = True

    def __init_subclass__(cls) -> None:
        cls.array_type = cls._library.array_type

    def version(self) -> str:
        return "1.0"

    def driver(self, platform: str) -> str:
        return "7"

    def count(self, platform: str) -> int:
        return self._library.count if platform == self._library.platform else 0

    def reason_unsupported(self, platform: str) -> str:
        return f"{self._library.name} has no {platform}"

    def native_device(self, platform: str, index: int) -> NativeDevice:
        return NativeDevice(self._library.name, index)

    def describe(self, platform: str, index: int) -> Description:
        return Description(f"{self._library.name} {index}", self._library.kind)

    def dtypes(self, platform: str, index: int) -> Mapping[np.dtype[Any], Any]:
        return self._library.dtypes

    def device_of_native(self, device: object) -> tuple[str, int] | None:
        if isinstance(device, NativeDevice) and device.library == self._library.name:
            return self._library.platform, device.index
        return None

    def device_of_array(self, x: FakeArray) -> tuple[str, int]:
        return self._library.platform, x.device.index

    def is_out_of_memory(self, error: BaseException) -> bool:
        return isinstance(error, FakeMemoryError)

    def memory(self, device: NativeDevice) -> MemoryFigures:
        return self._library.memory.get(device.index, MemoryFigures())

    def synchronize(self, device: NativeDevice) -> None:
        self._library.synchronized.append(device.index)

    def reclaim(self, device: NativeDevice) -> None:
        self._library.reclaimed.append(device.index)

    def scope(self, device: NativeDevice) -> contextlib.AbstractContextManager[Any] | None:
        return self._library.on_device(device) if self._library.scoped else None

    def on_host(self, device: NativeDevice) -> bool:
        return self._library.on_host

    def from_host(
        self,
        array: np.ndarray[Any, Any],
        device: NativeDevice,
        *,
        copy: bool | None,
        non_blocking: bool = False,
    ) -> FakeArray:
        self._library.check(array.dtype)
        on_host = self._library.on_host
        if not on_host and copy is False:
            raise ValueError(f"{self._library.name} cannot share memory with the host")
        mine = array.copy() if copy or not on_host else array
        result: FakeArray = self.array_type(mine, device)
        return result

    def to_host(self, x: FakeArray, *, copy: bool | None) -> np.ndarray[Any, Any]:
        on_host = self._library.on_host
        if not on_host and copy is False:
            raise ValueError(f"{self._library.name} cannot share memory with the host")
        return x.data.copy() if copy or not on_host else x.data

    def move(
        self, x: FakeArray, device: NativeDevice, *, copy: bool | None, non_blocking: bool = False
    ) -> FakeArray:
        if device == x.device and not copy:
            return x
        if copy is False:
            raise ValueError(f"{x.device} and {device} do not share memory")
        moved: FakeArray = self.array_type(x.data.copy(), device)
        return moved

    def from_dlpack(self, x: Any, device: NativeDevice, *, copy: bool | None) -> FakeArray:
        return self.from_host(np.from_dlpack(x), device, copy=copy)

    def to_dlpack(self, x: FakeArray, *, stream: Any, **options: Any) -> Any:
        if not self._library.on_host:
            raise BufferError(f"{self._library.name} exports no DLPack")
        return x.data.__dlpack__(stream=stream, **options)

    def dlpack_device(self, x: FakeArray) -> tuple[int, int]:
        return (1 if self._library.on_host else 2, x.device.index)
