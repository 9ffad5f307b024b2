"""Dispatch tables: one dtype on one device, with the function that serves each name there.

Every array refers to its table: a call needs one look-up, and two arrays have the same device *and*
dtype if their tables are the same object. Everything that does not depend on values is decided here
once: which implementation, which kinds it accepts, whether operands are cast, whether a device must
be made current, whether the host is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Mapping
from typing import Any

import numpy as np

from portarray._array import base, dtypes
from portarray._array.device_scope import scoped
from portarray._array.host_fallback import reporting_fallback
from portarray._devices.device import Device
from portarray._dispatch import native_functions
from portarray._dtypes import promotion
from portarray.errors import DeviceMismatchError

__all__ = [
    "Functions",
    "DispatchTable",
    "cache_creation",
    "caster",
    "require_same_device",
    "default_dtype",
    "functions_of",
    "dtypes_of",
    "wrap_native",
    "table_of",
    "tables_of",
]

Function = Callable[..., Any]


class Functions(dict[str, Function]):
    """The functions of one table by standard name; filled on first use."""

    __slots__ = ("_dispatch",)

    def __init__(self, table: DispatchTable) -> None:
        self._dispatch = table

    def __missing__(self, name: str) -> Function:
        table = self._dispatch
        function = (
            _resolve(table, name)
            if table.known_type is not None
            else _resolve_per_setting(table, name)
        )
        self[name] = function
        return function


class DispatchTable:
    """One dtype on one device.

    Attributes
    ----------
    device : Device
        The device.
    dtype : numpy.dtype
        The NumPy dtype.
    kind : str
        One letter, see :data:`portarray._array.dtypes.Kind`.
    native : Any
        The library's own dtype.
    array_type : type
        The library's array class.
    functions : Functions
        Standard name to the function that serves it.
    call_cache : dict
        Cache for calls with arrays of this table alone: function, table of the result, and class of
        the result, so that the result's dtype is not asked for in each call.
    scalar_call_cache, options_call_cache : dict
        The same for calls with an array and a Python scalar, and for calls with options that do not
        affect the dtype of the result.
    inplace_functions : dict
        Cache of the functions that compute ``x1 op= x2`` in place; None where there is none.
    casts : dict
        Cache for conversions: a dtype as users write it, to the function and its results' table.
    promotions : dict
        Cache for operands of two types: the dispatch table of the second array, or the type of a
        scalar, to the table that both promote to and the conversions of both.
    known_type : type or None
        Class of the results whose table can be cached: ``array_type``. None on devices whose dtypes
        depend on settings (JAX's 64-bit mode), where the dtype of each result is looked up except
        for ``DIRECT`` functions.
    tables : mapping
        All tables of the device by native dtype.
    scalars : frozenset of type
        Python scalar types that the library accepts with an array of this dtype.
    namespace : module
        The namespace of the arrays, whose creation functions default to the device.
    low, high : int
        Range of an integer dtype; an empty range for all others.
    """

    __slots__ = (
        "array_type",
        "call_cache",
        "casts",
        "device",
        "dtype",
        "functions",
        "high",
        "inplace_functions",
        "kind",
        "known_type",
        "low",
        "namespace",
        "native",
        "options_call_cache",
        "promotions",
        "scalar_call_cache",
        "scalars",
        "tables",
    )

    def __init__(
        self, device: Device, dtype: np.dtype[Any], native: Any, tables: dict[Any, DispatchTable]
    ) -> None:
        self.device = device
        self.dtype = dtype
        self.kind = dtypes.kind_of(dtype)
        self.native = native
        self.array_type: Any = device._backend.array_type
        self.functions = Functions(self)
        self.known_type: Any = self.array_type if device._backend.configuration() is None else None
        self.call_cache: dict[str, CachedCall] = {}
        self.options_call_cache: dict[str, CachedCall] = {}
        self.scalar_call_cache: dict[str, CachedCall] = {}
        self.inplace_functions: dict[str, Function | None] = {}
        self.casts: dict[object, tuple[Function, DispatchTable]] = {}
        self.promotions: dict[DispatchTable | type, Promotion] = {}
        self.tables = tables
        self.namespace = base.bound_namespace(device._home)
        self.scalars = _SCALARS[self.kind]
        self.low, self.high = promotion.limits(dtype)

    def cast(self, x: Any) -> Any:
        """Convert a native array of the same device to this table's dtype."""
        return self.functions["astype"](x, self.native)

    def operand(self, value: Any) -> Any:
        """Return a Python scalar as the library takes it: itself or a native 0-d array."""
        value = promotion.checked(value, self.dtype)
        device = self.device
        if device._backend.accepts_scalars:
            return value
        return self.functions["asarray"](value, dtype=self.native, device=device.native)

    def accepts(self, value: Any) -> bool:
        """Return whether a value is a Python scalar that the library accepts as it is."""
        kind = type(value)
        return kind in self.scalars or (kind is int and self.low <= value <= self.high)

    def __repr__(self) -> str:
        return f"<table {self.dtype} on {self.device}>"


DispatchTables = dict[Any, DispatchTable]
CachedCall = tuple[Function, DispatchTable, Any]
"""A function, the table of its results, and their class, or None to look the table up."""

Promotion = tuple[DispatchTable, Function | None, Function | None]
"""The table that two operands promote to, and the conversions of both, None if not needed."""

# With integer arrays the range is checked instead of the type.
_SCALARS: Mapping[str, frozenset[type]] = {
    "b": frozenset({bool}),
    "i": frozenset(),
    "u": frozenset(),
    "f": frozenset({int, float}),
    "c": frozenset({int, float, complex}),
}


def functions_of(device: Device) -> native_functions.NativeFunctions:
    """Return the native functions of a device."""
    try:
        functions: native_functions.NativeFunctions = device._functions
    except AttributeError:
        functions = native_functions.NativeFunctions(device._backend, device.native)
        # Device forbids setattr; only this module fills this slot.
        object.__setattr__(device, "_functions", functions)
    return functions


def tables_of(device: Device) -> DispatchTables:
    """Return the tables of a device by native dtype."""
    if getattr(device, "_by_dtype", None) is None:  # unknown, or the user's settings decide
        dtypes_of(device)
    tables: DispatchTables = device._tables
    return tables


def dtypes_of(device: Device) -> Mapping[np.dtype[Any], DispatchTable]:
    """Return the tables of the dtypes that a device has now, by dtype."""
    try:
        tables: Mapping[np.dtype[Any], DispatchTable] | None = device._by_dtype
    except AttributeError:
        return _ask_dtypes(device)
    if tables is None:  # the user's settings decide
        tables = device._by_setting.get(device._backend.configuration())
    return _ask_dtypes(device) if tables is None else tables


def _ask_dtypes(device: Device) -> Mapping[np.dtype[Any], DispatchTable]:
    """Ask a backend for its dtypes; existing tables are kept."""
    backend = device._backend
    setting = backend.configuration()
    available = backend.dtypes(device.platform, device.index)
    with _making:
        if not hasattr(device, "_tables"):
            # Device forbids setattr; only this module fills these slots.
            object.__setattr__(device, "_by_setting", {})
            object.__setattr__(device, "_creation", {})
            object.__setattr__(device, "_tables", {})
        tables: DispatchTables = device._tables
        for dtype, native in available.items():
            if native not in tables:
                tables[native] = DispatchTable(device, dtype, native, tables)
        by_dtype = {dtype: tables[native] for dtype, native in available.items()}
        device._by_setting[setting] = by_dtype
        object.__setattr__(device, "_by_dtype", by_dtype if setting is None else None)
    return by_dtype


_making = threading.RLock()  # threads that use a new device concurrently get the same tables


def table_of(device: Device, dtype: np.dtype[Any]) -> DispatchTable:
    """Return the table of a dtype on a device.

    Raises
    ------
    DTypeNotSupportedError
        If the device lacks the dtype; the message names the nearest one.
    """
    available = dtypes_of(device)
    try:
        return available[dtype]
    except KeyError:
        raise dtypes.missing(dtype, device, set(available)) from None


def cache_creation(table: DispatchTable, key: tuple[object, ...], creation: Any) -> None:
    """Cache how arrays of a table are created, unless the user's settings decide the table."""
    if table.known_type is not None and all(isinstance(part, Hashable) for part in key):
        table.device._creation[key] = creation


def caster(table: DispatchTable, target: DispatchTable) -> Function:
    """Return the function that casts native arrays of a table to another's dtype."""
    device = target.device
    if device._home is not device:  # traced: the function has to be recorded
        return target.cast
    function = device._backend.caster(table.native, target.native)
    return target.cast if function is None else scoped(function, device)


def require_same_device(name: str, table: DispatchTable, second: DispatchTable) -> DispatchTable:
    """Return the table for a call with arrays of two: the first one, traced if either is.

    Raises
    ------
    DeviceMismatchError
        If they are on different devices.
    """
    device, second_device = table.device, second.device
    if device is second_device or device._home is second_device:
        return table
    if second_device._home is device:
        return table_of(second_device, table.dtype)
    raise DeviceMismatchError(name, str(device), str(second_device))


def default_dtype(device: Device, kind: str) -> np.dtype[Any]:
    """Return a device's default dtype of a kind: ``"f"``, ``"i"`` or ``"c"``."""
    try:
        cached: np.dtype[Any] = device._creation["default", kind]
        return cached
    except (AttributeError, KeyError):
        available = dtypes_of(device)
    try:
        dtype = native_functions.default_dtype(available, kind)
    except native_functions.MissingDTypeError as error:
        raise dtypes.missing(error.dtype, device, set(available)) from None
    cache_creation(available[dtype], ("default", kind), dtype)
    return dtype


def _resolve(table: DispatchTable, name: str) -> Function:
    """Build the function that serves a name in a table."""
    device = table.device
    function: Function
    try:
        function, how = functions_of(device).resolve(name, table.dtype)
    except native_functions.MissingDTypeError as error:
        raise dtypes.missing(error.dtype, device, set(dtypes_of(device))) from None
    if how == "host" and not device._backend.on_host(device.native):
        function = reporting_fallback(function, name, device)
    return scoped(function, device)


def _resolve_per_setting(table: DispatchTable, name: str) -> Function:
    """Build the function for a device whose dtypes depend on the user's settings.

    Raises if the current settings exclude the table's dtype.
    """
    return _per_setting(table, lambda: _resolve(table, name), any_dtype=name == "astype")


def wrap_native(table: DispatchTable, build: Callable[[], Function]) -> Function:
    """Wrap a function of native arrays: make the device current, follow the user's settings."""

    def on_device() -> Function:
        return scoped(build(), table.device)

    return on_device() if table.known_type is not None else _per_setting(table, on_device)


def _per_setting(
    table: DispatchTable, build: Callable[[], Function], *, any_dtype: bool = False
) -> Function:
    """Return a function that is built once for each of the user's settings."""
    device = table.device
    configuration = device._backend.configuration
    by_setting: dict[object, Function] = {}

    def per_setting(*args: Any, **options: Any) -> Any:
        try:
            function = by_setting[configuration()]
        except KeyError:
            if not any_dtype:
                table_of(device, table.dtype)
            function = by_setting[configuration()] = build()
        return function(*args, **options)

    return per_setting
