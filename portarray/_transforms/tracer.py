"""Native arrays of traced devices, and what is behind them."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from portarray._devices.device import Device
from portarray._dispatch.native_functions import NativeNamespace
from portarray.errors import TracedArrayError

if TYPE_CHECKING:
    from portarray._transforms.tracing import Trace

__all__ = [
    "HOLDING",
    "Tracer",
    "any_may_hold",
    "current",
    "detached",
    "innermost",
    "lowered",
    "may_hold",
]

Function = Callable[..., Any]


def _unary(name: str) -> Function:
    return lambda self: getattr(self.xp, name)(self)


def _compare(name: str) -> Function:
    return lambda self, x: getattr(self.xp, name)(self, x)


def _binary(name: str) -> tuple[Function, Function]:
    return _compare(name), lambda self, x: getattr(self.xp, name)(x, self)


class Tracer:
    """A native array of a traced device: a value and its slot in a trace.

    A tracer without a value gets that of its trace when it is first needed.
    """

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

    if not TYPE_CHECKING:  # which knows the slots

        def __getattr__(self, name: str) -> Any:
            if name != "value":
                raise AttributeError(f"'Tracer' object has no attribute {name!r}")
            self.value = self.trace.first_value(self)
            return self.value

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
        return self.trace.namespace(self.home)

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
    __lshift__, __rlshift__ = _binary("bitwise_left_shift")
    __rshift__, __rrshift__ = _binary("bitwise_right_shift")
    __lt__, __le__ = _compare("less"), _compare("less_equal")
    __gt__, __ge__ = _compare("greater"), _compare("greater_equal")
    __neg__, __pos__ = _unary("negative"), _unary("positive")
    __invert__, __abs__ = _unary("bitwise_invert"), _unary("abs")
    __hash__ = object.__hash__
    __eq__ = _compare("equal")
    __ne__ = _compare("not_equal")


HOLDING = frozenset((Tracer, list, tuple))


def may_hold(x: Any) -> bool:
    """Return whether an operand is a tracer, or a list or tuple that may contain one."""
    kind = x.__class__
    if kind is tuple or kind is list:
        return not HOLDING.isdisjoint([part.__class__ for part in x])
    return kind is Tracer


def any_may_hold(args: Iterable[Any], options: Mapping[str, Any]) -> bool:
    """Return whether :func:`may_hold` is true for an argument or an option of a call."""
    return any(map(may_hold, args)) or (bool(options) and any(map(may_hold, options.values())))


def current(x: Tracer) -> Tracer:
    """Return a tracer; raise if it is stale."""
    if x.is_stale:
        raise TracedArrayError(x.trace.shared)
    return x


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
