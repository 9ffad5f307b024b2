"""Owner computes: the device of each task whose operands are on several devices.

One pass over a graph infers the device of each task from its operands and inserts tasks that move
the other operands. Consumers on the same device share a moved operand.
"""

from __future__ import annotations

import operator
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache, partial
from typing import Any, NamedTuple

import dask.array.chunk
from dask._task_spec import (
    Alias,
    DataNode,
    List,
    Task,
    TaskRef,
    _execute_subgraph,
    _identity_cast,
)
from dask.array.core import _concatenate2, finalize, getter, getter_inline, getter_nofancy
from dask.array.reductions import (
    mean_agg,
    mean_chunk,
    mean_combine,
    moment_agg,
    moment_chunk,
    moment_combine,
)
from dask.array.routines import _chunk_sum, _matmul
from dask.base import tokenize
from tlz import compose

import portarray as pa
from portarray.dask import faults, scopes
from portarray.dask.layers import Layers, Size
from portarray.dask.narrowing import COMPOSE
from portarray.dask.registration import finished, near
from portarray.dask.scopes import ANNOTATION, Scope
from portarray.errors import PortarrayWarning

__all__ = ["LOOKUPS", "Move", "Plan", "assign", "brought", "move_value"]

LOOKUPS: list[Callable[[Any], Scope | None]] = []
"""Functions that return the scope of a key that is computed already."""

_COMBINES = {
    **{
        getattr(dask.array.chunk, name): getattr(dask.array.chunk, name)
        for name in ("sum", "prod", "min", "max", "any", "all")
    },
    _chunk_sum: _chunk_sum,
    mean_agg: mean_combine,
    mean_combine: mean_combine,
    moment_agg: moment_combine,
    moment_combine: moment_combine,
}
"""Functions of reductions whose operands may be combined in any groups, and what combines them."""

_PARTS: dict[Any, Callable[[dict[str, Any]], int]] = {
    **dict.fromkeys((mean_chunk, mean_combine), lambda _: 2),
    **dict.fromkeys((moment_chunk, moment_combine), lambda options: 1 + options.get("order", 2)),
}
"""How many arrays the value of a reduction's task has."""

_SMALL = 1 << 20
"""Bytes that move in less time than the scheduler needs for a task, about 0.2 ms."""


_SLICED: tuple[Any, ...] = (
    operator.getitem,
    dask.array.chunk.getitem,
    getter,
    getter_nofancy,
    getter_inline,
)


class Move(NamedTuple):
    """A value that is moved between devices before a task needs it.

    Parameters
    ----------
    name : str
        The operation that computes it.
    block : tuple of int
        Its index among the blocks; empty if it is not a block.
    source, target : str
        The devices.
    nbytes : int
        Its bytes; 0 if Dask does not know its shape.
    """

    name: str
    block: tuple[int, ...]
    source: str
    target: str
    nbytes: int


class Plan(NamedTuple):
    """A graph, the annotations and devices of its keys, and its moves."""

    graph: dict[Any, Any]
    notes: dict[Any, dict[str, Any]]
    devices: dict[Any, str]
    moves: Sequence[Move]
    rule: str

    def warn(self) -> None:
        """Warn about the moves if the rule asks for it."""
        if self.rule == "warn" and self.moves:
            total = sum(move.nbytes for move in self.moves)
            warnings.warn(
                f"compute: {len(self.moves)} values move between devices, {total} bytes\n"
                f"Hint: portarray.dask.explain(x) lists them; portarray.dask.to_device(x, device) "
                f"puts an array's blocks on one device",
                PortarrayWarning,
                stacklevel=2,
            )


def assign(graph: dict[Any, Any], notes: dict[Any, dict[str, Any]], layers: Layers) -> Plan:
    """Return a graph whose tasks are on devices, with the moves that they need."""
    owners = _Owners(graph, notes, layers, layers.rule())
    owners.visit_all(reversed(graph))  # culling a graph reverses its layers
    return Plan(owners.result, notes, owners.devices, owners.moves, owners.rule)


