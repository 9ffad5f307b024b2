"""Buffer reuse: values of a program are computed in the memory of values no longer needed.

A value is *fresh* if it shares its memory with no other array: the result of a kernel, or of a
function that never returns a view. Any other result may be a view of each operand. Only the memory
of fresh values is reused, when no possible view of it is used later. The memory of arguments,
constants and results is never reused.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from portarray._array import call_cache, device_scope, dispatch
from portarray._transforms.compiling.explanation import Buffers
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, refs
from portarray._transforms.shared_memory import VIEWS

if TYPE_CHECKING:
    from portarray._transforms.compiling.fused import Fused

__all__ = ["Plan", "last_uses", "plan"]

SMALLEST = 1 << 16
"""Fewest bytes of an array whose memory is reused: allocators cache small blocks."""

_FLOATS = (
    "acos acosh asin asinh atan atan2 atanh cos cosh exp expm1 hypot log log10 log1p log2 pow sin "
    "sinh sqrt square tan tanh add subtract multiply divide negative reciprocal"
)
_FRESH = frozenset(
    {
        *_FLOATS.split(), "equal", "greater", "greater_equal", "less", "less_equal", "not_equal",
        "empty_like", "full_like", "ones_like", "zeros_like", "kernels.gelu", "kernels.linear",
        "kernels.matmul", "kernels.silu", "linalg.matmul", "matmul", "setitem", "where",
    }
)  # fmt: skip
"""Functions that always return a new array."""

_REDUCTIONS = frozenset(("max", "mean", "min", "prod", "sum"))

_COMMUTATIVE = frozenset(("add", "multiply"))


@dataclass(slots=True)
class Plan:
    """The memory of the values of a program, by step."""

    into: dict[int, tuple[int | None, ...]] = field(default_factory=dict)
    """For kernels: the value whose memory each output reuses, None for a new array."""
    inplace: dict[int, tuple[Callable[..., Any], tuple[Any, ...]]] = field(default_factory=dict)
    """For calls: a function that changes its first operand and returns it, and the operands."""
    owned: dict[int, frozenset[int]] = field(default_factory=dict)
    """For launches: the operands that are changed without a copy; they are arguments."""
    last: list[list[int]] = field(default_factory=list)
    """The values that are freed after each step."""
    description: Buffers = field(default_factory=Buffers)


def plan(graph: Graph, steps: Sequence[Any]) -> Plan:
    """Plan the memory of the values of a program."""
    return _Planner(graph, steps).planned()


def last_uses(steps: Sequence[Any], outputs: Iterable[int]) -> list[list[int]]:
    """Return the values that each step uses last."""
    used = set(outputs)
    last: list[list[int]] = []
    for step in reversed(steps):
        new = [n for n in dict.fromkeys([*step.inputs(), *step.outputs]) if n not in used]
        used.update(new)
        last.append(new)
    last.reverse()
    return last


class _Planner:
    def __init__(self, graph: Graph, steps: Sequence[Any]) -> None:
        self.graph = graph
        self.steps = steps
        self.plan = Plan(last=last_uses(steps, refs(graph.outputs)))
        self.fresh: set[int] = set()
        self.sources: dict[int, frozenset[int]] = {}  # value to values whose memory it may share
        for n in graph.inputs:
            self.sources[n] = frozenset((n,))
        self.end: dict[int, int] = {}  # value to the last step that may use its memory
        for step in steps:
            self._find_sources(step)
        for n, step in enumerate(steps):
            for index in (*step.inputs(), *step.outputs):
                self._used(index, n)
        for index in refs(graph.outputs):
            self._used(index, len(steps))
        for argument, value in graph.changed.items():
            self._write_argument(argument, value)
        self.live = self._live()
        self.peak = max(self.live, default=0)
        self.free: dict[Any, list[int]] = {}  # shape and dtype to values whose memory is free
        self.held: dict[int, int] = {}  # value to the step that takes its memory

    def _find_sources(self, step: Any) -> None:
        inside: frozenset[int] = frozenset()
        if not isinstance(step, Node) or self._is_fresh(step):
            self.fresh.update(step.outputs)
        else:
            inside = frozenset().union(*(self.sources[n] for n in step.inputs()))
        for index in step.outputs:
            self.sources[index] = inside | {index}
        if inside and len(step.outputs) > 1:  # they may share memory with each other
            for index in step.outputs:
                self.sources[index] = inside | frozenset(step.outputs)

    def _is_fresh(self, node: Node) -> bool:
        if node.is_launch:
            return True
        if node.several:
            return False
        value = self.graph.values[node.outputs[0]]
        if node.name in _REDUCTIONS:
            x = node.args[0]
            return isinstance(x, Ref) and math.prod(value.shape) < self._size(x.index)
        return node.name in _FRESH and (node.name == "setitem" or value.dtype.kind in "bfc")

    def _used(self, index: int, step: int) -> None:
        for source in self.sources[index]:
            self.end[source] = max(self.end.get(source, -1), step)

    def _write_argument(self, argument: int, value: int) -> None:
        """Compute the last value of an argument in its memory, if nothing else uses that."""
        steps = {index: n for n, step in enumerate(self.steps) for index in step.outputs}
        path: list[tuple[int, Node, int]] = []  # step, node and operand, from the last
        index = value
        while index != argument:
            n = steps.get(index, -1)
            node = self.steps[n]
            position = self._written_operand(node, index) if n >= 0 else None
            if position is None or not isinstance(node.args[position], Ref):
                return
            previous = node.args[position].index
            others = refs([x for m, x in enumerate(node.args) if m != position])
            if self.end[previous] != n or any(previous in self.sources[m] for m in others):
                return
            path.append((n, node, position))
            index = previous
        self.fresh.difference_update(
            [argument, *(m for n, *_ in path for m in self.steps[n].outputs)]
        )
        for n, node, position in path:
            if node.is_launch:
                self.plan.owned[n] = self.plan.owned.get(n, frozenset()) | {position}
            else:
                function = device_scope.scoped(node.function.in_place, node.device)  # type: ignore[attr-defined]
                self.plan.inplace[n] = function, node.args

    def _written_operand(self, node: Any, index: int) -> int | None:
        """Return the position of the operand that a node changes, to compute a value."""
        if not isinstance(node, Node):
            return None
        if node.launch is not None:
            position = node.outputs.index(index) - (len(node.outputs) - node.launch.copies)
            return position if position >= 0 else None
        is_written = node.name == "setitem" and hasattr(node.function, "in_place")
        return 0 if is_written and not node.options else None

    def _size(self, index: int) -> int:
        return math.prod(self.graph.values[index].shape)

    def _bytes(self, index: int) -> int:
        return self._size(index) * self.graph.values[index].dtype.itemsize

    def _live(self) -> list[int]:
        """Return the bytes of the live values during each step."""
        changes = [0] * (len(self.steps) + 2)
        for n, step in enumerate(self.steps):
            for index in step.outputs:
                if index in self.fresh or not self._is_view(step):
                    changes[n] += self._bytes(index)
                    changes[self.end[index] + 1] -= self._bytes(index)
        live, now = [], 0
        for change in changes[: len(self.steps)]:
            now += change
            live.append(now)
        return live

    def _is_view(self, step: Any) -> bool:
        return isinstance(step, Node) and step.name in VIEWS

    def planned(self) -> Plan:
        """Return the plan for all steps."""
        allocated = reused = 0
        ending: dict[int, list[int]] = {}
        for index in self.fresh:
            if self._bytes(index) >= SMALLEST:
                ending.setdefault(self.end[index], []).append(index)
        for n, step in enumerate(self.steps):
            for index in sorted(ending.get(n, ())):
                self.free.setdefault(self._kind(index), []).append(index)
            if isinstance(step, Node):
                taken = self._taken_by_call(n, step)
            else:
                taken = self._taken_by_kernel(n, step)
            reused += taken
            allocated += sum(not self._is_view(step) for _ in step.outputs) - taken
        for index, step in self.held.items():
            last_user = next(n for n, gone in enumerate(self.plan.last) if index in gone)
            self.plan.last[last_user].remove(index)
            self.plan.last[step].append(index)
        self.plan.description = Buffers(allocated, reused, max(self.live, default=0))
        return self.plan

    def _kind(self, index: int) -> Any:
        value = self.graph.values[index]
        return value.shape, value.native_dtype, value.device

    def _taken_by_kernel(self, n: int, step: Fused) -> int:
        into: list[int | None] = []
        for position, output in enumerate(step.outputs):
            donor = None
            candidates = self.free.get(self._kind(output), ())
            for candidate in reversed(candidates if position in step.whole else ()):
                if self.end[candidate] < n:
                    gap = range(self.end[candidate] + 1, n)
                    size = self._bytes(candidate)
                    if candidate in step.inputs() or any(
                        self.live[m] + size > self.peak for m in gap
                    ):
                        continue
                    for m in gap:
                        self.live[m] += size
                elif not (candidate in step.inputs() and step.is_read_at(candidate, position)):
                    continue
                donor = candidate
                break
            if donor is not None:
                self._take(donor, output, n)
            into.append(donor)
        if any(candidate is not None for candidate in into):
            self.plan.into[n] = tuple(into)
        return sum(candidate is not None for candidate in into)

    def _taken_by_call(self, n: int, node: Node) -> int:
        if node.several or node.options or n in self.plan.owned or n in self.plan.inplace:
            return 0
        output = node.outputs[0]
        x: Any = node.args[0] if node.args else None
        args = node.args
        others = args[1:]
        if node.name in _COMMUTATIVE and not self._is_given_up(x, output, n):
            args = tuple(reversed(args))
            x, others = args[0], args[1:]
        if not self._is_given_up(x, output, n):
            return 0
        for operand in refs(list(others)):
            if operand != x.index and self.sources[operand] & {x.index}:
                return 0
        if node.name == "setitem" or node.is_launch:
            function = getattr(node.function, "in_place", None)
            if function is None or x.index in refs(list(others)):
                return 0
            if node.is_launch and not node.copied():
                return 0  # it fills a new array
            function = device_scope.scoped(function, node.device)
        else:
            table = dispatch.table_of(node.device, self.graph.values[x.index].dtype)
            if len(others) != 1 or not self._is_alike(others[0], table):
                return 0
            function = call_cache.inplace(table, node.name)
            if function is None:
                return 0
        self._take(x.index, output, n)
        self.plan.inplace[n] = function, args
        return 1

    def _is_given_up(self, x: Any, output: int, n: int) -> bool:
        """Return whether the result of a step can reuse an operand's memory."""
        return (
            isinstance(x, Ref)
            and self.end[x.index] == n
            and x.index in self.free.get(self._kind(output), ())
        )

    def _is_alike(self, x: Any, table: dispatch.DispatchTable) -> bool:
        if isinstance(x, Ref):
            return self.graph.values[x.index].dtype == table.dtype
        return not isinstance(x, Constant) and table.accepts(x)

    def _take(self, donor: int, output: int, n: int) -> None:
        self.free[self._kind(output)].remove(donor)
        if self.end[donor] < n:
            self.held[donor] = n
        for m in range(n, min(self.end[donor], n) + 1):  # counted twice in this step
            self.live[m] -= self._bytes(output)
        self.peak = max(self.live)
