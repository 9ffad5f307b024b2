"""Namespaces of native arrays, each of one device."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from portarray._array import base, dispatch
from portarray._array.info import NamespaceInfo
from portarray._array.interop import VERSION
from portarray._devices.device import Device
from portarray._dispatch.native_functions import NativeNamespace
from portarray._name_hints import FUNCTIONS, attribute_error

_namespaces: dict[Device, DeviceNamespace] = {}
_CREATION = frozenset(
    {
        *("arange", "asarray", "empty", "eye", "from_dlpack", "full", "linspace", "ones", "zeros"),
        *("fft.fftfreq", "fft.rfftfreq"),
    }
)


class DeviceNamespace(NativeNamespace):
    """A native namespace whose creation functions default to its device."""

    __array_api_version__ = VERSION

    def __init__(self, device: Device, prefix: str = "") -> None:
        super().__init__(dispatch.functions_of(device), prefix)
        self._where = device
        self._missed: set[str] = set()

    def __array_namespace_info__(self) -> NativeInfo:
        """Return the inspection object."""
        return NativeInfo(self._where)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        if name in self._missed:
            raise self._missing(name)
        try:
            value = super().__getattr__(name)
        except AttributeError as error:
            if name not in self._ours():  # a dtype may appear with the library's settings
                self._missed.add(name)
            raise self._missing(name) from error
        if self._prefix + name in _CREATION:
            value = _here(value, self._where)
        elif isinstance(value, NativeNamespace):
            value = DeviceNamespace(self._where, f"{name}.")
        self.__dict__[name] = value
        return value

    def _missing(self, name: str) -> AttributeError:
        part = self._prefix.rstrip(".")
        owner = f"{part or 'the'} namespace of {self._where}"
        return attribute_error(owner, name, FUNCTIONS[part], self._ours)

    def _ours(self) -> list[str]:
        """Return portarray's own names of the same part, which are nearly those here."""
        ours: Any = base.NAMESPACE[0]
        return list(getattr(ours, self._prefix.rstrip("."), ours).__all__)


def _here(function: Callable[..., Any], where: Device) -> Callable[..., Any]:
    """Give a creation function a default device."""

    @wraps(function)
    def create(*args: Any, device: Any = None, **options: Any) -> Any:
        return function(*args, device=where.native if device is None else device, **options)

    return create


class NativeInfo:
    """Inspection of a native namespace, in the library's own dtypes and devices."""

    __slots__ = ("_device",)

    def __init__(self, device: Device) -> None:
        self._device = device

    def capabilities(self) -> dict[str, Any]:
        """Return what the namespace supports."""
        return NamespaceInfo().capabilities()

    def default_device(self) -> Any:
        """Return the namespace's device."""
        return self._device.native

    def default_dtypes(self, *, device: Any = None) -> dict[str, Any]:
        """Return the library's own default dtypes, which need not be portarray's."""
        xp = namespace(self._device)
        integral = xp.asarray(1).dtype
        out = {"real floating": xp.asarray(1.0).dtype}
        if self.dtypes(kind="complex floating"):
            out["complex floating"] = xp.asarray(1j).dtype
        return {**out, "integral": integral, "indexing": integral}

    def dtypes(
        self, *, device: Any = None, kind: str | tuple[str, ...] | None = None
    ) -> dict[str, Any]:
        """Return the standard's dtypes that the device has, by standard name."""
        ours = NamespaceInfo().dtypes(device=self._device, kind=kind)
        return {name: dispatch.table_of(self._device, ours[name]).native for name in ours}

    def devices(self) -> tuple[Any, ...]:
        """Return the namespace's one device."""
        return (self._device.native,)


def namespace(device: Device) -> DeviceNamespace:
    """Return the namespace of a device's native arrays; see :func:`portarray.namespace`."""
    return _namespaces.get(device) or _namespaces.setdefault(device, DeviceNamespace(device))