class _Owners:
    """The devices of keys, and the graph as far as it was visited."""

    def __init__(
        self, graph: dict[Any, Any], notes: dict[Any, dict[str, Any]], layers: Layers, rule: str
    ) -> None:
        self.graph = graph
        self.notes = notes
        self.layers = layers
        self.rule = rule
        self.result: dict[Any, Any] = {}
        self.moves: list[Move] = []
        self.devices: dict[Any, str] = {}
        self.listed: dict[Any, frozenset[str]] = {}
        self._copies: dict[tuple[Any, str], Any] = {}
        self._names: dict[tuple[Any, str], str] = {}
        self._sizes: dict[Any, Size | None] = {}
        self._combines: dict[int, Any] = {}

    def visit_all(self, keys: Iterable[Any]) -> None:
        """Infer the devices of keys, and first of their operands."""
        for key in keys:
            if key in self.result:
                continue
            if self.graph[key].dependencies <= self.result.keys():  # as most graphs are ordered
                self.visit(key)
            else:
                for first in _in_order(self.graph, [key], self.result):
                    self.visit(first)

    def visit(self, key: Any) -> None:
        """Infer the device of a key whose operands were visited."""
        node = self.graph[key]
        for operand in node.dependencies:
            if operand not in self.devices and operand not in self.graph:  # computed already
                self._locate(operand)
        scope: Scope | None = self.notes[key].get(ANNOTATION) if key in self.notes else None
        layer = self.layers.record(key)
        listed, device = layer.listed, layer.device(key)
        if device is None and scope is not None and scope.placed:
            device = scope.device
        if device is not None and not listed:
            # Tasks that Dask optimized before belong to the array that they read.
            listed = self._common_list(node)
            listed = listed if device in listed else frozenset([device])
        if type(node) is DataNode:
            # Values such as Dask's constants go to the device of other operands.
            device = str(node.value.device) if isinstance(node.value, pa.Array) else None
        elif type(node) is not Task and device is None:
            target = getattr(node, "target", None)
            device = self.devices.get(target)
            listed = self.listed.get(target, listed)
        elif device is None and not node.dependencies:
            device = layer.made_on
        elif device is None and faults.accepts_misplaced(node.func):
            device = node.args[1]  # it moves its operand there
            if device is not None and not listed:
                listed = self.layers.listed_with(device)
        elif device is None and not faults.accepts_mixed(node.func):
            node = self._owned(key, node, scope, listed)
            device = self.devices.get(key)
        self.result[key] = node
        if device is not None:
            self.devices[key] = device
            self.listed.setdefault(key, listed)
            is_alias = type(node) is Alias and node.target in self.graph
            if key not in self.notes and (is_alias or type(node) is Task):
                self._note(key, device, scope, self.listed[key])

    def _locate(self, key: Any) -> None:
        device = self.layers.device(key) or _looked_up(key)
        self.listed[key] = self.layers.listed(key)
        if device is not None:
            self.devices[key] = device
            self.listed[key] = self.listed[key] or frozenset([device])

    def _common_list(self, node: Any) -> frozenset[str]:
        """Return the list of devices that all operands of a task have; empty if they differ."""
        lists = {self.listed[k] for k in node.dependencies if k in self.listed}
        return lists.pop() if len(lists) == 1 else frozenset()

    def _owned(self, key: Any, node: Task, scope: Scope | None, listed: frozenset[str]) -> Task:
        """Return a task with its operands on one device, which is noted."""
        read = node.dependencies
        ordered = read if len(read) == 1 else dict.fromkeys(_references(node))
        operands = [k for k in ordered if k in self.devices]
        if len(operands) == 1 and (scope is None or scope.placed):
            owner, together = self.devices[operands[0]], self.listed[operands[0]]
            self.devices[key], self.listed[key] = owner, together
            self._note(key, owner, scope, together)
            return node
        if not operands:
            # Only workers know the devices of the blocks.
            together = listed or self._common_list(node)
            if node.dependencies and len(together) > 1 and self.rule != "error":
                self.listed[key] = together
                self._note(key, "", scope, together)
            return node
        origins = {self.listed[k] for k in operands} - {frozenset()}
        owner = self._owner(key, node, operands, scope)
        together = frozenset([owner]) if len(origins) > 1 else frozenset().union(*origins)
        self.devices[key], self.listed[key] = owner, together
        if any(self.devices[k] != owner for k in operands):
            if len(together) < 2 or self.rule == "error":
                del self.devices[key]  # the task raises an error
                return node
            is_joined = len(node.args) == 1 and not node.kwargs
            is_joined = is_joined and len(operands) == len(node.dependencies)
            depth = _depth(node.args[0]) if is_joined else 0
            combine = self._combine_of(node) if depth else None
            if combine is not None:
                operands = self._combined(node, operands, owner, combine, depth)
                references = [self._moved_operand(k, owner, together) for k in operands]
                node = Task(node.key, node.func, _nested(references, depth))
            else:
                node = node.substitute(
                    {
                        k: self._copy(k, owner, together)
                        for k in operands
                        if self.devices[k] != owner
                    }
                )
        self._note(key, owner, scope, together)
        return node

    def _owner(self, key: Any, node: Task, operands: list[Any], scope: Scope | None) -> str:
        """Return the device where least moves; the first of those where as much does."""
        weights = dict.fromkeys((self.devices[operand] for operand in operands), 0)
        if len(weights) > 1:
            for operand in operands:
                weights[self.devices[operand]] += self._nbytes(operand)
        if scope is not None and not scope.placed:
            within = {d: w for d, w in weights.items() if scope.accepts(d)}
            if not within and scope.device is not None:
                return scope.device
            weights = within or weights
        if len(weights) == 1 or node.func is finalize:  # the whole array goes to its first block
            return next(iter(weights))
        most = max(weights.values())
        best = [device for device, weight in weights.items() if weight == most]
        position = key[1:] if isinstance(key, tuple) else ()
        is_joined = len(node.args) == 1 and _depth(node.args[0])  # no operand comes before others
        if len(best) > 1 and is_joined and all(type(i) is int for i in position):
            return best[sum(position) % len(best)]
        if len(best) > 1 and _has_product(node):
            return next(filter(best.__contains__, self._same_along_the_sum(key, operands)), best[0])
        return best[0]

    def _same_along_the_sum(self, key: Any, operands: list[Any]) -> Iterator[str]:
        """Yield the device of each operand of a product that the next product has there, too.

        The products of these blocks are added, and do not move if they are on one device.
        """
        for step in (1, -1):
            next_node = self.graph.get((*key[:-2], key[-2] + step, key[-1]))
            beside = [] if next_node is None else dict.fromkeys(_references(next_node))
            self.visit_all([k for k in beside if k in self.graph])  # whatever the graph's order
            for operand, neighbour in zip(operands, beside, strict=False):
                device = self.devices[operand]
                if (self.devices.get(neighbour) or self.layers.device(neighbour)) == device:
                    yield device

    def _combine_of(self, node: Task) -> Any:
        """Return the function that combines some operands of a reduction's task, or None."""
        identity = id(node.func)  # all tasks of a layer have the same
        if identity not in self._combines:
            self._combines[identity] = _combine_of(node)
        return self._combines[identity]

    def _combined(
        self, node: Task, operands: list[Any], owner: str, combine: Any, depth: int
    ) -> list[Any]:
        """Return the operands of a reduction, with those on other devices combined there."""
        groups: dict[str, list[Any]] = {}
        for operand in operands:
            groups.setdefault(self.devices[operand], []).append(operand)
        leaves: list[Any] = groups.pop(owner, [])
        if all(len(group) == 1 for group in groups.values()):
            return operands
        for device, group in groups.items():
            if len(group) == 1:
                leaves += group
                continue
            prefix = str(node.key[0] if isinstance(node.key, tuple) else node.key)
            name = f"{prefix.rpartition('-')[0] or prefix}-{tokenize(node.key, device)}"
            part = Task(name, combine, _nested([TaskRef(k) for k in group], depth))
            self.result[name] = part
            self.devices[name], self.listed[name] = device, self.listed[group[0]]
            self._sizes[name] = self._size(group[0])
            self._note(name, device, None, self.listed[name])
            leaves.append(name)
        return leaves

    def _moved_operand(self, key: Any, device: str, listed: frozenset[str]) -> Any:
        """Return an operand of a reduction on a device.

        The reduction moves a small one itself: a task would cost more than the move.
        """
        if self.devices[key] == device:
            return TaskRef(key)
        if (key, device) in self._copies or not 0 < self._nbytes(key) <= _SMALL:
            return TaskRef(self._copy(key, device, listed))
        self._record_move(key, device)
        return Task(None, move_value, TaskRef(key), device)

    def _record_move(self, key: Any, device: str) -> None:
        """Record a move."""
        name, position = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
        block = position if all(type(i) is int for i in position) else ()
        operation = str(name).rpartition("-")[0] or str(name)
        self.moves.append(Move(operation, block, self.devices[key], device, self._nbytes(key)))

    def _copy(self, key: Any, device: str, listed: frozenset[str]) -> Any:
        """Return the key of a value's copy on a device."""
        copy = self._copies.get((key, device))
        if copy is None:
            name, position = (key[0], key[1:]) if isinstance(key, tuple) else (key, ())
            if (name, device) not in self._names:
                self._names[name, device] = f"move-{tokenize(name, device)}"
            copy = (self._names[name, device], *position)
            self.result[copy] = Task(copy, move_value, TaskRef(key), device)
            self._copies[key, device] = copy
            self.devices[copy], self.listed[copy] = device, listed
            self._note(copy, device, None, listed)
            self._record_move(key, device)
        return copy

    def _nbytes(self, key: Any) -> int:
        """Return the bytes of a value; 0 if they are unknown."""
        size = self._size(key)
        return size.nbytes() if size is not None else 0

    def _size(self, key: Any) -> Size | None:
        """Return the size of a value; None if it is unknown."""
        if key not in self._sizes:
            self._sizes[key] = self._inferred_size(key)
        return self._sizes[key]

    def _inferred_size(self, key: Any) -> Size | None:
        """Return the size of a value, from its block, what a reduction keeps or a slice takes."""
        node: Any = self.result.get(key)
        size = self.layers.size(key)
        if type(node) is DataNode and size is None and isinstance(node.value, pa.Array):
            return Size(list(node.value.shape), node.value.dtype.itemsize)
        if type(node) is Alias and size is None:
            return self._size(node.target)
        function, arguments, options = _call(node)
        if size is None and any(function is slicing for slicing in _SLICED):
            operands = list(_references(arguments[0]))
            if len(operands) != 1 or type(arguments[0]) is Task:
                return None
            return _sliced(self._size(operands[0]), arguments[1])
        if size is None:
            return None
        if options.get("keepdims"):
            axis = options.get("axis")
            for reduced in axis if isinstance(axis, (tuple, list)) else ():
                size.shape[reduced] = 1
        parts = _entry(_PARTS, function)
        return size if parts is None else Size(size.shape, size.itemsize * parts(options))

    def _note(self, key: Any, device: str, scope: Scope | None, listed: frozenset[str]) -> None:
        owned = _annotations(device, scope, len(listed) > 1)
        if owned is not None:
            previous = self.notes.get(key)
            self.notes[key] = {**previous, **owned} if previous else owned


