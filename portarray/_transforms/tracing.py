"""Traced arrays: calls on them are recorded, on any device.

A traced array is an :class:`portarray.Array` like any other. Its table is of a *traced device*,
whose backend is that of the device itself with another array class, :class:`Tracer`, and whose
functions make a call of a function of the standard and record it. So everything above works on
traced arrays as it stands: promotion, indexing, core kernels in their generic version. Operands
that are not traced are constants.

Traces nest. Each has a number, larger than those of the traces around it; a call is recorded by the
innermost trace among its operands, then made with their values, which may be traced themselves.
"""

from __future__ import annotations

import itertools
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._array.results import wrapped
from portarray._devices.device import Device
from portarray._dispatch.native_functions import NativeFunctions, NativeNamespace
from portarray._movement import array_moves
from portarray.backends.base import Backend
from portarray.backends.types import Served
from portarray.errors import NoGradientError, TracedArrayError

__all__ = [
    "VIEWS",
    "Trace",
    "Tracer",
    "current",
    "innermost",
    "lowered",
    "parts",
    "traced",
    "untraced",
]


Function = Callable[..., Any]

_levels = itertools.count(1)


class Tracer:
    """A native array of a traced device: a value, and the place that a trace has for it."""

    __slots__ = ("__weakref__", "home", "is_stale", "origin", "place", "sharing", "trace", "value")

    # NumPy would make arrays of objects.
    __array_ufunc__ = None

    def __init__(self, value: Any, trace: Trace, place: int, device: Device) -> None:
        self.value = value
        self.trace = trace
        self.place = place
        self.home = device  # not the traced one
        self.sharing: list[weakref.ref[Tracer]] | None = None  # those of the same memory
        self.origin: tuple[Tracer, Any] | None = None  # an array and the key that gave this view
        self.is_stale = False  # whether the memory was written into through another array

    @property
    def shape(self) -> tuple[int, ...]:
        """Length of each axis."""
        shape: tuple[int, ...] = self.value.shape
        return shape

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.value.shape)

    @property
    def dtype(self) -> Any:
        """The library's dtype."""
        return self.value.dtype

    @property
    def device(self) -> Any:
        """The library's device."""
        return self.home.native

    @property
    def xp(self) -> NativeNamespace:
        """The namespace of this device's traced arrays."""
        return namespace_of(self, self.home)

    def __getitem__(self, key: Any) -> Any:
        return self.xp.getitem(self, key)

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TracedArrayError(self.trace.unreadable)


def _operator(name: str, *, reflected: bool = False) -> Function:
    if reflected:
        return lambda self, other: getattr(self.xp, name)(other, self)
    return lambda self, *others: getattr(self.xp, name)(self, *others)


# Generic core kernels use the operators of native arrays.
for _word, _name in (
    *(("add", "add"), ("sub", "subtract"), ("mul", "multiply"), ("truediv", "divide")),
    *(("floordiv", "floor_divide"), ("mod", "remainder"), ("pow", "pow"), ("matmul", "matmul")),
    *(("and", "bitwise_and"), ("or", "bitwise_or"), ("xor", "bitwise_xor")),
):
    setattr(Tracer, f"__{_word}__", _operator(_name))
    setattr(Tracer, f"__r{_word}__", _operator(_name, reflected=True))
for _word, _name in (
    *(("neg", "negative"), ("pos", "positive"), ("invert", "bitwise_invert"), ("abs", "abs")),
    *(("lt", "less"), ("le", "less_equal"), ("gt", "greater"), ("ge", "greater_equal")),
    *(("eq", "equal"), ("ne", "not_equal")),
):
    setattr(Tracer, f"__{_word}__", _operator(_name))


class Trace(ABC):
    """What records the calls on traced arrays of one level.

    ``unreadable`` and ``shared`` are the errors where values are read, and where something was
    assigned to an array that may share memory with another; with ``reads_numbers`` arrays without
    axes may be read.
    """

    unreadable: str
    shared: str
    reads_numbers = False

    def __init__(self) -> None:
        self.level = next(_levels)
        self.ended = ""

    def refuse_kernel(self, name: str) -> NoReturn:
        """Raise what a user kernel is told that is called with a traced array."""
        raise NoGradientError(name, "it is a user kernel; pa.custom_vjp gives it a rule of yours")

    def takes_whole(self, name: str) -> bool:
        """Tell whether a core kernel is recorded as one call, not as those of its generic one."""
        return False

    @abstractmethod
    def record(
        self,
        name: str,
        function: Function,
        device: Device,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: list[Any],
        result: Any,
    ) -> Any:
        """Return the traced result of a call.

        ``function`` takes native arrays; ``args`` are the operands, with tracers of this trace
        among them, ``values`` a new list of the same without.
        """


