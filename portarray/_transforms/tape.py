"""Reverse mode: what a function calls is recorded with its values, then run through backwards."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._array.results import wrapped
from portarray._devices.device import Device
from portarray._transforms import tracing, trees
from portarray._transforms.rules import RULES
from portarray._transforms.standard import pa
from portarray._transforms.tracing import Trace, Tracer
from portarray.errors import NoGradientError

__all__ = ["GradientTrace", "ValueTrace", "wrap"]


class _Call(NamedTuple):
    """A call of a function of the standard, or of a function with a rule of its own."""

    name: str
    rule: Callable[..., Sequence[Any]] | None  # of a function that is recorded as a whole
    device: Device  # of the results
    args: Sequence[Any]  # operands, with the tracers of this trace
    values: Sequence[Any]  # the same without them
    options: Mapping[str, Any]
    results: Sequence[Any]  # native arrays
    places: Sequence[int]  # of the results, 0 for those without a gradient

    def pull(self, cotangents: Sequence[Array | None], wanted: Sequence[bool]) -> Sequence[Any]:
        """Return the cotangents of the operands."""
        if self.rule is not None:
            return self.rule(cotangents)
        rule = RULES.get(self.name)
        if rule is None:
            raise NoGradientError(self.name)
        device = self.device
        kind: Any = device._backend.array_type
        tables = dispatch.tables_of(device)
        operands = [
            wrapped(x, tables[x.dtype])
            if x.__class__ is kind and (own.__class__ is not Tracer or own.home is device)
            else wrap(x, own.home if own.__class__ is Tracer else device)
            for own, x in zip(self.args, self.values, strict=True)
        ]
        results = [
            wrapped(x, tables[x.dtype]) if x.__class__ is kind else wrap(x, device)
            for x in self.results
        ]
        return rule(cotangents, results, wanted, *operands, **self.options)


class GradientTrace(Trace):
    """The calls between the inputs of a function and its value."""

    unreadable = (
        "a gradient is being taken of this array, which would be lost where its values are read: "
        "use pa.stop_gradient(x) for an array of its values alone"
    )
    shared = (
        "this array shares memory with another, into which something was assigned while a "
        "gradient is being taken: a view of it, or what it is a view of. The record does not see "
        "that change here. Assign to a copy, pa.asarray(x, copy=True), or make the view after the "
        "assignment"
    )
    reads_numbers = True

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[_Call] = []
        self._places = 0

    def follow(self, x: Array) -> tuple[Array, int]:
        """Return an array that this trace follows, and its place."""
        self._places += 1
        return tracing.traced(x, self, self._places), self._places

    def takes_whole(self, name: str) -> bool:
        """Tell whether a core kernel has a gradient of its own."""
        return name in RULES

    def record(
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
        if not device._backend.immutable:
            for n, x in enumerate(values):
                if x is args[n] and x.__class__ not in _PYTHON:
                    values[n] = _kept(x, device)
        if isinstance(result, (tuple, list)):
            places = [self._place(one) for one in result]
            if any(places):
                self.calls.append(_Call(name, None, device, args, values, options, result, places))
            pairs = zip(result, places, strict=True)
            return tuple([Tracer(one, self, n, device) if n else one for one, n in pairs])
        if not _is_floating(result):
            return result
        self._places = place = self._places + 1
        self.calls.append(_Call(name, None, device, args, values, options, (result,), (place,)))
        return Tracer(result, self, place, device)

    def record_whole(
        self, name: str, inputs: Sequence[Array], output: Any, rule: Callable[..., Any]
    ) -> Any:
        """Return the traced output of a function of trees, recorded as one call.

        ``rule`` takes the cotangents of the output, a tree like it, and returns those of the
        arguments, whose arrays in order are the inputs.
        """
        leaves = [x for _, x in trees.arrays(output)]
        natives = [x._native if type(x) is Array else None for x in leaves]
        if any(map(self._follows, natives)):
            raise ValueError(
                f"{name} uses an array from outside of which a gradient is taken; pass it as an "
                f"argument"
            )
        places = [self._place(x) for x in natives]

        def ruled(cotangents: Sequence[Any]) -> Sequence[Any]:
            each = iter(cotangents)

            def one(x: Any) -> Any:
                g = next(each)
                return pa.zeros_like(x) if g is None and type(x) is Array else g

            return rule(trees.mapped(one, output))  # type: ignore[no-any-return]

        args = tuple([x._native for x in inputs])
        device = inputs[0].device
        self.calls.append(_Call(name, ruled, device, args, args, {}, natives, places))
        each = iter(zip(natives, places, strict=True))

        def traced(x: Any) -> Any:
            native, place = next(each)
            return wrap(Tracer(native, self, place, x.device), x.device) if place else x

        return trees.mapped(traced, output)

    def _place(self, x: Any) -> int:
        if not _is_floating(x):
            return 0
        self._places += 1
        return self._places

    def end(self, message: str) -> list[_Call]:
        """Record no more, and return the calls.

        They hold tracers, which hold this trace: were it to hold them too, memory would be freed
        by the garbage collector alone, which counts objects and not their bytes.
        """
        self.ended = message
        calls, self.calls = self.calls, []
        return calls

    def backward(
        self, calls: list[_Call], cotangents: Mapping[int, Array], *, once: bool
    ) -> dict[int, Array]:
        """Return the cotangents of the places that those of some results depend on.

        ``once`` empties the list of calls, so that each frees what it kept.
        """
        found = dict(cotangents)
        for call in _popped(calls) if once else reversed(calls):
            given = [found.pop(place, None) for place in call.places]
            for one in given:
                if one is not None:
                    break
            else:
                continue
            args = call.args
            wanted = [
                x.trace is self and x.place > 0 if x.__class__ is Tracer else self._follows(x)
                for x in args
            ]
            for x, needed, part in zip(args, wanted, call.pull(given, wanted), strict=False):
                if not needed or part is None:
                    continue
                if x.__class__ is Tracer:
                    known = found.get(x.place)
                    found[x.place] = part if known is None else known + part
                else:
                    self._add(found, x, part)
        return found

    def _follows(self, x: Any) -> bool:
        if x.__class__ is Tracer:
            return x.trace is self and x.place > 0
        return x.__class__ in (list, tuple) and any(map(self._follows, x))

    def _add(self, found: dict[int, Array], x: Any, part: Any) -> None:
        if x.__class__ is Tracer:
            if x.trace is self and x.place:
                known = found.get(x.place)
                found[x.place] = part if known is None else known + part
        elif x.__class__ in (list, tuple):
            for one, own in zip(x, part, strict=True):
                self._add(found, one, own)


def _popped(calls: list[_Call]) -> Iterator[_Call]:
    while calls:
        yield calls.pop()


class ValueTrace(Trace):
    """Calls of which nothing is recorded: assignments leave the arrays that it follows alone."""

    unreadable = GradientTrace.unreadable
    shared = GradientTrace.shared
    reads_numbers = True

    def takes_whole(self, name: str) -> bool:
        """Tell that core kernels are calls."""
        return True

    def follow(self, x: Array) -> Array:
        """Return an array that this trace follows."""
        return tracing.traced(x, self, 0)

    def value(self, x: Array) -> Array:
        """Return an array without this trace."""
        native = x._native
        if native.__class__ is Tracer and native.trace is self:
            return tracing.untraced(tracing.current(native).value, native.home)
        return x

    def record(
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
            return tuple([self._followed(one, device) for one in result])
        return self._followed(result, device)

    def _followed(self, x: Any, device: Device) -> Any:
        # Others are constants in a record too, and keys of arrays that no trace follows.
        return Tracer(x, self, 0, device) if _is_floating(x) else x


def wrap(x: Any, device: Device) -> Any:
    """Return native arrays of a device, tracers among them, as arrays; in lists and tuples too."""
    kind = x.__class__
    if kind is device._backend.array_type:
        return wrapped(x, dispatch.tables_of(device)[x.dtype])
    if kind in _PYTHON:
        return x
    if kind is Tracer or device._backend.owns(x) or isinstance(x, np.generic):
        return tracing.untraced(x, device)
    return kind([wrap(one, device) for one in x]) if kind in (list, tuple) else x


_PYTHON = frozenset((bool, complex, float, int))

_COPIED = 4096
"""Elements of an operand without a gradient of which a copy is recorded."""


def _kept(x: Any, device: Device) -> Any:
    """Return a constant as it is now: a small array may be written into before the way back."""
    if not device._backend.owns(x) or not x.shape or math.prod(x.shape) > _COPIED:
        return x
    return dispatch.functions_of(device).namespace.asarray(x, copy=True)


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
        known = _FLOATING[x.dtype] = "float" in text or "complex" in text
        return known