@lru_cache(1024)
def _annotations(device: str, outer: Scope | None, several: bool) -> dict[str, Any] | None:
    """Return the annotations of tasks on a device; None if the outer scope does not allow it."""
    if outer is not None and device and not outer.accepts(device):
        return None
    return {ANNOTATION: scopes.on_device(device, outer, device if several else None)}


def _looked_up(key: Any) -> str | None:
    for look_up in LOOKUPS:
        scope = look_up(key)
        if scope is not None:
            return scope.device
    return None


def _in_order(graph: dict[Any, Any], keys: Iterable[Any], visited: dict[Any, Any]) -> Iterator[Any]:
    """Yield the keys that are not visited yet, operands first."""
    stack = list(keys)[::-1]
    while stack:
        key = stack[-1]
        if key in visited:
            stack.pop()
            continue
        operands = graph[key].dependencies
        pending = [k for k in operands if k in graph and k not in visited and k != key]
        if pending:
            stack += pending
            continue
        stack.pop()
        yield key


def _references(node: Any) -> Iterator[Any]:
    """Yield the keys that a node reads, in the order of its arguments."""
    if isinstance(node, TaskRef):
        yield node.key
    elif isinstance(node, Alias):
        yield node.target
    elif getattr(node, "func", None) is _execute_subgraph:
        # Dask sorts the operands of fused tasks by their hashes, which vary between processes.
        inner, output, names, *operands = node.args
        outer = dict(zip(names, operands, strict=True))
        for name in _read_by(inner, output):
            yield from _references(outer.pop(name, None))
        for operand in outer.values():
            yield from _references(operand)
    elif hasattr(node, "args"):
        for argument in (*node.args, *getattr(node, "kwargs", {}).values()):
            yield from _references(argument)


