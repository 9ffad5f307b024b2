"""Dispatch tables: one dtype on one device, with the function that serves each name there.

Every array carries its table, so that a call finds its function with one look-up and two arrays
agree in device *and* dtype when their tables are the same object. All that does not depend on the
values of one call is decided here, once: how the function is served, which kinds it takes, whether
operands are converted, whether a device must be made current, whether the host is used.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np

from portarray._array import dtypes
from portarray._config import config
from portarray._devices.device import Device
from portarray.backends import assembly, promotion
from portarray.errors import DeviceMismatchError, HostFallbackError, HostFallbackWarning

__all__ = [
    "Functions",
    "DispatchTable",
    "check_device",
    "default_dtype",
    "functions_of",
    "learned",
    "dtypes_of",
    "entered",
    "inplace",
    "table_of",
    "tables_of",
    "picking",
]

Function = Callable[..., Any]


class Functions(dict[str, Function]):
    """The functions of one table by standard name; filled on first use."""

    __slots__ = ("_table",)

    def __init__(self, table: DispatchTable) -> None:
        self._table = table

    def __missing__(self, name: str) -> Function:
        table = self._table
        function = _serve(table, name) if table.known_type is not None else _set(table, name)
        self[name] = function
        return function


class DispatchTable:
    """One dtype on one device.

    Attributes
    ----------
    device : Device
        The device.
    dtype : numpy.dtype
        The dtype as portarray names it.
    kind : str
        One letter, see :data:`portarray._array.dtypes.Kind`.
    native : Any
        The library's own dtype.
    array_type : type
        The library's array class.
    functions : Functions
        Standard name to the function that serves it.
    learned : dict
        Functions that were called on arrays of this table and nothing else, each with the table of
        its results and the class that these must have: which dtype comes out depends on what goes
        in, and asking the library each time would cost more than the look-up here.
    learned_with_scalar, learned_with_options : dict
        The same for functions that were called on an array of this table and a Python scalar, and
        with options that do not decide the dtype of the result.
    known_type : type or None
        Class of the results whose table can be known like that: ``array_type``. None on devices
        whose dtypes change with the user's settings, where every result is asked but those of the
        library's own functions.
    tables : mapping
        All tables of the device by native dtype.
    scalars : frozenset of type
        Python scalar types that go to the library as they are beside an array of this dtype.
    low, high : int
        Range of an integer dtype, in which a Python integer goes to the library as it is; an empty
        range for all others.
    """

    __slots__ = (
        "array_type",
        "device",
        "dtype",
        "functions",
        "high",
        "kind",
        "known_type",
        "learned",
        "learned_with_options",
        "learned_with_scalar",
        "low",
        "native",
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
        self.learned: dict[str, Learned] = {}
        self.learned_with_options: dict[str, Learned] = {}
        self.learned_with_scalar: dict[str, Learned] = {}
        self.tables = tables
        self.scalars = _SCALARS[self.kind]
        self.low, self.high = promotion.limits(dtype)

    def cast(self, x: Any) -> Any:
        """Convert a native array of the same device to this table's dtype."""
        return self.functions["astype"](x, self.native)

    def operand(self, value: Any) -> Any:
        """Return what stands for a Python scalar in a call: itself, or a native 0-d array."""
        value = promotion.checked(value, self.dtype)
        device = self.device
        if device._backend.takes_scalars:
            return value
        return self.functions["asarray"](value, dtype=self.native, device=device.native)

    def takes(self, value: Any) -> bool:
        """Tell whether a value is a Python scalar that goes to the library as it is."""
        kind = type(value)
        return kind in self.scalars or (kind is int and self.low <= value <= self.high)

    def __repr__(self) -> str:
        return f"<table {self.dtype} on {self.device}>"


DispatchTables = dict[Any, DispatchTable]
Learned = tuple[Function, DispatchTable, Any]
"""A function, the table of its results, and their class where the table need not be asked."""

