"""Traced arrays, on any device: a trace records the calls on them.

A traced array is a :class:`portarray.Array`. Its dispatch table belongs to a *traced device*, a
copy of the device whose array class is :class:`Tracer` and whose functions run and record each
call. So promotion, indexing and generic core kernels work on traced arrays unchanged. Operands that
are not traced are constants.

Traces nest, and inner traces have higher levels. The innermost trace of the operands records a
call and runs it on their values, which may be tracers of outer traces.
"""

from __future__ import annotations

import itertools
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from portarray._array import base, dispatch
from portarray._array.array import Array
from portarray._array.results import wrapped
from portarray._devices.device import Device
from portarray._dispatch.native_functions import NativeFunctions, NativeNamespace
from portarray._launchers.launcher import Layout
from portarray._movement import array_moves
from portarray._transforms.recording import recording
from portarray._transforms.shared_memory import VIEWS, sharing_memory, writing
from portarray._transforms.tracer import Tracer, current, detached, innermost, lowered
from portarray.backends.base import Backend
from portarray.backends.types import Served
from portarray.errors import TracedArrayError

__all__ = ["BY_VALUES", "Trace", "namespace_of", "traced", "untraced"]


Function = Callable[..., Any]

_levels = itertools.count(1)


class Trace(ABC):
    """A recorder of the calls on traced arrays of one level.

    ``unreadable`` is the error message for reading values, ``shared`` for using an array whose
    memory was modified through another one. With ``reads_numbers`` 0-d arrays can be read. With
    ``follows_values``, control flow may depend on values. Functions named in ``direct`` are tried
    with :meth:`call_directly` first.
    """

    unreadable: str
    shared: str
    reads_numbers = False
    follows_values = True
    direct: Container[str] = ()
    ended = ""

    def __init__(self) -> None:
        self.level = next(_levels)

    def namespace(self, device: Device) -> NativeNamespace:
        """Return the namespace of a device's traced arrays."""
        return dispatch.functions_of(traced_device(device._home)).namespace

    def read(self, x: Tracer) -> Any:
        """Return the value of a tracer for the host; raise if it is not known."""
        if self.ended or x.shape or not self.reads_numbers:
            raise TracedArrayError(self.ended or self.unreadable)
        return current(x).value

    def exported(self, x: Tracer) -> Any:
        """Return the value of a tracer for other code than portarray's; raise if not known."""
        raise TracedArrayError(self.ended or self.unreadable)

    def note_assignment(self, x: Array, original: Any) -> None:
        """Take note of an array that an assignment of traced values made a traced one.

        ``original`` is its native array before that.
        """
        return

    def is_of_another_thread(self, args: Sequence[Any], options: Mapping[str, Any]) -> bool:
        """Return whether another thread traces, and only reads, the operands of this call."""
        return False

    def detached(self, x: Tracer) -> Any:
        """Return a tracer of this trace without gradients."""
        return detached(x.value, x.home)

    def first_value(self, x: Tracer) -> Any:
        """Return the value of a tracer that was made without one."""
        raise NotImplementedError

    def call_directly(
        self,
        name: str,
        function: Function,
        device: Device,
        args: Sequence[Any],
        options: Mapping[str, Any],
    ) -> Tracer | None:
        """Return the traced result of a call that needs no values, None for other calls."""
        return None

    def refuse_kernel(self, name: str) -> NoReturn:
        """Raise the error for a method of a user kernel that takes a traced array."""
        raise TracedArrayError(
            f"{name}: this method does not take traced arrays\nHint: call the kernel itself"
        )

    def call_kernel(self, kernel: Any, args: Sequence[Any], ndrange: Any, group: Any) -> Any:
        """Call a user kernel with a traced array."""
        self.refuse_kernel(kernel.__name__)

    def records_launch(self, arrays: Sequence[Array]) -> bool:
        """Return whether a core kernel may launch a user kernel on these arrays, recorded."""
        return False

    def records_kernel(self, name: str) -> bool:
        """Return whether a core kernel is recorded as one call, not as those of its generic one."""
        return False

    @abstractmethod
    def record_call(
        self,
        name: str,
        function: Function,
        device: Device,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: list[Any],
        result: Any,
    ) -> Any:
        """Record a call and return its traced result.

        ``function`` takes native arrays. ``args`` are the operands, some of them tracers of this
        trace; ``values`` is a new list of the operands without these tracers.
        """