def _read_by(inner: dict[Any, Any], output: Any) -> Iterator[Any]:
    """Yield the operands of fused tasks in the order of their arguments."""
    stack, visited = [output], set()
    while stack:
        key = stack.pop()
        if key in visited:
            continue
        visited.add(key)
        if key in inner:
            stack += reversed([*_references(inner[key])])
        else:
            yield key


def _call(node: Any) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """Return the function, the arguments and the options of a task's last step."""
    while getattr(node, "func", None) is _execute_subgraph:
        node = node.args[0][node.args[1]]
    function: Any = getattr(node, "func", None)
    options = dict(getattr(node, "kwargs", {}))
    if isinstance(function, COMPOSE):
        function = function.funcs[-1]
    while isinstance(function, partial):
        function, options = function.func, {**function.keywords, **options}
    return function, getattr(node, "args", ()), options


def _has_product(node: Any) -> bool:
    """Return whether a task, or one that is fused into it, is a matrix product."""
    if node.func is _execute_subgraph:
        return any(getattr(inner, "func", None) is _matmul for inner in node.args[0].values())
    return bool(node.func is _matmul)


def _entry(table: dict[Any, Any], function: Any) -> Any:
    """Return the entry of a function, which may not be hashable, or None."""
    return next((entry for key, entry in table.items() if key is function), None)


