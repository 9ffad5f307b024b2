"""The tape of reverse mode: calls recorded with their values, then run backwards."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from functools import partial
from itertools import repeat
from typing import Any, NamedTuple

import numpy as np

from portarray._array import base, dispatch
from portarray._array.array import Array
from portarray._array.results import wrapped
from portarray._devices.device import Device
from portarray._namespace import pa
from portarray._transforms import tracing, user_kernel_gradients
from portarray._transforms.ownership import memory_of
from portarray._transforms.rules import RULES
from portarray._transforms.saved_values import SavedValues, Slot
from portarray._transforms.tracer import Tracer, current
from portarray._transforms.tracing import Trace
from portarray._trees import array_trees
from portarray.errors import NoGradientError

__all__ = ["Call", "GradientTrace", "ValueTrace", "wrap"]


class Call(NamedTuple):
    """A recorded call."""

    name: str
    rule: Callable[..., Sequence[Any]] | None  # of a composite call
    device: Device  # of the results
    args: Sequence[Any]  # operands, with the tracers of this trace
    values: list[Any]  # the same without tracers; of a composite call, the arrays that it keeps
    options: Mapping[str, Any]
    results: list[Any]  # native arrays
    slots: Sequence[int]  # of the results, 0 for those without a gradient
    lends: bool = False  # whether the rule may return arrays that others hold

    def saved_slots(self) -> Iterator[Slot]:
        """Yield the slots of the values that the call saves."""
        if self.rule is not None:
            yield from [Slot(x, "_native", x.device) for x in self.values]
            return
        device = self.device
        yield from [Slot(self.results, n, device) for n in range(len(self.results))]
        for n, arg in enumerate(self.args):
            is_traced = arg.__class__ is Tracer
            yield Slot(self.values, n, arg.home if is_traced else device)
            if is_traced:
                yield Slot(arg, "value", arg.home)
        for name in self.options:
            yield Slot(self.options, name, device)


_NONE = repeat(None)
_SEQUENCES: frozenset[Any] = frozenset((list, tuple))

_new_call = partial(tuple.__new__, Call)
"""Makes a call from a tuple of all fields, in half the time."""


class GradientTrace(Trace):
    """A trace that records the calls between the inputs and the outputs of a function."""

    unreadable = (
        "a gradient is being computed through this array, and reading its values would lose it\n"
        "Hint: read the values of pa.stop_gradient(x)"
    )
    shared = (
        "an array that shares memory with this one was modified during differentiation\n"
        "Hint: assign to a copy, pa.asarray(x, copy=True), or make the view after the assignment"
    )
    reads_numbers = True

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[Call] = []
        self.lent: set[Hashable] = set()
        """The memory of cotangents that others may hold."""
        self._slots = 0
        self._guard: SavedValues | None = None

    def watch(self, x: Array) -> Array:
        """Return a traced array of this trace; the slots are numbered from 1."""
        self._slots = slot = self._slots + 1
        return tracing.traced_native(Tracer(x._native, self, slot, x._dispatch.device._home), x)

    def guard(self) -> SavedValues:
        """Return the guard of what the calls save; most functions write nothing and need none."""
        if self._guard is None:
            self._guard = SavedValues(self.calls, Call.saved_slots)
        return self._guard

    def records_kernel(self, name: str) -> bool:
        """Return whether a core kernel has its own gradient rule."""
        return name in RULES

    def record_call(
        self,
        name: str,
        function: Callable[..., Any],
        device: Device,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: list[Any],
        result: Any,
    ) -> Any:
        """Return the result with tracers for what has a gradient."""
        if name in _CONSTANT:
            return result
        try:
            is_floating = _FLOATING[result.dtype]
        except (AttributeError, KeyError):
            if isinstance(result, (tuple, list)):
                slots = [self._new_slot(item) for item in result]
                if any(slots):
                    call = Call(name, None, device, args, values, options, [*result], slots)
                    self.calls.append(call)
                pairs = zip(result, slots, strict=True)
                return tuple([Tracer(item, self, n, device) if n else item for item, n in pairs])
            is_floating = _is_floating(result)
        if not is_floating:
            return result
        if isinstance(result, np.generic):  # here once, not in each use
            result = np.asarray(result)
        self._slots = slot = self._slots + 1
        call = _new_call((name, None, device, args, values, options, [result], (slot,), False))
        self.calls.append(call)
        return Tracer(result, self, slot, device)

    def record_composite(
        self,
        name: str,
        inputs: Sequence[Array],
        output: Any,
        rule: Callable[..., Any],
        saved: list[Array],
        *,
        lends: bool,
    ) -> Any:
        """Record a call of a function of trees and return its traced output.

        ``rule`` takes the cotangents of the output, a tree like it, and returns those of the
        inputs, with ``lends`` perhaps arrays that others hold. It reads the arrays ``saved``.
        """
        leaves = [x for _, x in array_trees.arrays(output)]
        natives = [x._native if type(x) is Array else None for x in leaves]
        if any(map(self._is_watched, natives)):
            raise ValueError(
                f"{name}: uses a differentiated array from an enclosing scope\n"
                f"Hint: pass it as an argument"
            )
        slots = [self._new_slot(x) for x in natives]

        def apply_rule(cotangents: Sequence[Any]) -> Sequence[Any]:
            remaining = iter(cotangents)

            def filled(x: Any) -> Any:
                g = next(remaining)
                return pa.zeros_like(x) if g is None and type(x) is Array else g

            return rule(array_trees.mapped(filled, output))  # type: ignore[no-any-return]

        args = tuple([x._native for x in inputs])
        device = inputs[0].device
        self.calls.append(Call(name, apply_rule, device, args, saved, {}, natives, slots, lends))
        outputs = iter(zip(natives, slots, strict=True))

        def traced(x: Any) -> Any:
            native, slot = next(outputs)
            return wrap(Tracer(native, self, slot, x.device), x.device) if slot else x

        return array_trees.mapped(traced, output)

    def call_kernel(self, kernel: Any, args: Sequence[Any], ndrange: Any, group: Any) -> Any:
        """Call a user kernel and record its adjoint."""

        def record(
            name: str, inputs: Sequence[Array], outputs: Any, rule: Any, saved: list[Array]
        ) -> Any:
            return self.record_composite(name, inputs, outputs, rule, saved, lends=False)

        return user_kernel_gradients.call(self, kernel, args, ndrange, group, record)

    def _new_slot(self, x: Any) -> int:
        if not _is_floating(x):
            return 0
        self._slots += 1
        return self._slots

    def end(self, message: str) -> list[Call]:
        """Stop recording and return the calls.

        The calls hold tracers, which hold this trace. If the trace held the calls, only the garbage
        collector would free their memory, and it counts objects, not bytes.
        """
        self.ended = message
        calls, self.calls, self._guard = self.calls, [], None
        return calls

    def backward(
        self,
        calls: list[Call],
        cotangents: Mapping[int, Array],
        named: Callable[[MemoryError, Call, int], MemoryError],
        *,
        once: bool,
    ) -> dict[int, Array]:
        """Return the cotangents of the inputs by slot, given those of the outputs.

        ``named`` returns the error to raise if memory runs out, given the call and its index.
        ``once`` empties the list of calls, so that each call frees its values.
        """
        by_slot = dict(cotangents)
        remaining = calls if once else calls.copy()
        pop = by_slot.pop
        while remaining:
            call = remaining.pop()
            slots = call.slots
            if len(slots) == 1:
                output_cotangents = [pop(slots[0], None)]
            else:
                output_cotangents = list(map(pop, slots, _NONE))
            for g in output_cotangents:
                if g is not None:
                    break
            else:
                continue
            try:
                needs_grad, parts = self._vjp(call, output_cotangents)
                if call.lends:
                    self.lent.update([memory_of(g) for g in parts if g is not None])
                for x, needed, part in zip(call.args, needs_grad, parts, strict=False):
                    if not needed or part is None:
                        continue
                    if x.__class__ is Tracer:
                        previous = by_slot.get(x.slot)
                        by_slot[x.slot] = part if previous is None else previous + part
                    else:
                        self._add(by_slot, x, part)
            except MemoryError as error:
                by_slot.clear()
                exhaustion = named(error, call, len(remaining))
                raise exhaustion from (error.__cause__ if exhaustion is error else error)
        return by_slot

    def _vjp(
        self, call: Call, cotangents: Sequence[Array | None]
    ) -> tuple[Sequence[bool], Sequence[Any]]:
        """Return which operands of a call need cotangents, and the cotangents."""
        name, composite, device, args, values, options, natives, _, _ = call
        if composite is not None:
            return list(map(self._is_watched, args)), composite(cotangents)
        try:
            rule = RULES[name]
        except KeyError:
            raise NoGradientError(name) from None
        kind: Any = device._backend.array_type
        tables = dispatch.tables_of(device)
        new = base.new_uninitialized
        needs_grad: list[bool] = []
        operands: list[Any] = []
        for arg, x in zip(args, values, strict=True):
            home = device
            if arg.__class__ is Tracer:
                needs_grad.append(arg.trace is self and arg.slot > 0)
                home = arg.home
            else:
                needs_grad.append(self._is_watched(arg) if arg.__class__ in _SEQUENCES else False)
            if x.__class__ is kind and home is device:
                operands.append(operand := new())  # as wrapped, in a third of its time
                operand._native = x
                operand._dispatch = tables[x.dtype]
            else:
                operands.append(wrap(x, home))
        results: list[Any] = []
        for x in natives:
            if x.__class__ is kind:
                results.append(result := new())
                result._native = x
                result._dispatch = tables[x.dtype]
            else:
                results.append(wrap(x, device))
        return needs_grad, rule(cotangents, results, needs_grad, *operands, **options)

    def _is_watched(self, x: Any) -> bool:
        if x.__class__ is Tracer:
            return x.trace is self and x.slot > 0
        return x.__class__ in _SEQUENCES and any(map(self._is_watched, x))

    def _add(self, by_slot: dict[int, Array], x: Any, part: Any) -> None:
        if x.__class__ is Tracer:
            if x.trace is self and x.slot:
                previous = by_slot.get(x.slot)
                by_slot[x.slot] = part if previous is None else previous + part
        elif x.__class__ in _SEQUENCES:
            for item, item_part in zip(x, part, strict=True):
                self._add(by_slot, item, item_part)


class ValueTrace(Trace):
    """A trace that records nothing: assignments to traced arrays leave the originals unchanged."""

    unreadable = GradientTrace.unreadable
    shared = GradientTrace.shared
    reads_numbers = True

    def records_kernel(self, name: str) -> bool:
        """Return True: core kernels are calls."""
        return True

    def call_kernel(self, kernel: Any, args: Sequence[Any], ndrange: Any, group: Any) -> Any:
        """Call a user kernel on copies of what it writes."""

        def record(
            name: str, inputs: Sequence[Array], outputs: Any, rule: Any, saved: list[Array]
        ) -> Any:
            return outputs

        return user_kernel_gradients.call(self, kernel, args, ndrange, group, record)

    def watch(self, x: Array) -> Array:
        """Return a traced array of this trace."""
        return tracing.traced(x, self, 0)

    def value(self, x: Array) -> Array:
        """Return an array without this trace."""
        native = x._native
        if native.__class__ is Tracer and native.trace is self:
            return tracing.untraced(current(native).value, native.home)
        return x

    def record_call(
        self,
        name: str,
        function: Callable[..., Any],
        device: Device,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Sequence[Any],
        result: Any,
    ) -> Any:
        """Return the result with tracers."""
        if isinstance(result, (tuple, list)):
            return tuple([self._watched(item, device) for item in result])
        return self._watched(result, device)

    def _watched(self, x: Any, device: Device) -> Any:
        # Other results are constants on a tape too, and keys of untraced arrays.
        return Tracer(x, self, 0, device) if _is_floating(x) else x


def wrap(x: Any, device: Device) -> Any:
    """Return native arrays of a device, or tracers, as arrays; in lists and tuples too."""
    kind = x.__class__
    if kind is device._backend.array_type or isinstance(x, np.generic):
        return wrapped(x, dispatch.tables_of(device)[x.dtype])
    if kind in _PYTHON:
        return x
    if kind is Tracer or device._backend.owns(x):
        return tracing.untraced(x, device)
    return kind([wrap(item, device) for item in x]) if kind in (list, tuple) else x


_PYTHON = frozenset((bool, complex, float, int))

_CONSTANT = frozenset(("empty_like", "full_like", "ones_like", "zeros_like"))
"""Functions whose results do not depend on the values of their operands."""

_FLOATING: dict[Any, bool] = {}


def _is_floating(x: Any) -> bool:
    try:
        return _FLOATING[x.dtype]
    except AttributeError:
        return False
    except KeyError:
        text = str(x.dtype)
        is_floating = _FLOATING[x.dtype] = "float" in text or "complex" in text
        return is_floating