# --- devices ---------------------------------------------------------------------------------


class TracedFunctions(NativeFunctions):
    """The functions of a device, recorded."""

    def __init__(self, functions: NativeFunctions, backend: Backend, device: Device) -> None:
        super().__init__(backend, functions.device)
        self.untraced = functions
        self.home = device  # not the traced one

    def resolve(self, name: str, dtype: Any = None) -> tuple[Any, Served]:
        """Return a recorded function, and how it is served."""
        function, how = self.untraced.resolve(name, dtype)
        if name == "setitem":
            function = self._on_copies(function)
        return self._recording(name, function) if callable(function) else function, how

    def _recording(self, name: str, function: Function) -> Function:
        recorded = recording(name, function, self.home)
        if name == "setitem":
            return recorded if self.untraced.backend.immutable else writing(recorded)
        if name in VIEWS and not self.untraced.backend.immutable:
            return sharing_memory(recorded, picks=name == "getitem")
        return recorded

    def plain(self, name: str, dtype: Any) -> Function | None:
        """Return the library's function of arrays, recorded."""
        function = self.untraced.plain(name, dtype)
        if function is not None and name == "setitem":
            function = self._on_copies(function)
        return None if function is None else self._recording(name, function)

    def with_scalar(self, name: str, dtype: Any) -> Function | None:
        """Return the library's function of an array and a Python scalar, recorded."""
        function = self.untraced.with_scalar(name, dtype)
        return None if function is None else self._recording(name, function)

    def inplace(self, name: str, dtype: Any) -> None:
        """Return None: recorded values must not change."""
        return

    def moved(self, x: Array, device: Device, *, copy: bool | None, narrow: bool) -> Array:
        """Return an array on a device, as ``array_moves.moved`` does, recorded."""
        table, home = x._dispatch, self.home
        if device._home is home and not copy:
            return x
        if device._home is home:
            native = table.functions["asarray"](
                x._native, dtype=table.native, device=home.native, copy=True
            )
            return wrapped(native, table)

        def move(native: Any, back: Device) -> Any:
            there = array_moves.moved(untraced(native, back), device, copy=copy, narrow=narrow)
            return there._native

        return untraced(recording("to_device", move, device)(x._native, back=home), device)

    def whole(self, name: str, function: Function, generic: Function) -> Function:
        """Return a core kernel that runs as one call if the trace records it, else generically.

        ``function`` takes untraced arrays of the device.
        """
        recorded = recording(name, function, self.home)

        def called(*args: Any, **options: Any) -> Any:
            first = args[0]
            plain = len(args) == 1 and first.__class__ is Tracer and not options
            trace = first.trace if plain else innermost((args, tuple(options.values())))
            if trace is not None and trace.records_kernel(name):
                return recorded(*args, **options)
            return generic(*args, **options)

        return called

    def lifted(self, natives: Sequence[Any]) -> list[Any]:
        """Return native arrays as tracers if one of them is a tracer."""
        if len(natives) == 1 and natives[0].__class__ is Tracer:
            return list(natives)
        trace = innermost(natives)
        if trace is None:
            return list(natives)
        owns = self.untraced.backend.owns
        return [Tracer(x, trace, 0, self.home) if owns(x) else x for x in natives]

    def _on_copies(self, function: Function) -> Function:
        if self.untraced.backend.immutable:
            return function
        copied = self.untraced.namespace.asarray

        def setitem(x: Any, key: Any, value: Any) -> Any:
            return function(copied(x, copy=True), key, value)

        setitem.in_place = function  # type: ignore[attr-defined]  # for programs that own x
        return setitem


BY_VALUES = frozenset(("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"))
"""Functions whose result shapes depend on values."""


