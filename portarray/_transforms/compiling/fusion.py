"""Which nodes of a graph become one kernel.

A group of nodes computes values of one *domain*, the shape of its largest ones. They are *full*, or
have one element for each *row*: what is left where trailing axes, the same in the whole group, are
reduced. The axes of each value are mapped to those of the domain. Where all axes are reduced, the
domain is cut into parts, whose *totals* are combined after the kernel.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from portarray._transforms.compiling.expressions import REDUCTIONS
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref

__all__ = ["Axes", "Group", "fuse", "is_alias", "outputs"]

Axes = tuple[int, ...]
"""For each axis of a value the axis of the domain, -1 where its length is 1."""

MOST_ARRAYS = 24
"""Arrays that a kernel takes."""
LONGEST_ROW = 1 << 16
"""Elements of a row, whose sums are those of a few neighbours' sums each."""
FEWEST_PARTS, MOST_PARTS = 16, 1024
"""Into how many parts a domain is cut: so many can be computed at once."""
SHORTEST_PART = 256

_ALIASES = frozenset(("reshape", "expand_dims", "squeeze", "broadcast_to"))


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that one kernel computes."""

    domain: tuple[int, ...]
    inner: int | None = None  # the first axis of the domain that is reduced
    nodes: list[int] = field(default_factory=list)
    axes: dict[int, Axes] = field(default_factory=dict)  # of the values that it computes
    parts: int = 0  # into which the domain is cut for totals, 0 where there are none

    def is_full(self, axes: Axes) -> bool:
        """Tell whether a value has all axes of the domain."""
        return _present(axes) == [n for n, size in enumerate(self.domain) if size > 1]

    def is_row(self, axes: Axes) -> bool:
        """Tell whether a value has one element for each row."""
        rows = self.domain[: self.inner] if self.inner is not None else ()
        return _present(axes) == [n for n, size in enumerate(rows) if size > 1]

    def takes(self, axes: Axes) -> bool:
        """Tell whether a value can be computed with others of the group."""
        return self.is_full(axes) or (self.inner is not None and self.is_row(axes))


def _present(axes: Axes) -> list[int]:
    return [axis for axis in axes if axis >= 0]


def fuse(
    graph: Graph, fusable: Callable[[Node], str], worth: Callable[[Group, int], bool]
) -> tuple[list[Group], dict[str, str]]:
    """Return the groups of a graph, and why nodes are in none.

    ``fusable`` returns why a node cannot be in a group, ``worth`` tells of a group, with its number
    of calls, whether a kernel is faster.
    """
    finder = _Finder(graph, fusable)
    for n, node in enumerate(graph.nodes):
        finder.add(n, node)
    groups = list({id(one): one for one in finder.of_node.values()}.values())
    kept = []
    for group in groups:
        calls = sum(graph.nodes[n].name not in _ALIASES for n in group.nodes)
        if worth(group, calls):
            group.nodes.sort()
            kept.append(group)
    return kept, finder.reasons


class _Finder:
    def __init__(self, graph: Graph, fusable: Callable[[Node], str]) -> None:
        self.graph = graph
        self.fusable = fusable
        self.of_node: dict[int, Group] = {}
        self.reasons: dict[str, str] = {}
        self._maker: dict[int, int] = {}  # value to node
        self._before: list[int] = []  # nodes that a node depends on, and itself, as bits

    def add(self, n: int, node: Node) -> None:
        """Put a node into a group, if it can be in one."""
        before = 1 << n
        for number in node.inputs():
            if number in self._maker:
                before |= self._before[self._maker[number]]
        self._before.append(before)
        for number in node.outputs:
            self._maker[number] = n
        if node.name not in _ALIASES:
            why = self.fusable(node)
            if why:
                self.reasons[node.name] = why
                return
        around = [
            self.of_node[self._maker[number]]
            for number in reversed(node.inputs())
            if number in self._maker and self._maker[number] in self.of_node
        ]
        around = [one for one in dict.fromkeys(around) if self._device(one) is node.device]
        choices: list[list[Group]] = [around] if len(around) > 1 else []
        choices += [[one] for one in around]
        for groups in choices:
            joined = self._joined(groups, n, node)
            if joined is not None:
                break
        else:
            joined = None if node.name in _ALIASES else self._new(n, node)
        if joined is not None:
            for member in joined.nodes:
                self.of_node[member] = joined

    def _device(self, group: Group) -> Any:
        return self.graph.nodes[group.nodes[0]].device

    def _new(self, n: int, node: Node) -> Group | None:
        shape = self._shape(node.outputs[0])
        if node.name in REDUCTIONS:
            shape = self._shape_of(node.args[0])
        group = Group(shape)
        return group if self._place(group, n, node) and self._can_have_totals(group) else None

    def _joined(self, groups: list[Group], n: int, node: Node) -> Group | None:
        first = groups[0]
        inner = next((one.inner for one in groups if one.inner is not None), None)
        for one in groups:
            if one.domain != first.domain or one.inner not in (None, inner):
                return None
        members = [m for one in groups for m in one.nodes]
        parts = max(one.parts for one in groups)
        whole = Group(first.domain, inner, members, {}, parts)
        for one in groups:
            whole.axes.update(one.axes)
        if not self._place(whole, n, node):
            return None
        if self._is_cyclic(whole) or self._arrays(whole) > MOST_ARRAYS:
            return None
        return whole if self._can_have_totals(whole) else None

    def _place(self, group: Group, n: int, node: Node) -> bool:
        """Add a node to a group if its values have a place there."""
        if node.name in REDUCTIONS:
            axes = self._reduced(group, node)
        elif node.name in _ALIASES:
            axes = self._renamed(group, node)
        else:
            axes = self._elementwise(group, node)
        if axes is None or not group.takes(axes):
            return False
        if group.parts and node.name not in REDUCTIONS and not group.is_full(axes):
            return False  # a total is known after the kernel
        group.axes[node.outputs[0]] = axes
        group.nodes.append(n)
        return True

    def _elementwise(self, group: Group, node: Node) -> Axes | None:
        shape = self._shape(node.outputs[0])
        known: list[int | None] = [None if size > 1 else -1 for size in shape]
        for x in node.args:
            own = group.axes.get(x.number) if x.__class__ is Ref else None
            for n, axis in enumerate(reversed(own or ())):
                at = len(shape) - 1 - n
                if axis >= 0 and known[at] is None:
                    known[at] = axis
                elif axis >= 0 and known[at] != axis:
                    return None
        return _completed(known, shape, group.domain)

    def _renamed(self, group: Group, node: Node) -> Axes | None:
        """Return the axes of a value that differs in axes of length 1, or is broadcast."""
        x = node.args[0]
        own = group.axes.get(x.number) if x.__class__ is Ref else None
        if own is None:
            return None
        shape, given = self._shape(node.outputs[0]), self._shape(x.number)
        if node.name == "broadcast_to":
            known: list[int | None] = [None if size > 1 else -1 for size in shape]
            for n, axis in enumerate(reversed(own)):
                if axis >= 0:
                    known[len(shape) - 1 - n] = axis
            return _completed(known, shape, group.domain)
        long = [size for size in given if size > 1]
        if [size for size in shape if size > 1] != long:
            return None
        each = iter(_present(own))
        return tuple([next(each) if size > 1 else -1 for size in shape])

    def _reduced(self, group: Group, node: Node) -> Axes | None:
        x = node.args[0]
        shape = self._shape_of(x)
        own = group.axes.get(x.number) if x.__class__ is Ref else None
        if own is None:
            own = _completed([None if size > 1 else -1 for size in shape], shape, group.domain)
        if own is None or not group.is_full(own):
            return None
        axis = node.options.get("axis")
        chosen = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        gone = {n % len(shape) for n in chosen} if shape else set()
        reduced = [own[n] for n in sorted(gone) if own[n] >= 0]
        if not reduced:
            return None
        inner = reduced[0]
        long = [n for n, size in enumerate(group.domain) if size > 1]
        if reduced != [n for n in long if n >= inner] or group.inner not in (None, inner):
            return None
        length = math.prod(group.domain[inner:])
        if inner == long[0]:
            parts = min(length & -length, MOST_PARTS)
            while parts > FEWEST_PARTS and length // parts < SHORTEST_PART:
                parts //= 2
            if parts < FEWEST_PARTS or length // parts > LONGEST_ROW:
                return None
            group.parts = parts
        elif length > LONGEST_ROW:
            return None
        group.inner = inner
        keepdims = node.options.get("keepdims", False)
        return tuple(
            [
                -1 if n in gone else axis
                for n, axis in enumerate(own)
                if keepdims or n not in gone
            ]
        )  # fmt: skip

    def _can_have_totals(self, group: Group) -> bool:
        """Tell whether the parts of a domain can be gone through, where it is cut into some.

        All arrays have all axes, or none, and nothing in the kernel depends on a total.
        """
        if not group.parts:
            return True
        for n in group.nodes:
            node = self.graph.nodes[n]
            for x in node.args:
                own = group.axes.get(x.number) if x.__class__ is Ref else None
                if own is not None and not group.is_full(own):
                    return False
                size = math.prod(self._shape_of(x)) if x.__class__ in (Ref, Constant) else 1
                if size not in (1, math.prod(group.domain)):
                    return False
        return True

    def _is_cyclic(self, group: Group) -> bool:
        """Tell whether something outside of a group depends on it, and it on that."""
        inside = 0
        for n in group.nodes:
            inside |= 1 << n
        for n in group.nodes:
            for number in self.graph.nodes[n].inputs():
                maker = self._maker.get(number)
                if maker is None or inside >> maker & 1:
                    continue
                if self._before[maker] & inside:
                    return True
        return False

    def _arrays(self, group: Group) -> int:
        nodes = [self.graph.nodes[n] for n in group.nodes]
        own = {number for node in nodes for number in node.outputs}
        return len({number for node in nodes for number in node.inputs()} - own)

    def _shape(self, number: int) -> tuple[int, ...]:
        return self.graph.values[number].shape

    def _shape_of(self, x: Any) -> tuple[int, ...]:
        return self._shape(x.number) if x.__class__ is Ref else tuple(x.native.shape)


def _completed(
    known: Sequence[int | None], shape: tuple[int, ...], domain: tuple[int, ...]
) -> Axes | None:
    """Return the axes of a value where some are known, None if they cannot be told."""
    if None in known:
        if shape != domain:
            return None
        known = [n if axis is None else axis for n, axis in enumerate(known)]
    axes = tuple([-1 if axis is None else axis for axis in known])
    present = _present(axes)
    return axes if present == sorted(set(present)) else None


def outputs(graph: Graph, group: Group, kept: Iterable[int]) -> list[int]:
    """Return the values of a group that others need."""
    inside = set(group.nodes)
    needed = set(kept)
    for n, node in enumerate(graph.nodes):
        if n not in inside:
            needed.update(node.inputs())
    return [number for n in group.nodes for number in graph.nodes[n].outputs if number in needed]


def is_alias(node: Node) -> bool:
    """Tell whether a node's value differs from its operand in axes alone."""
    return node.name in _ALIASES
