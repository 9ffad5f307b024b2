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
from portarray._launchers.launcher import Layout
from portarray._movement import array_moves
from portarray.backends.base import Backend
from portarray.backends.types import Served
from portarray.errors import TracedArrayError

__all__ = [
    "BY_VALUES",
    "HOLDING",
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


def _unary(name: str) -> Function:
    return lambda self: getattr(self.xp, name)(self)


def _compare(name: str) -> Function:
    return lambda self, x: getattr(self.xp, name)(self, x)


def _binary(name: str) -> tuple[Function, Function]:
    return _compare(name), lambda self, x: getattr(self.xp, name)(x, self)


class Tracer:
    """A native array of a traced device: a value and its slot in a trace."""

    __slots__ = ("__weakref__", "home", "is_stale", "origin", "sharing", "slot", "trace", "value")

    __array_ufunc__ = None  # NumPy would make arrays of objects

    def __init__(self, value: Any, trace: Trace, slot: Any, device: Device) -> None:
        self.value = value
        self.trace = trace
        self.slot = slot  # what the trace knows it by
        self.home = device  # not the traced device
        self.sharing: list[weakref.ref[Tracer]] | None = None  # tracers of the same memory
        self.origin: tuple[Tracer, Any] | None = None  # the array and key of this view
        self.is_stale = False  # whether the memory was modified through another array

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
        value = lowered(self.trace.exported(self))
        return np.asarray(self.home._backend.read_host(value, self.device), *args, **options)

    # Generic core kernels use the operators of native arrays.
    __add__, __radd__ = _binary("add")
    __sub__, __rsub__ = _binary("subtract")
    __mul__, __rmul__ = _binary("multiply")
    __truediv__, __rtruediv__ = _binary("divide")
    __floordiv__, __rfloordiv__ = _binary("floor_divide")
    __mod__, __rmod__ = _binary("remainder")
    __pow__, __rpow__ = _binary("pow")
    __matmul__, __rmatmul__ = _binary("matmul")
    __and__, __rand__ = _binary("bitwise_and")
    __or__, __ror__ = _binary("bitwise_or")
    __xor__, __rxor__ = _binary("bitwise_xor")
    __lt__, __le__ = _compare("less"), _compare("less_equal")
    __gt__, __ge__ = _compare("greater"), _compare("greater_equal")
    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __invert__, __abs__ = _unary("bitwise_invert"), _unary("abs")
    __hash__ = object.__hash__
    __eq__ = _compare("equal")
    __ne__ = _compare("not_equal")


class Trace(ABC):
    """A recorder of the calls on traced arrays of one level.

    ``unreadable`` is the error message for reading values, ``shared`` for using an array whose
    memory was modified through another one. With ``reads_numbers`` 0-d arrays can be read. With
    ``follows_values``, control flow may depend on values.
    """

    unreadable: str
    shared: str
    reads_numbers = False
    follows_values = True

    def __init__(self) -> None:
        self.level = next(_levels)
        self.ended = ""

    def read(self, x: Tracer) -> Any:
        """Return the value of a tracer for the host; raise if it is not known."""
        if self.ended or x.shape or not self.reads_numbers:
            raise TracedArrayError(self.ended or self.unreadable)
        return current(x).value

    def exported(self, x: Tracer) -> Any:
        """Return the value of a tracer for other code than portarray's; raise if not known."""
        raise TracedArrayError(self.ended or self.unreadable)

    def adopt(self, x: Array, before: Any) -> None:
        """Take note of an array that an assignment of traced values made a traced one.

        ``before`` is its native array before that.
        """
        return

    def detached(self, x: Tracer) -> Any:
        """Return a tracer of this trace without gradients."""
        return detached(x.value, x.home)

    def refuse_kernel(self, name: str) -> NoReturn:
        """Raise the error for a method of a user kernel that takes a traced array."""
        raise TracedArrayError(
            f"{name}: this method does not take traced arrays\nHint: call the kernel itself"
        )

    def call_kernel(self, kernel: Any, args: Sequence[Any], ndrange: Any, group: Any) -> Any:
        """Call a user kernel with a traced array."""
        self.refuse_kernel(kernel.__name__)

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


def recording(name: str, function: Function, device: Device) -> Function:
    """Return a function that runs a call and records it in the innermost trace of its operands."""

    def recorded(*args: Any, **options: Any) -> Any:
        # Fast path: tracers of one trace, with untraced values.
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
                return only.record_call(name, function, device, args, options, plain, result)
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
        return trace.record_call(name, function, device, args, options, values, result)

    return recorded


HOLDING = frozenset((Tracer, list, tuple))


def _are_plain(options: Mapping[str, Any]) -> bool:
    """Return whether options contain no tracer, list or tuple."""
    return HOLDING.isdisjoint([x.__class__ for x in options.values()])


def innermost(values: Any, trace: Trace | None = None) -> Trace | None:
    """Return the innermost of ``trace`` and the traces of tracers in values and nested lists."""
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


def detached(native: Any, device: Device) -> Any:
    """Return a native array, or a tracer, without gradients."""
    if native.__class__ is Tracer:
        return current(native).trace.detached(native)
    return device._backend.stop_gradient(native)


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
            return recorded if self.untraced.backend.immutable else _writing(recorded)
        if name in VIEWS and not self.untraced.backend.immutable:
            return _sharing(recorded, picks=name == "getitem")
        return recorded

    def plain(self, name: str, dtype: Any) -> Function | None:
        """Return the library's function of arrays, recorded."""
        function = self.untraced.plain(name, dtype)
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
        if device._seen is home and not copy:
            return x
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


VIEWS = frozenset(
    {
        *("broadcast_arrays", "broadcast_to", "expand_dims", "flip", "getitem", "imag"),
        *("linalg.diagonal", "matrix_transpose", "moveaxis", "permute_dims", "real", "reshape"),
        *("squeeze", "unstack"),
    }
)
"""Functions whose results may share memory with an operand on mutable backends."""


BY_VALUES = frozenset(("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values"))
"""Functions whose result shapes depend on values."""


def _sharing(recorded: Function, *, picks: bool) -> Function:
    """Return a function that notes the memory its results share with the first operand."""

    def sharing(x: Any, *args: Any, **options: Any) -> Any:
        result = recorded(x, *args, **options)
        copies = picks and any(getattr(part, "ndim", 0) for part in parts(args[0]))
        for view in result if isinstance(result, (tuple, list)) else (result,):
            if view.__class__ is Tracer and x.__class__ is Tracer and not copies:
                _share(x, view)
                if picks:
                    view.origin = x, args[0]
        return result

    return sharing


def parts(key: Any) -> tuple[Any, ...]:
    """Return the parts of an index."""
    return key if type(key) is tuple else (key,)


def _same_part(shape: tuple[int, ...], first_key: Any, second_key: Any) -> bool:
    """Return whether two keys without index arrays select the same elements."""
    if parts(first_key) == parts(second_key):
        return True
    # Different slices can select the same elements. This array has one element and is never read.
    steps = np.cumprod((1, *shape[:0:-1]))[::-1]
    every = np.lib.stride_tricks.as_strided(np.zeros((), np.int8), shape, steps, writeable=False)
    first, second = every[first_key], every[second_key]
    if first.shape != second.shape or not first.size:
        return bool(first.shape == second.shape)
    apart = any(
        n > 1 and a != b for n, a, b in zip(first.shape, first.strides, second.strides, strict=True)
    )
    start, another = (part.__array_interface__["data"][0] for part in (first, second))
    return not apart and bool(start == another)


def _share(x: Tracer, view: Tracer) -> None:
    if x.sharing is None:
        x.sharing = [weakref.ref(x)]
    x.sharing.append(weakref.ref(view))
    view.sharing = x.sharing


def _writing(recorded: Function) -> Function:
    """Return an assignment that marks arrays of the same memory as stale.

    Without a trace they would change, but recorded values do not. ``x[key] += y`` modifies a view
    and assigns it back to its origin, which makes the origin valid again.
    """

    def setitem(x: Any, key: Any, value: Any) -> Any:
        if x.__class__ is not Tracer:
            return recorded(x, key, value)
        back = x.is_stale and value.__class__ is Tracer and value.origin is not None
        if back and value.origin[0] is x and _same_part(x.shape, value.origin[1], key):
            x.is_stale = False
        result = recorded(x, key, value)
        for ref in x.sharing or ():
            sharer = ref()
            if sharer is not None:
                sharer.is_stale = True
        if result.__class__ is Tracer:
            result.origin = x.origin
            if back:
                _share(value, result)
        return result

    return setitem


def current(x: Tracer) -> Tracer:
    """Return a tracer; raise if it is stale."""
    if x.is_stale:
        raise TracedArrayError(x.trace.shared)
    return x


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
    object.__setattr__(traced, "_seen", device)
    object.__setattr__(traced, "_backend", backend)
    functions = TracedFunctions(dispatch.functions_of(device), backend, device)
    object.__setattr__(traced, "_functions", functions)
    return traced


def traced(x: Array, trace: Trace, slot: Any) -> Array:
    """Return a traced array; ``x`` may be traced by outer traces."""
    table = x._dispatch
    home = table.device._seen
    try:
        table = _tables[table]
    except KeyError:
        if table.device is home:
            table = dispatch.table_of(traced_device(home), table.dtype)
        _tables[x._dispatch] = table
    return wrapped(Tracer(x._native, trace, slot, home), table)


_tables: dict[dispatch.DispatchTable, dispatch.DispatchTable] = {}
"""Dispatch tables of traced arrays by those of the arrays."""


def untraced(native: Any, device: Device) -> Array:
    """Return a native array, or a tracer of an outer trace, as an array."""
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
