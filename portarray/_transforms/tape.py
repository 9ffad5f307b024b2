"""Reverse mode: what a function calls is recorded with its values, then run through backwards."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from portarray._devices.device import Device
from portarray._transforms import tracing
from portarray._transforms.rules import RULES, NoGradientError
from portarray._transforms.tracing import Trace, Tracer

__all__ = ["GradientTrace"]

Array = Any


class _Call(NamedTuple):
    name: str
    args: tuple[Any, ...]  # operands, with the tracers of this trace
    values: Sequence[Any]  # the same without them
    options: Mapping[str, Any]
    results: Sequence[Any]  # native arrays
    places: Sequence[int]  # of the results, -1 for those without a gradient


class GradientTrace(Trace):
    """The calls between the inputs of a function and its value."""

    def __init__(self, device: Device) -> None:
        super().__init__(device)
        self.calls: list[_Call] = []
        self._places = 0

    def follow(self, x: Array) -> tuple[Array, int]:
        """Return an array that this trace follows, and its place."""
        self._places += 1
        return tracing.traced(x, self, self._places), self._places

    def record(
        self,
        name: str,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Sequence[Any],
        result: Any,
    ) -> Any:
        """Return the result with tracers for what has a gradient."""
        if name in _CONSTANT:
            return result
        if isinstance(result, (tuple, list)):
            results: Sequence[Any] = result
            places = [self._place(one) for one in result]
            if max(places, default=0):
                self.calls.append(_Call(name, args, values, options, results, places))
            pairs = zip(results, places, strict=True)
            return tuple([Tracer(one, self, n) if n else one for one, n in pairs])
        place = self._place(result)
        if not place:
            return result
        self.calls.append(_Call(name, args, values, options, (result,), (place,)))
        return Tracer(result, self, place)

    def _place(self, x: Any) -> int:
        if not _is_floating(x):
            return 0
        self._places += 1
        return self._places

    def backward(self, cotangents: Mapping[int, Array]) -> dict[int, Array]:
        """Return the cotangents of the places that those of some results depend on."""
        found = dict(cotangents)
        wrap = self._wrapped
        for call in reversed(self.calls):
            given = [found.pop(place, None) if place else None for place in call.places]
            if not any(one is not None for one in given):
                continue
            rule = RULES.get(call.name)
            if rule is None:
                raise NoGradientError(f"{call.name} has no gradient")
            wanted = [self._follows(x) for x in call.args]
            operands = [wrap(x) for x in call.values]
            results = [wrap(x) for x in call.results]
            parts = rule(given, results, wanted, *operands, **call.options)
            for x, needed, part in zip(call.args, wanted, parts, strict=False):
                if needed and part is not None:
                    self._add(found, x, part)
        return found

    def _follows(self, x: Any) -> bool:
        if x.__class__ is Tracer:
            return x.trace is self
        return x.__class__ in (list, tuple) and any(map(self._follows, x))

    def _add(self, found: dict[int, Array], x: Any, part: Any) -> None:
        if x.__class__ is Tracer:
            if x.trace is self:
                known = found.get(x.place)
                found[x.place] = part if known is None else known + part
        elif x.__class__ in (list, tuple):
            for one, own in zip(x, part, strict=True):
                self._add(found, one, own)

    def _wrapped(self, x: Any) -> Any:
        kind = x.__class__
        if kind is Tracer or self.device._backend.owns(x) or isinstance(x, np.generic):
            return tracing.untraced(x, self.device)
        return kind([self._wrapped(one) for one in x]) if kind in (list, tuple) else x


_CONSTANT = frozenset(("empty_like", "full_like", "ones_like", "zeros_like"))
"""Functions whose results do not depend on the values of their operands."""

_FLOATING: dict[Any, bool] = {}


def _is_floating(x: Any) -> bool:
    dtype = getattr(x, "dtype", None)
    if dtype is None:
        return False
    known = _FLOATING.get(dtype)
    if known is None:
        text = str(dtype)
        known = _FLOATING[dtype] = "float" in text or "complex" in text
    return known