def _sliced(size: Size | None, index: Any) -> Size | None:
    """Return the size of a slice; None for other indices."""
    index = getattr(index, "args", index)
    if size is None or not isinstance(index, tuple) or len(index) != len(size.shape):
        return None
    if not all(isinstance(part, slice) for part in index):
        return None
    lengths = [len(range(*part.indices(n))) for part, n in zip(index, size.shape, strict=True)]
    return Size(lengths, size.itemsize)


# --- reductions -----------------------------------------------------------------------------------


def _combine_of(node: Task) -> Any:
    """Return the function that combines some operands of a reduction's task, or None."""
    if len(node.args) != 1 or not _depth(node.args[0]) or node.kwargs:
        return None
    function: Any = node.func
    concatenate: Any = None
    if isinstance(function, COMPOSE) and len(function.funcs) == 1:
        concatenate, function = function.first, function.funcs[0]
        if not isinstance(concatenate, partial) or concatenate.func is not _concatenate2:
            return None
    if not isinstance(function, partial) or "axis" not in function.keywords:
        return None
    options = {**function.keywords, "keepdims": True}
    combine = _entry(_COMBINES, function.func)
    if combine is None:
        return None
    return (
        compose(partial(combine, **options), concatenate)
        if concatenate
        else partial(combine, **options)
    )


def _depth(node: Any) -> int:
    """Return how many lists are in each other."""
    is_list = type(node) is List or getattr(node, "func", None) is _identity_cast
    return 1 + _depth(node.args[0]) if is_list else 0


def _nested(references: Iterable[Any], depth: int) -> Any:
    """Return references along the last of the axes that a reduction concatenates."""
    nested = List(*references)
    for _ in range(depth - 1):
        nested = List(nested)
    return nested


# --- while tasks run ------------------------------------------------------------------------------


def move_value(value: Any, device: str) -> Any:
    """Return a value with its arrays on a device, in the nearest dtypes that the device supports.

    Runs on a worker.
    """
    if isinstance(value, pa.Array):
        faults.MISPLACED.pop(id(value), None)  # its device was chosen
        dtype = near(value.dtype, device)
        return finished(value.astype(dtype, copy=False).to_device(device))
    if type(value) in (list, tuple):
        return type(value)(move_value(item, device) for item in value)
    if type(value) is dict:
        return {name: move_value(item, device) for name, item in value.items()}
    return value


faults.register(move_value, misplaced=True)


def brought(value: Any, chunks: Iterable[pa.Array], owner: str) -> Any:
    """Return arguments on the device of the task, or of the largest chunk if that is not known."""
    return move_value(value, owner or str(max(chunks, key=lambda chunk: chunk.nbytes).device))