# Beside integer arrays the range decides, not the type alone.
_SCALARS: Mapping[str, frozenset[type]] = {
    "b": frozenset({bool}),
    "i": frozenset(),
    "u": frozenset(),
    "f": frozenset({int, float}),
    "c": frozenset({int, float, complex}),
}


def functions_of(device: Device) -> assembly.NativeFunctions:
    """Return the functions of a device's native arrays."""
    try:
        known: assembly.NativeFunctions = device._functions
    except AttributeError:
        known = assembly.NativeFunctions(device._backend, device.native)
        # Devices are immutable for their users; this slot is this module's.
        object.__setattr__(device, "_functions", known)
    return known


def tables_of(device: Device) -> DispatchTables:
    """Return the tables of a device by native dtype."""
    dtypes_of(device)
    known: DispatchTables = device._tables
    return known


def dtypes_of(device: Device) -> Mapping[np.dtype[Any], DispatchTable]:
    """Return the tables of the dtypes that a device has now, by dtype."""
    try:
        known: Mapping[np.dtype[Any], DispatchTable] | None = device._by_dtype
    except AttributeError:
        return _ask_dtypes(device)
    if known is None:  # the user's settings decide
        known = device._by_setting.get(device._backend.configuration())
    return _ask_dtypes(device) if known is None else known


def _ask_dtypes(device: Device) -> Mapping[np.dtype[Any], DispatchTable]:
    """Ask a backend for its dtypes; tables that are there already stay the same objects."""
    backend = device._backend
    setting = backend.configuration()
    available = backend.dtypes(device.platform, device.index)
    with _making:
        if not hasattr(device, "_tables"):
            # Devices are immutable for their users; these slots are this module's.
            object.__setattr__(device, "_by_setting", {})
            object.__setattr__(device, "_tables", {})
        tables: DispatchTables = device._tables
        for dtype, native in available.items():
            if native not in tables:
                tables[native] = DispatchTable(device, dtype, native, tables)
        by_dtype = {dtype: tables[native] for dtype, native in available.items()}
        device._by_setting[setting] = by_dtype
        object.__setattr__(device, "_by_dtype", by_dtype if setting is None else None)
    return by_dtype


_making = threading.RLock()  # threads that come to a device at once get the same tables


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


def check_device(name: str, table: DispatchTable, other: DispatchTable) -> None:
    """Refuse arrays of two devices in one call: nothing moves by itself."""
    if table.device is not other.device:
        raise DeviceMismatchError(name, str(table.device), str(other.device))


def learned(table: DispatchTable, name: str, result: DispatchTable, *, scalar: bool) -> Learned:
    """Return what to know of a function of arrays of a table, or of one and a scalar.

    It is the library's own, called by position, where the backend has one for the dtype.
    """
    functions = functions_of(table.device)
    own = (functions.with_scalar if scalar else functions.plain)(name, table.dtype)
    if own is None:
        function = table.functions[name]
        if scalar and not table.device._backend.takes_scalars:
            function = _making_arrays(function, table)
        return function, result, table.known_type
    return _entered(own, table, name), result, table.array_type


def _making_arrays(function: Function, table: DispatchTable) -> Function:
    """Wrap a function of two arrays so that one may be a Python scalar."""
    is_array = table.device._backend.owns

    def of_arrays(x1: Any, x2: Any) -> Any:
        if is_array(x1):
            return function(x1, table.operand(x2))
        return function(table.operand(x1), x2)

    return of_arrays


def picking(table: DispatchTable) -> Function | None:
    """Return the library's own ``x[key]`` for keys without arrays, None where it has none."""
    own = functions_of(table.device).plain("getitem", table.dtype)
    return None if own is None else _entered(own, table, "getitem")


@cache
def inplace(table: DispatchTable, name: str) -> Function | None:
    """Return the function that does ``x1 op= x2`` in x1's memory, None where there is none."""
    own = functions_of(table.device).inplace(name, table.dtype)
    return None if own is None else _entered(own, table, name)


