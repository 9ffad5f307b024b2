"""Namespaces of one device: ``x.__array_namespace__()``, and those of native arrays."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cache, update_wrapper, wraps
from types import FunctionType, MethodType, ModuleType
from typing import Any

from portarray._array import base, conversion, dispatch, producers
from portarray._array.info import VERSION, NamespaceInfo
from portarray._config import config
from portarray._devices.device import Device
from portarray._dispatch.native_functions import NativeNamespace
from portarray._name_hints import EXTRAS, FUNCTIONS, attribute_error

_namespaces: dict[Device, DeviceNamespace] = {}
_NATIVE_CREATION = frozenset(
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
        self.__name__ = f"portarray.namespace({str(device)!r})"  # libraries look for theirs
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
        if self._prefix + name in _NATIVE_CREATION:
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


# --- of arrays ---

_CREATION = _NATIVE_CREATION | {"logspace", "random.key"}
_DATA_FIRST: dict[str, Callable[..., Any]] = {
    "asarray": conversion.asarray,
    "from_dlpack": producers.from_dlpack,
}
"""Functions whose data may have a device; only what has none goes to the namespace's."""
_PARTS = ("fft", "random")  # modules with creation functions


class BoundNamespace(ModuleType):
    """A module of portarray whose creation functions default to a device.

    A module, since annotations of library code say so. Equal to the module itself and to the
    namespaces of other devices: libraries require that all arrays have one namespace, and the
    error for arrays of several devices is portarray's.
    """

    def __init__(self, module: ModuleType, device: Device, prefix: str = "") -> None:
        super().__init__(module.__name__)
        names = vars(self)
        names.update(vars(module))
        names.update(_module=module, _bound_to=device, _prefix=prefix, __getattr__=self._load)
        for name in (*_PARTS, *_CREATION):
            names.pop(name.removeprefix(prefix), None)
        # Kept, so that it is the same object at every access.
        names["__array_namespace_info__"] = MethodType(
            BoundNamespace.__array_namespace_info__, self
        )

    def __array_namespace_info__(self) -> NamespaceInfo:
        """Return the object that inspects the namespace; see portarray's function."""
        return NamespaceInfo(self._bound_to)

    def _load(self, name: str) -> Any:
        """Bind an attribute on first access, or import what portarray imports then."""
        value = getattr(self._module, name)
        if name in EXTRAS and not self._prefix:
            return value  # asked for again, since settings may refuse it
        if self._prefix + name in _CREATION:
            value = MethodType(_creation(self._prefix + name, value), self)
        elif self._prefix + name in _PARTS:
            value = BoundNamespace(value, self._bound_to, f"{name}.")
        return vars(self).setdefault(name, value)

    def __eq__(self, other: object) -> bool:
        module = self._module
        return other is module or (type(other) is BoundNamespace and other._module is module)

    def __hash__(self) -> int:
        return hash(self._module)

    def __dir__(self) -> list[str]:
        return dir(self._module)

    def __repr__(self) -> str:
        return f"<module {self.__name__!r}, creating on {self._bound_to}>"

    def __reduce__(self) -> tuple[Any, ...]:
        if self._prefix:
            return getattr, (bound_namespace(self._bound_to), self._prefix[:-1])
        return bound_namespace, (self._bound_to,)


@cache
def _creation(name: str, function: FunctionType) -> FunctionType:
    """Return a method of namespaces that creates on their device.

    Generated with the function's own parameters: forwarding any arguments would cost 0.1 µs more
    (``benchmarks/overhead.py``).
    """
    from portarray import _codegen  # only where namespaces create

    shown = [
        parameter.replace(annotation=parameter.empty)
        for parameter in inspect.signature(function).parameters.values()
    ]
    values = {x.name: x.name if x.kind is x.KEYWORD_ONLY else "" for x in shown}
    default = "self._bound_to if device is None and not config._strict_devices else device"
    if name in _DATA_FIRST:
        values["default"] = "None if config._strict_devices else self._bound_to"
    else:
        values["device"] = default
    arguments = ", ".join([f"{key}={value}" if value else key for key, value in values.items()])
    # A closure: PyTorch's compiler takes global variables for those of the module.
    define = _codegen.evaluate(
        f"lambda config, function: lambda self, {str(inspect.Signature(shown))[1:-1]}: "
        f"function({arguments})",
        {"__name__": __name__},
    )
    method: FunctionType = define(config, _DATA_FIRST.get(name, function))
    update_wrapper(method, function, updated=())
    del method.__wrapped__  # type: ignore[attr-defined]  # it has no `self`
    return method


def bound_namespace(device: Device) -> BoundNamespace:
    """Return the namespace of a device's arrays."""
    return _bound.get(device) or _bound.setdefault(
        device,
        BoundNamespace(base.NAMESPACE[0], device),  # type: ignore[arg-type]
    )


_bound: dict[Device, BoundNamespace] = {}


def distinguish_in_scipy(module: Any) -> None:
    """Have SciPy keep the functions that it makes of special functions for each device.

    It caches them by namespace, and those of all devices are equal: without this, results would be
    on the device on which the function was called first.
    """
    info: Any = getattr(module, "_FuncInfo", None)
    by_namespace: Any = getattr(info, "_wrapper_for", None)
    if not hasattr(by_namespace, "__wrapped__"):  # another version of SciPy
        return
    wrapped = by_namespace.__wrapped__
    by_device: dict[tuple[Any, Device], Any] = {}

    def wrapper_for(self: Any, xp: Any) -> Any:
        if type(xp) is not BoundNamespace:
            return by_namespace(self, xp)
        key = self, xp._bound_to
        if key not in by_device:
            by_device[key] = wrapped(self, xp)
        return by_device[key]

    info._wrapper_for = wrapper_for


def read_asarray(obj: Any, /, *, device: Any = None, default: Any = None, **options: Any) -> Any:
    """Make an array, as PyTorch's compiler reads it, which captures public functions."""
    where = default if device is None and not hasattr(obj, "__dlpack__") else device
    return base.NAMESPACE[0].asarray(obj, device=where, **options)
