"""Fusion: find groups of nodes that one kernel can compute.

The values of a group have a common *domain*, the shape of the largest ones. A value is *full*, or
has one element for each *row* of the domain, whose trailing axes are reduced. The axes of each
value map to axes of the domain. If all axes are reduced, the domain is split into parts, whose
*totals* are combined after the kernel.
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
"""The axis of the domain for each axis of a value, -1 for length 1."""

MOST_ARRAYS = 24
"""Most arrays that a kernel takes."""
LONGEST_ROW = 1 << 16
"""Most elements of a row that one group of work-items reduces."""
FEWEST_PARTS, MOST_PARTS = 16, 1024
"""Number of parts of a domain, which run in parallel."""
SHORTEST_PART = 256

_ALIASES = frozenset(("reshape", "expand_dims", "squeeze", "broadcast_to"))


@dataclass(slots=True, eq=False)
class Group:
    """Nodes that one kernel computes."""

    domain: tuple[int, ...]
    inner: int | None = None  # the first axis of the domain that is reduced
    nodes: list[int] = field(default_factory=list)
    axes: dict[int, Axes] = field(default_factory=dict)  # of the values that it computes
    parts: int = 0  # of the domain, for totals; 0 without totals

    def is_full(self, axes: Axes) -> bool:
        """Return whether a value has all axes of the domain."""
        return _present(axes) == [n for n, size in enumerate(self.domain) if size > 1]

    def is_row(self, axes: Axes) -> bool:
        """Return whether a value has one element for each row."""
        rows = self.domain[: self.inner] if self.inner is not None else ()
        return _present(axes) == [n for n, size in enumerate(rows) if size > 1]

    def accepts(self, axes: Axes) -> bool:
        """Return whether the group can compute a value."""
        return self.is_full(axes) or (self.inner is not None and self.is_row(axes))


def _present(axes: Axes) -> list[int]:
    return [axis for axis in axes if axis >= 0]


def fuse(
    graph: Graph, fusable: Callable[[Node], str], worth: Callable[[Group, int], bool]
) -> tuple[list[Group], dict[str, str]]:
    """Return the groups of a graph, and why nodes are in no group.

    ``fusable`` returns why a node cannot be in a group. ``worth`` returns whether a kernel is
    faster than the calls of a group, given their number.
    """
    finder = _Finder(graph, fusable)
    for n, node in enumerate(graph.nodes):
        finder.add(n, node)
    groups = list(
        {id(finder_group): finder_group for finder_group in finder.of_node.values()}.values()
    )
    worthwhile = []
    for group in groups:
        calls = sum(graph.nodes[n].name not in _ALIASES for n in group.nodes)
        if worth(group, calls):
            group.nodes.sort()
            worthwhile.append(group)
    return worthwhile, finder.reasons


class _Finder:
    def __init__(self, graph: Graph, fusable: Callable[[Node], str]) -> None:
        self.graph = graph
        self.fusable = fusable
        self.of_node: dict[int, Group] = {}
        self.reasons: dict[str, str] = {}
        self._maker: dict[int, int] = {}  # value to node

    def add(self, n: int, node: Node) -> None:
        """Add a node to a group if possible."""
        for index in node.outputs:
            self._maker[index] = n
        if node.name not in _ALIASES:
            why = self.fusable(node)
            if why:
                self.reasons[node.name] = why
                return
        around = [
            self.of_node[self._maker[index]]
            for index in reversed(node.inputs())
            if index in self._maker and self._maker[index] in self.of_node
        ]
        around = [group for group in dict.fromkeys(around) if self._device(group) is node.device]
        choices: list[list[Group]] = [around] if len(around) > 1 else []
        choices += [[group] for group in around]
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
        return group if self._add_node(group, n, node) and self._can_have_totals(group) else None

    def _joined(self, groups: list[Group], n: int, node: Node) -> Group | None:
        first = groups[0]
        inner = next((group.inner for group in groups if group.inner is not None), None)
        for group in groups:
            if group.domain != first.domain or group.inner not in (None, inner):
                return None
        members = [m for group in groups for m in group.nodes]
        parts = max(group.parts for group in groups)
        whole = Group(first.domain, inner, members, {}, parts)
        for group in groups:
            whole.axes.update(group.axes)
        if not self._add_node(whole, n, node):
            return None
        if self._is_cyclic(whole) or self._arrays(whole) > MOST_ARRAYS:
            return None
        return whole if self._can_have_totals(whole) else None

    def _add_node(self, group: Group, n: int, node: Node) -> bool:
        """Add a node to a group if the group can compute its values."""
        if node.name in REDUCTIONS:
            axes = self._reduced(group, node)
        elif node.name in _ALIASES:
            axes = self._renamed(group, node)
        else:
            axes = self._elementwise(group, node)
        if axes is None or not group.accepts(axes):
            return False
        if group.parts and node.name not in REDUCTIONS and not group.is_full(axes):
            return False  # totals are computed after the kernel
        group.axes[node.outputs[0]] = axes
        group.nodes.append(n)
        return True

    def _elementwise(self, group: Group, node: Node) -> Axes | None:
        shape = self._shape(node.outputs[0])
        axes: list[int | None] = [None if size > 1 else -1 for size in shape]
        for x in node.args:
            operand_axes = group.axes.get(x.index) if x.__class__ is Ref else None
            for n, axis in enumerate(reversed(operand_axes or ())):
                at = len(shape) - 1 - n
                if axis >= 0 and axes[at] is None:
                    axes[at] = axis
                elif axis >= 0 and axes[at] != axis:
                    return None
        return _completed(axes, shape, group.domain)

    def _renamed(self, group: Group, node: Node) -> Axes | None:
        """Return the axes of a value with other axes of length 1, or of a broadcast one."""
        x = node.args[0]
        operand_axes = group.axes.get(x.index) if x.__class__ is Ref else None
        if operand_axes is None:
            return None
        shape, operand_shape = self._shape(node.outputs[0]), self._shape(x.index)
        if node.name == "broadcast_to":
            axes: list[int | None] = [None if size > 1 else -1 for size in shape]
            for n, axis in enumerate(reversed(operand_axes)):
                if axis >= 0:
                    axes[len(shape) - 1 - n] = axis
            return _completed(axes, shape, group.domain)
        long = [size for size in operand_shape if size > 1]
        if [size for size in shape if size > 1] != long:
            return None
        present = iter(_present(operand_axes))
        return tuple([next(present) if size > 1 else -1 for size in shape])

    def _reduced(self, group: Group, node: Node) -> Axes | None:
        x = node.args[0]
        shape = self._shape_of(x)
        operand_axes = group.axes.get(x.index) if x.__class__ is Ref else None
        if operand_axes is None:
            operand_axes = _completed(
                [None if size > 1 else -1 for size in shape], shape, group.domain
            )
        if operand_axes is None or not group.is_full(operand_axes):
            return None
        axis = node.options.get("axis")
        chosen = range(len(shape)) if axis is None else axis if isinstance(axis, tuple) else (axis,)
        gone = {n % len(shape) for n in chosen} if shape else set()
        reduced = [operand_axes[n] for n in sorted(gone) if operand_axes[n] >= 0]
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
                for n, axis in enumerate(operand_axes)
                if keepdims or n not in gone
            ]
        )  # fmt: skip

    def _can_have_totals(self, group: Group) -> bool:
        """Return whether a kernel can iterate over the parts of the domain, if there are any.

        Each array has all axes or none, and nothing in the kernel depends on a total.
        """
        if not group.parts:
            return True
        for n in group.nodes:
            node = self.graph.nodes[n]
            for x in node.args:
                operand_axes = group.axes.get(x.index) if x.__class__ is Ref else None
                if operand_axes is not None and not group.is_full(operand_axes):
                    return False
                size = math.prod(self._shape_of(x)) if x.__class__ in (Ref, Constant) else 1
                if size not in (1, math.prod(group.domain)):
                    return False
        return True

    def _is_cyclic(self, group: Group) -> bool:
        """Return whether a node or another group is between nodes of the group."""
        inside = set(group.nodes)
        reached: set[int] = set()
        pending = self._makers(group.nodes) - inside
        while pending:
            n = pending.pop()
            group_of_maker = self.of_node.get(n)
            members = [n] if group_of_maker is None else group_of_maker.nodes
            reached.update(members)
            makers = self._makers(members)
            if makers & inside:
                return True
            pending |= makers - reached
        return False

    def _makers(self, nodes: Iterable[int]) -> set[int]:
        """Return the nodes that compute the inputs of nodes."""
        inputs = {index for n in nodes for index in self.graph.nodes[n].inputs()}
        return {self._maker[index] for index in inputs if index in self._maker}

    def _arrays(self, group: Group) -> int:
        nodes = [self.graph.nodes[n] for n in group.nodes]
        computed = {index for node in nodes for index in node.outputs}
        return len({index for node in nodes for index in node.inputs()} - computed)

    def _shape(self, index: int) -> tuple[int, ...]:
        return self.graph.values[index].shape

    def _shape_of(self, x: Any) -> tuple[int, ...]:
        return self._shape(x.index) if x.__class__ is Ref else tuple(x.native.shape)


def _completed(
    partial: Sequence[int | None], shape: tuple[int, ...], domain: tuple[int, ...]
) -> Axes | None:
    """Complete the partly known axes of a value, None if they are ambiguous."""
    if None in partial:
        if shape != domain:
            return None
        partial = [n if axis is None else axis for n, axis in enumerate(partial)]
    axes = tuple([-1 if axis is None else axis for axis in partial])
    present = _present(axes)
    return axes if present == sorted(set(present)) else None


def outputs(graph: Graph, group: Group, graph_outputs: Iterable[int]) -> list[int]:
    """Return the values of a group that other nodes or the outputs need."""
    inside = set(group.nodes)
    needed = set(graph_outputs)
    for n, node in enumerate(graph.nodes):
        if n not in inside:
            needed.update(node.inputs())
    return [index for n in group.nodes for index in graph.nodes[n].outputs if index in needed]


def is_alias(node: Node) -> bool:
    """Return whether a node's value differs from its operand only in axes."""
    return node.name in _ALIASES