class TracedBackend(Backend):
    """The backend of a traced device; hooks that are not overridden refuse tracers."""

    array_type = Tracer
    immutable = True

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend.info, backend.category_package)
        self._untraced = backend
        for name in ("unchecked_linalg", "linalg_ignores_nonfinite", "standard", "accepts_scalars"):
            setattr(self, name, getattr(backend, name))

    def owns(self, x: object) -> bool:
        """Return whether an object is a tracer or one of the library's arrays."""
        return x.__class__ is Tracer or self._untraced.owns(x)

    def is_traced(self, x: Any) -> bool:
        """Return whether an array has no readable values."""
        return x.__class__ is Tracer or self._untraced.is_traced(x)

    def is_broadcast(self, x: Any) -> bool:
        """Return whether an assignment to an array marks others as stale, or changes them."""
        return x.__class__ is not Tracer or x.sharing is not None

    def refuse_gradient(self, x: Any, error: Exception) -> Any:
        """Return a tracer, whose trace has its own rules, or the library's array."""
        return x if x.__class__ is Tracer else self._untraced.refuse_gradient(x, error)

    def printable(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return an array's values for printing, which does not affect the trace."""
        return self._untraced.printable(lowered(x), device)

    def layout(self, x: Any) -> Layout:
        """Raise for a tracer, so that its trace calls the user kernel."""
        if x.__class__ is Tracer:
            raise TracedArrayError(x.trace.unreadable)
        return self._untraced.layout(x)

    layout_key = layout

    def read_host(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return the value of a 0-d array; raise for others, as the trace requires."""
        while x.__class__ is Tracer:
            x = x.trace.read(x)
        return self._untraced.read_host(x, device)


def _passed_on(name: str) -> Function:
    def hook(self: TracedBackend, *args: Any, **options: Any) -> Any:
        values = [x.trace.exported(x) if x.__class__ is Tracer else x for x in args]
        if any(x.__class__ is Tracer for x in values):
            return hook(self, *values, **options)
        return getattr(self._untraced, name)(*values, **options)

    return hook


for _word, _hook in list(Backend.__dict__.items()):
    if callable(_hook) and not _word.startswith("_") and _word not in TracedBackend.__dict__:
        setattr(TracedBackend, _word, _passed_on(_word))
TracedBackend.__abstractmethods__ = frozenset()

_devices: dict[Device, Device] = {}
_making = threading.Lock()


def traced_device(device: Device) -> Device:
    """Return the traced device of a device."""
    cached = _devices.get(device)
    if cached is None:
        with _making:
            cached = _devices.get(device) or _devices.setdefault(device, _traced_device(device))
    return cached


def _traced_device(device: Device) -> Device:
    backend = TracedBackend(device._backend)  # type: ignore[abstract]  # hooks are set above
    traced = object.__new__(Device)
    for slot in ("library", "platform", "index", "name", "kind", "native", "_text"):
        object.__setattr__(traced, slot, getattr(device, slot))
    object.__setattr__(traced, "_home", device)
    object.__setattr__(traced, "_backend", backend)
    functions = TracedFunctions(dispatch.functions_of(device), backend, device)
    object.__setattr__(traced, "_functions", functions)
    return traced


def traced(x: Array, trace: Trace, slot: Any) -> Array:
    """Return a traced array; ``x`` may be traced by outer traces."""
    return traced_native(Tracer(x._native, trace, slot, x._dispatch.device._home), x)


def traced_native(tracer: Tracer, x: Array) -> Array:
    """Return a tracer of a value with the dtype and device of ``x`` as an array."""
    table = x._dispatch
    home = table.device._home
    try:
        table = _tables[table]
    except KeyError:
        if table.device is home:
            table = dispatch.table_of(traced_device(home), table.dtype)
        _tables[x._dispatch] = table
    out = base.new_uninitialized()
    out._native = tracer
    out._dispatch = table
    return out


_tables: dict[dispatch.DispatchTable, dispatch.DispatchTable] = {}
"""Dispatch tables of traced arrays by those of the arrays."""


def untraced(native: Any, device: Device) -> Array:
    """Return a native array, or a tracer of an outer trace, as an array."""
    home = device._home
    if native.__class__ is Tracer:
        home = traced_device(home)
    tables = dispatch.tables_of(home)
    return wrapped(native, tables[native.dtype])


def untraced_like(native: Any, x: Array) -> Array:
    """Return an untraced value with the dtype and device of a traced array as an array."""
    if native.__class__ is Tracer:
        return untraced(native, x.device)
    table = x._dispatch
    return wrapped(native, dispatch.tables_of(table.device._home)[table.native])


def namespace_of(native: Any, device: Device) -> NativeNamespace:
    """Return the namespace for a native array that may be a tracer."""
    home = device._home
    return dispatch.functions_of(
        traced_device(home) if native.__class__ is Tracer else home
    ).namespace
