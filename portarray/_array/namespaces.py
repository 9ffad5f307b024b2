"""Namespaces for code that has arrays and wants functions."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

from portarray._array import base, conversion, dispatch, dtypes, operands
from portarray._array.info import NamespaceInfo
from portarray._array.interop import VERSION
from portarray._devices import selection
from portarray._devices.device import Device
from portarray.backends.assembly import NativeNamespace

if TYPE_CHECKING:
    from portarray.typing import Namespace

__all__ = ["DeviceNamespace", "NativeInfo", "array_namespace", "namespace"]

_native: dict[Device, DeviceNamespace] = {}
_CREATION = frozenset(
    {
        *("arange", "asarray", "empty", "eye", "from_dlpack", "full", "linspace", "ones", "zeros"),
        *("fft.fftfreq", "fft.rfftfreq"),
    }
)


class DeviceNamespace(NativeNamespace):
    """A native namespace that knows its device: it is where new arrays go, and can be inspected."""

    __array_api_version__ = VERSION

    def __init__(self, device: Device, prefix: str = "") -> None:
        super().__init__(dispatch.functions_of(device), prefix)
        self._where = device

    def __array_namespace_info__(self) -> NativeInfo:
        """Return what the namespace says about itself."""
        return NativeInfo(self._where)

    def __getattr__(self, name: str) -> Any:
        value = super().__getattr__(name)
        if self._prefix + name in _CREATION:
            value = _here(value, self._where)
        elif isinstance(value, NativeNamespace):
            value = DeviceNamespace(self._where, f"{name}.")
        self.__dict__[name] = value
        return value


def _here(function: Callable[..., Any], where: Device) -> Callable[..., Any]:
    """Make a creation function put arrays on a device unless it is told another."""

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


def namespace(device: object = None) -> Namespace[Any]:
    """Return the standard's namespace of *native* arrays for a device.

    For code that wants no wrapper: functions take and return the library's own arrays, dtypes and
    devices, corrected and completed where the library differs from the standard.

    Parameters
    ----------
    device : device-like, optional
        None takes the default device.

    Returns
    -------
    Namespace
        Attributes under the standard's names, ``linalg`` and ``fft`` included.

    Examples
    --------
    >>> import numpy as np
    >>> import portarray as pa
    >>> xp = pa.namespace("numpy")
    >>> xp.concat([np.ones(1), np.zeros(2)])
    array([1., 0., 0.])
    """
    where = selection.resolve(device)
    found = _native.get(where)
    if found is None:
        found = _native.setdefault(where, DeviceNamespace(where))
    return cast("Namespace[Any]", found)


def array_namespace(*arrays: object) -> Any:
    """Return the namespace that arrays share.

    Parameters
    ----------
    *arrays : Array, native array, Python scalar or None
        At least one array. Scalars and None are passed over.

    Returns
    -------
    module or Namespace
        portarray itself for its arrays; for native arrays of one device, :func:`namespace` of it.

    Raises
    ------
    TypeError
        If there is no array, or arrays of several libraries or devices, or of portarray and
        others, are mixed.
    """
    ours = False
    homes = {}
    for x in arrays:
        if isinstance(x, base.array_type):
            ours = True
        elif x is None or isinstance(x, dtypes.SCALARS):
            continue
        else:
            home = conversion.home(x)
            if home is None:
                raise operands.refused(x, "array_namespace")
            homes[home] = x
    if ours and not homes:
        return base.NAMESPACE[0]
    if not ours and len(homes) == 1:
        return namespace(next(iter(homes)))
    if not ours and not homes:
        raise TypeError("array_namespace needs at least one array, got none")
    owners = [*(["portarray"] if ours else []), *map(str, homes)]
    raise TypeError(
        f"arrays of {' and '.join(owners)} are mixed; make them portarray arrays of one device "
        f"with pa.asarray(x, device=...)"
    )
