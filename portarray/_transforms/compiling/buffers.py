"""Which memory a program's values are in: that of a value that is not needed again, or their own.

A value is *fresh* if no other array has its memory when it is made: the result of a kernel, or of a
function that never returns a view. The result of any other function may be a view of each operand.
Memory is given on only if it is a fresh value's and nothing that may be a view of it is used later;
never that of an argument, a constant or a result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from portarray._array import call_cache, device_scope, dispatch
from portarray._transforms.compiling.explanation import Buffers
from portarray._transforms.compiling.fused import Fused
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, refs
from portarray._transforms.tracing import VIEWS

__all__ = ["Plan", "last_uses", "plan"]

SMALLEST = 1 << 16
"""Bytes of an array whose memory is given on: allocators have small ones at hand."""

_FLOATS = (
    "acos acosh asin asinh atan atan2 atanh cos cosh exp expm1 hypot log log10 log1p log2 pow sin "
    "sinh sqrt square tan tanh add subtract multiply divide negative reciprocal"
)
_FRESH = frozenset(
    {
        *_FLOATS.split(), "equal", "greater", "greater_equal", "less", "less_equal", "not_equal",
        "full_like", "ones_like", "zeros_like", "kernels.gelu", "kernels.linear", "kernels.matmul",
        "kernels.silu", "linalg.matmul", "matmul", "setitem", "where",
    }
)  # fmt: skip
"""Functions that compute each number of a new array."""

_REDUCTIONS = frozenset(("max", "mean", "min", "prod", "sum"))

_COMMUTATIVE = frozenset(("add", "multiply"))


@dataclass(slots=True)
class Plan:
    """What steps do with memory; steps count from 0."""

    into: dict[int, tuple[int | None, ...]] = field(default_factory=dict)
    """For kernels: the value in whose memory each output is computed, None for a new array."""
    inplace: dict[int, tuple[Callable[..., Any], tuple[Any, ...]]] = field(default_factory=dict)
    """For calls: a function that changes its first operand and returns it, and the operands."""
    last: list[list[int]] = field(default_factory=list)
    """The values that are let go after each step."""
    told: Buffers = field(default_factory=Buffers)


def plan(graph: Graph, steps: Sequence[Any]) -> Plan:
    """Return where the values of a program are."""
    return _Planner(graph, steps).planned()


def last_uses(steps: Sequence[Any], kept: Iterable[int]) -> list[list[int]]:
    """Return the values that each step is the last one to use."""
    seen = set(kept)
    last: list[list[int]] = []
    for step in reversed(steps):
        new = [n for n in dict.fromkeys([*step.inputs(), *step.outputs]) if n not in seen]
        seen.update(new)
        last.append(new)
    last.reverse()
    return last


class _Planner:
    def __init__(self, graph: Graph, steps: Sequence[Any]) -> None:
        self.graph = graph
        self.steps = steps
        self.plan = Plan(last=last_uses(steps, refs(graph.outputs)))
        self.fresh: set[int] = set()
        self.sources: dict[int, frozenset[int]] = {}  # value to those whose memory it may have
        for n in graph.inputs:
            self.sources[n] = frozenset((n,))
        self.end: dict[int, int] = {}  # value to the last step that may use its memory
        for step in steps:
            self._find_sources(step)
        for n, step in enumerate(steps):
            for number in (*step.inputs(), *step.outputs):
                self._used(number, n)
        for number in refs(graph.outputs):
            self._used(number, len(steps))
        self.live = self._live()
        self.peak = max(self.live, default=0)
        self.free: dict[Any, list[int]] = {}  # shape and dtype to values whose memory is free
        self.held: dict[int, int] = {}  # value to the step that takes its memory

    # --- who has whose memory -------------------------------------------------------------------

    def _find_sources(self, step: Any) -> None:
        inside: frozenset[int] = frozenset()
        if isinstance(step, Fused) or self._is_fresh(step):
            self.fresh.update(step.outputs)
        else:
            inside = frozenset().union(*(self.sources[n] for n in step.inputs()))
        for number in step.outputs:
            self.sources[number] = inside | {number}
        if inside and len(step.outputs) > 1:  # they may have each other's memory
            for number in step.outputs:
                self.sources[number] = inside | frozenset(step.outputs)

    def _is_fresh(self, node: Node) -> bool:
        if node.several:
            return False
        value = self.graph.values[node.outputs[0]]
        if node.name in _REDUCTIONS:
            x = node.args[0]
            return isinstance(x, Ref) and math.prod(value.shape) < self._size(x.number)
        return node.name in _FRESH and (node.name == "setitem" or value.dtype.kind in "bfc")

    def _used(self, number: int, step: int) -> None:
        for source in self.sources[number]:
            self.end[source] = max(self.end.get(source, -1), step)

    def _size(self, number: int) -> int:
        return math.prod(self.graph.values[number].shape)

    def _bytes(self, number: int) -> int:
        return self._size(number) * self.graph.values[number].dtype.itemsize

    def _live(self) -> list[int]:
        """Return the bytes of the values that are there while each step runs."""
        changes = [0] * (len(self.steps) + 2)
        for n, step in enumerate(self.steps):
            for number in step.outputs:
                if number in self.fresh or not self._is_view(step):
                    changes[n] += self._bytes(number)
                    changes[self.end[number] + 1] -= self._bytes(number)
        live, now = [], 0
        for change in changes[: len(self.steps)]:
            now += change
            live.append(now)
        return live

    def _is_view(self, step: Any) -> bool:
        return isinstance(step, Node) and step.name in VIEWS

    # --- what is given on -----------------------------------------------------------------------

    def planned(self) -> Plan:
        """Go through the steps."""
        made = reused = 0
        ending: dict[int, list[int]] = {}
        for number in self.fresh:
            if self._bytes(number) >= SMALLEST:
                ending.setdefault(self.end[number], []).append(number)
        for n, step in enumerate(self.steps):
            for number in sorted(ending.get(n, ())):
                self.free.setdefault(self._kind(number), []).append(number)
            if isinstance(step, Fused):
                taken = self._taken_by_kernel(n, step)
            else:
                taken = self._taken_by_call(n, step)
            reused += taken
            made += sum(not self._is_view(step) for _ in step.outputs) - taken
        for number, step in self.held.items():
            before = next(n for n, gone in enumerate(self.plan.last) if number in gone)
            self.plan.last[before].remove(number)
            self.plan.last[step].append(number)
        self.plan.told = Buffers(made, reused, max(self.live, default=0))
        return self.plan

    def _kind(self, number: int) -> Any:
        value = self.graph.values[number]
        return value.shape, value.native_dtype, value.device

    def _taken_by_kernel(self, n: int, step: Fused) -> int:
        into: list[int | None] = []
        for place, number in enumerate(step.outputs):
            found = None
            candidates = self.free.get(self._kind(number), ())
            for one in reversed(candidates if place in step.whole else ()):
                if self.end[one] < n:
                    gap = range(self.end[one] + 1, n)
                    size = self._bytes(one)
                    if one in step.inputs() or any(self.live[m] + size > self.peak for m in gap):
                        continue
                    for m in gap:
                        self.live[m] += size
                elif not (one in step.inputs() and step.is_read_at(one, place)):
                    continue
                found = one
                break
            if found is not None:
                self._take(found, number, n)
            into.append(found)
        if any(one is not None for one in into):
            self.plan.into[n] = tuple(into)
        return sum(one is not None for one in into)

    def _taken_by_call(self, n: int, node: Node) -> int:
        if node.several or node.options:
            return 0
        number = node.outputs[0]
        x: Any = node.args[0] if node.args else None
        args = node.args
        others = args[1:]
        if node.name in _COMMUTATIVE and not self._is_given_up(x, number, n):
            args = tuple(reversed(args))
            x, others = args[0], args[1:]
        if not self._is_given_up(x, number, n):
            return 0
        for other in refs(list(others)):
            if other != x.number and self.sources[other] & {x.number}:
                return 0
        if node.name == "setitem":
            function = getattr(node.function, "in_place", None)
            if function is None or x.number in refs(list(others)):
                return 0
            function = device_scope.scoped(function, node.device)
        else:
            table = dispatch.table_of(node.device, self.graph.values[x.number].dtype)
            if len(others) != 1 or not self._is_alike(others[0], table):
                return 0
            function = call_cache.inplace(table, node.name)
            if function is None:
                return 0
        self._take(x.number, number, n)
        self.plan.inplace[n] = function, args
        return 1

    def _is_given_up(self, x: Any, number: int, n: int) -> bool:
        """Tell whether an operand's memory can be that of the result of a step."""
        return (
            isinstance(x, Ref)
            and self.end[x.number] == n
            and x.number in self.free.get(self._kind(number), ())
        )

    def _is_alike(self, x: Any, table: dispatch.DispatchTable) -> bool:
        if isinstance(x, Ref):
            return self.graph.values[x.number].dtype == table.dtype
        return not isinstance(x, Constant) and table.takes(x)

    def _take(self, one: int, number: int, n: int) -> None:
        self.free[self._kind(number)].remove(one)
        if self.end[one] < n:
            self.held[one] = n
        for m in range(n, min(self.end[one], n) + 1):  # it was counted twice in this step
            self.live[m] -= self._bytes(number)
        self.peak = max(self.live)