def _entered(own: Function, table: DispatchTable, name: str) -> Function:
    """Return a library's own function as a table calls it."""
    device = table.device
    if device._backend.scope(device.native) is not None:
        own = _scoped(own, device)
    return own if device._backend.has_fixed_dtype(table.native) else _while_set(own, table, name)


def _while_set(own: Function, table: DispatchTable, name: str) -> Function:
    """Return a library's own function for as long as the user's settings are those of now."""
    ask = table.device._backend.configuration
    setting = ask()
    if table.dtype not in dtypes_of(table.device):  # nothing of it is right now
        return table.functions[name]

    def while_set(*args: Any) -> Any:
        return own(*args) if ask() == setting else table.functions[name](*args)

    return while_set


def default_dtype(device: Device, kind: str) -> np.dtype[Any]:
    """Return a device's default dtype of a kind: ``"f"``, ``"i"`` or ``"c"``."""
    available = dtypes_of(device)
    try:
        return assembly.default_dtype(available, kind)
    except assembly.MissingDTypeError as error:
        raise dtypes.missing(error.dtype, device, set(available)) from None


def _serve(table: DispatchTable, name: str) -> Function:
    """Build the function that serves a name in a table."""
    device = table.device
    function: Function
    try:
        function, how = functions_of(device).serve(name, table.dtype)
    except assembly.MissingDTypeError as error:
        raise dtypes.missing(error.dtype, device, set(dtypes_of(device))) from None
    if how == "host" and not device._backend.on_host(device.native):
        function = _accounted(function, name, device)
    if device._backend.scope(device.native) is not None:
        function = _scoped(function, device)
    return function


def _set(table: DispatchTable, name: str) -> Function:
    """Build the function for a device whose dtypes change with the user's settings.

    It serves each setting as that one's dtypes demand, and refuses a dtype that is not among them.
    """
    return _as_set(table, lambda: _serve(table, name), way_out=name == "astype")


def entered(table: DispatchTable, build: Callable[[], Function]) -> Function:
    """Return a function of native arrays as a table calls it: on its device, by the settings."""

    def on_device() -> Function:
        function, device = build(), table.device
        return (
            function if device._backend.scope(device.native) is None else _scoped(function, device)
        )

    return on_device() if table.known_type is not None else _as_set(table, on_device)


def _as_set(
    table: DispatchTable, build: Callable[[], Function], *, way_out: bool = False
) -> Function:
    """Build a function that is built again for each of the user's settings of a library."""
    device = table.device
    by_setting: dict[object, Function] = {}

    def as_set(*args: Any, **options: Any) -> Any:
        setting = device._backend.configuration()
        function = by_setting.get(setting)
        if function is None:
            if not way_out:
                table_of(device, table.dtype)
            function = by_setting[setting] = build()
        return function(*args, **options)

    return as_set


_warned: set[tuple[Device, str]] = set()


def _accounted(function: Function, name: str, device: Device) -> Function:
    """Wrap a host-served function so that the user learns of it, once for each device."""

    def accounted(*args: Any, **options: Any) -> Any:
        if config.host_fallback == "error":
            raise HostFallbackError(name, str(device))
        if config.host_fallback == "warn" and (device, name) not in _warned:
            _warned.add((device, name))
            warnings.warn(
                f"{name} is not available on {device} and runs on the host; "
                f"pa.config(host_fallback='allow') silences this, 'error' forbids it",
                HostFallbackWarning,
                stacklevel=_users_level(),
            )
        return function(*args, **options)

    return accounted


def _users_level() -> int:
    """Return the stack level, from the caller's view, of the first call from outside portarray."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals["__name__"].startswith("portarray."):
        level, frame = level + 1, frame.f_back
    return level


def _scoped(function: Function, device: Device) -> Function:
    """Wrap a function so that its device is current while it runs."""
    backend, native = device._backend, device.native

    def scoped(*args: Any, **options: Any) -> Any:
        scope = backend.scope(native)
        assert scope is not None  # the backend had one when this wrapper was chosen
        with scope:
            return function(*args, **options)

    return scoped