def recording(name: str, function: Function, device: Device) -> Function:
    """Return a function that makes a call and has the innermost trace of its operands record it."""

    def recorded(*args: Any, **options: Any) -> Any:
        # Most calls have arrays and tracers of one trace, with values that no other follows.
        only: Trace | None = None
        plain: list[Any] = []
        for x in args:
            kind = x.__class__
            if kind is Tracer:
                if x.trace is not only:
                    if only is not None:
                        break
                    only = x.trace
                if x.is_stale:
                    break
                x = x.value
                if x.__class__ is Tracer:
                    break
            elif kind is list or kind is tuple:
                break
            plain.append(x)
        else:
            if only is not None and not only.ended and (not options or _are_plain(options)):
                result = function(*plain, **options)
                return only.record(name, function, device, args, options, plain, result)
        return _recorded(args, options)

    def _recorded(args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        trace: Trace | None = None
        for x in args:
            if x.__class__ is Tracer:
                if x.is_stale:
                    raise TracedArrayError(x.trace.shared)
                if trace is None or x.trace.level > trace.level:
                    trace = x.trace
            elif x.__class__ is list or x.__class__ is tuple:
                trace = innermost(x, trace)
        if options:
            trace = innermost(options.values(), trace)
        if trace is None:
            return function(*args, **options)
        if trace.ended:
            raise TracedArrayError(trace.ended)
        again = False
        values: list[Any] = []
        for x in args:
            kind = x.__class__
            if kind is Tracer:
                if x.trace is trace:
                    x = x.value
                again = again or x.__class__ is Tracer
            elif kind is list or kind is tuple:
                x = _values(x, trace)
                again = again or innermost(x, None) is not None
            values.append(x)
        inner = {key: _value(x, trace) for key, x in options.items()} if options else options
        if again or (inner and innermost(inner.values(), None) is not None):
            result = recorded(*values, **inner)
        else:
            result = function(*values, **inner)
        return trace.record(name, function, device, args, options, values, result)

    return recorded


_HOLDING = frozenset((Tracer, list, tuple))


def _are_plain(options: Mapping[str, Any]) -> bool:
    """Tell whether there is neither a tracer among options nor what may hold one."""
    return _HOLDING.isdisjoint([x.__class__ for x in options.values()])


def innermost(values: Any, trace: Trace | None = None) -> Trace | None:
    """Return the innermost trace of tracers among values and in lists there, or a given one."""
    for x in values:
        if x.__class__ is Tracer:
            if x.is_stale:
                raise TracedArrayError(x.trace.shared)
            if trace is None or x.trace.level > trace.level:
                trace = x.trace
        elif x.__class__ is list or x.__class__ is tuple:
            trace = innermost(x, trace)
    return trace


def _value(x: Any, trace: Trace) -> Any:
    if x.__class__ is Tracer and x.trace is trace:
        return x.value
    return _values(x, trace) if x.__class__ is list or x.__class__ is tuple else x


def _values(items: Any, trace: Trace) -> Any:
    return items.__class__([_value(x, trace) for x in items])


def lowered(x: Any) -> Any:
    """Return the native array behind tracers of all levels; anything else unchanged."""
    while x.__class__ is Tracer:
        x = x.value
    return x


# --- devices ---------------------------------------------------------------------------------


class TracedFunctions(NativeFunctions):
    """The functions of a device, recorded."""

    def __init__(self, functions: NativeFunctions, backend: Backend, device: Device) -> None:
        super().__init__(backend, functions.device)
        self.untraced = functions
        self.home = device  # not the traced one

    def serve(self, name: str, dtype: Any = None) -> tuple[Any, Served]:
        """Return a function that is recorded, and how it is served."""
        function, how = self.untraced.serve(name, dtype)
        if name == "setitem":
            function = self._on_copies(function)
        return self._recording(name, function) if callable(function) else function, how

    def _recording(self, name: str, function: Function) -> Function:
        recorded = recording(name, function, self.home)
        if name == "setitem":
            return recorded if self.untraced.backend.immutable else _writing(recorded)
        if name in VIEWS and not self.untraced.backend.immutable:
            return _sharing(recorded, picks=name == "getitem")
        return recorded

    def plain(self, name: str, dtype: Any) -> Function | None:
        """Return the library's own function of arrays, recorded."""
        own = self.untraced.plain(name, dtype)
        return None if own is None else self._recording(name, own)

    def with_scalar(self, name: str, dtype: Any) -> Function | None:
        """Return the library's own function of an array and a Python scalar, recorded."""
        own = self.untraced.with_scalar(name, dtype)
        return None if own is None else self._recording(name, own)

    def inplace(self, name: str, dtype: Any) -> None:
        """Return None: what a trace has recorded stays as it is."""
        return

    def moved(self, x: Array, device: Device, *, copy: bool | None, narrow: bool) -> Array:
        """Return an array on a device, as ``array_moves.moved`` does, recorded."""
        table, home = x._table, self.home
        if device._seen is home:
            native = table.functions["asarray"](
                x._native, dtype=table.native, device=home.native, copy=True
            )
            return wrapped(native, table)

        def move(native: Any, back: Device) -> Any:
            there = array_moves.moved(untraced(native, back), device, copy=copy, narrow=narrow)
            return there._native

        return untraced(recording("to_device", move, device)(x._native, back=home), device)

    def whole(self, name: str, function: Function, generic: Function) -> Function:
        """Return a core kernel: as one call where the trace takes it so, else its generic version.

        ``function`` takes arrays of the device that are not traced.
        """
        recorded = recording(name, function, self.home)

        def called(*args: Any, **options: Any) -> Any:
            first = args[0]
            plain = len(args) == 1 and first.__class__ is Tracer and not options
            trace = first.trace if plain else innermost((args, tuple(options.values())))
            if trace is not None and trace.takes_whole(name):
                return recorded(*args, **options)
            return generic(*args, **options)

        return called

    def lifted(self, natives: Sequence[Any]) -> list[Any]:
        """Return native arrays as tracers, so that their operators are those of tracers."""
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


VIEWS = frozenset(
    {
        *("broadcast_arrays", "broadcast_to", "expand_dims", "flip", "getitem", "imag"),
        *("linalg.diagonal", "matrix_transpose", "moveaxis", "permute_dims", "real", "reshape"),
        *("squeeze", "unstack"),
    }
)
"""Functions whose results may share memory with an operand where arrays may be written into."""


def _sharing(recorded: Function, *, picks: bool) -> Function:
    """Return a function that notes that its first operand and its results share memory."""

    def sharing(x: Any, *args: Any, **options: Any) -> Any:
        result = recorded(x, *args, **options)
        copies = picks and any(getattr(part, "ndim", 0) for part in parts(args[0]))
        for one in result if isinstance(result, (tuple, list)) else (result,):
            if one.__class__ is Tracer and x.__class__ is Tracer and not copies:
                _share(x, one)
                if picks:
                    one.origin = x, args[0]
        return result

    return sharing


def parts(key: Any) -> tuple[Any, ...]:
    """Return the parts of an index, one for some axes each."""
    return key if type(key) is tuple else (key,)


def _same_part(shape: tuple[int, ...], one: Any, other: Any) -> bool:
    """Tell whether two keys without index arrays give the same elements."""
    if parts(one) == parts(other):
        return True
    # Slices are written in several ways. Nothing is read of this array, which has one element.
    steps = np.cumprod((1, *shape[:0:-1]))[::-1]
    every = np.lib.stride_tricks.as_strided(np.zeros((), np.int8), shape, steps, writeable=False)
    first, second = every[one], every[other]
    if first.shape != second.shape or not first.size:
        return bool(first.shape == second.shape)
    apart = any(
        n > 1 and a != b for n, a, b in zip(first.shape, first.strides, second.strides, strict=True)
    )
    start, another = (part.__array_interface__["data"][0] for part in (first, second))
    return not apart and bool(start == another)


def _share(x: Tracer, other: Tracer) -> None:
    if x.sharing is None:
        x.sharing = [weakref.ref(x)]
    x.sharing.append(weakref.ref(other))
    other.sharing = x.sharing


def _writing(recorded: Function) -> Function:
    """Return an assignment after which arrays that share the memory are refused.

    Eagerly they would change; a trace records values, which do not. ``x[key] += y`` changes a view
    and assigns it to where it is from, which is right again.
    """

    def setitem(x: Any, key: Any, value: Any) -> Any:
        if x.__class__ is not Tracer:
            return recorded(x, key, value)
        back = x.is_stale and value.__class__ is Tracer and value.origin is not None
        if back and value.origin[0] is x and _same_part(x.shape, value.origin[1], key):
            x.is_stale = False
        result = recorded(x, key, value)
        for ref in x.sharing or ():
            one = ref()
            if one is not None:
                one.is_stale = True
        if result.__class__ is Tracer:
            result.origin = x.origin
            if back:
                _share(value, result)
        return result

    return setitem


def current(x: Tracer) -> Tracer:
    """Return a tracer, of which the memory was not written into through another array."""
    if x.is_stale:
        raise TracedArrayError(x.trace.shared)
    return x


class TracedBackend(Backend):
    """A device's own backend, whose arrays are tracers: hooks are handed the values."""

    array_type = Tracer
    immutable = True

    def __init__(self, backend: Backend) -> None:
        super().__init__(backend.info, backend.chapters)
        self._untraced = backend
        for name in ("unchecked_linalg", "linalg_ignores_nonfinite", "standard", "takes_scalars"):
            setattr(self, name, getattr(backend, name))

    def owns(self, x: object) -> bool:
        """Tell whether an object is a tracer or one of the library's arrays."""
        return x.__class__ is Tracer or self._untraced.owns(x)

    def is_traced(self, x: Any) -> bool:
        """Tell whether values are not to be had."""
        return x.__class__ is Tracer or self._untraced.is_traced(x)

    def printable(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return an array's values for printing, which loses nothing."""
        return self._untraced.printable(lowered(x), device)

    def read_host(self, x: Any, device: Any) -> np.ndarray[Any, Any]:
        """Return a number; the values of arrays are refused."""
        shape = x.shape
        while x.__class__ is Tracer:
            if shape or not x.trace.reads_numbers:
                raise TracedArrayError(x.trace.unreadable)
            x = current(x).value
        return self._untraced.read_host(x, device)


def _passed_on(name: str) -> Function:
    def hook(self: TracedBackend, *args: Any, **options: Any) -> Any:
        for x in args:
            if x.__class__ is Tracer:
                raise TracedArrayError(x.trace.unreadable)
        return getattr(self._untraced, name)(*args, **options)

    return hook


for _word, _hook in list(Backend.__dict__.items()):
    if callable(_hook) and not _word.startswith("_") and _word not in TracedBackend.__dict__:
        setattr(TracedBackend, _word, _passed_on(_word))
TracedBackend.__abstractmethods__ = frozenset()

_devices: dict[Device, Device] = {}
_making = threading.Lock()


def traced_device(device: Device) -> Device:
    """Return the device on which traced arrays of a device are."""
    found = _devices.get(device)
    if found is None:
        with _making:
            found = _devices.get(device) or _devices.setdefault(device, _traced_device(device))
    return found


def _traced_device(device: Device) -> Device:
    backend = TracedBackend(device._backend)  # type: ignore[abstract]  # hooks are set above
    made = object.__new__(Device)
    for slot in ("library", "platform", "index", "name", "kind", "native", "_text"):
        object.__setattr__(made, slot, getattr(device, slot))
    object.__setattr__(made, "_seen", device)
    object.__setattr__(made, "_backend", backend)
    functions = TracedFunctions(dispatch.functions_of(device), backend, device)
    object.__setattr__(made, "_functions", functions)
    return made


def traced(x: Array, trace: Trace, place: int) -> Array:
    """Return an array that a trace follows; it may be followed by others."""
    table = x._table
    home = table.device._seen
    try:
        table = _tables[table]
    except KeyError:
        if table.device is home:
            table = dispatch.table_of(traced_device(home), table.dtype)
        _tables[x._table] = table
    return wrapped(Tracer(x._native, trace, place, home), table)


_tables: dict[dispatch.DispatchTable, dispatch.DispatchTable] = {}
"""The tables of traced arrays by those of the arrays."""


def untraced(native: Any, device: Device) -> Array:
    """Return a native array, which may be a tracer, as an array."""
    home = device._seen
    if native.__class__ is Tracer:
        home = traced_device(home)
    tables = dispatch.tables_of(home)
    return wrapped(native, tables[native.dtype])


def namespace_of(native: Any, device: Device) -> NativeNamespace:
    """Return the namespace for a native array that may be a tracer."""
    home = device._seen
    return dispatch.functions_of(
        traced_device(home) if native.__class__ is Tracer else home
    ).namespace
