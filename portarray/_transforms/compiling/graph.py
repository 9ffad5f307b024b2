"""Graphs of the native calls of a traced function, with nodes, values and constants."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from portarray._array import dispatch
from portarray._devices.device import Device
from portarray._kernel_language.arguments import exact, hashable
from portarray._kernel_language.functions import OPERATORS
from portarray._transforms import tracing
from portarray._transforms.precision import PRODUCTS, mixed_product
from portarray._transforms.tracing import Trace, Tracer
from portarray.errors import TracedArrayError

__all__ = ["Capture", "Constant", "Graph", "Node", "Ref", "Value", "needed", "pattern", "refs"]

Function = Callable[..., Any]


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a value of the graph, among the arguments of a node."""

    index: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """An array from outside the graph, among the arguments of a node."""

    native: Any


@dataclass(slots=True)
class Value:
    """An argument or a computed array."""

    index: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    native_dtype: Any
    device: Device
    node: Node | None  # None of arguments


@dataclass(slots=True, eq=False)
class Node:
    """A call of a function of native arrays."""

    name: str
    function: Function
    device: Device
    args: tuple[Any, ...]
    options: Mapping[str, Any]
    outputs: list[int] = field(default_factory=list)
    several: bool = False  # whether it returns a tuple

    def inputs(self) -> list[int]:
        """Return the indices of its input values."""
        return list(dict.fromkeys([*refs(self.args), *refs(list(self.options.values()))]))


def refs(x: Any) -> list[int]:
    """Return the indices of the values that arguments refer to."""
    if x.__class__ is Ref:
        return [x.index]
    if x.__class__ in (list, tuple):
        return [n for item in x for n in refs(item)]
    return []


@dataclass(slots=True)
class Graph:
    """The nodes that the outputs depend on, in the order of the calls."""

    values: list[Value]
    inputs: list[int]
    nodes: list[Node]
    outputs: list[Any]  # a Ref, or a constant Array
    calls: int  # before merging equal calls and dropping unused ones

    def devices(self) -> list[Device]:
        """Return the devices of its values."""
        return list(dict.fromkeys(value.device for value in self.values))


class Capture(Trace):
    """A trace that records the calls of a function as a graph.

    It also runs the calls, to learn the shapes and dtypes of their results. Results that do not
    depend on the arguments are constants.
    """

    unreadable = (
        "pa.compile traces this array, and its values are known only when the compiled function "
        "is called\nHint: use pa.where to choose between values, pa.cond between calls, "
        "pa.while_loop for loops; or compute this part outside the compiled function"
    )
    shared = (
        "an array that shares memory with this one was modified while pa.compile traces\n"
        "Hint: assign to a copy, pa.asarray(x, copy=True), or make the view after the assignment"
    )

    def __init__(self, precision: str | None = None) -> None:
        super().__init__()
        self._is_mixed = precision == "mixed"
        self.values: list[Value] = []
        self.nodes: list[Node] = []
        self.inputs: list[int] = []
        self.calls = 0
        self._nodes_by_key: dict[Any, Node] = {}
        self._constants: dict[int, Constant] = {}
        self._originals: list[Any] = []
        self.borrowed: list[Tracer] = []  # tracers of outer traces; they are the last inputs

    def argument(self, x: Any) -> Any:
        """Return an argument as a traced array."""
        index = self._value(x._native, x.device, None)
        self.inputs.append(index)
        return tracing.traced(x, self, index + 1)

    def refuse_kernel(self, name: str) -> NoReturn:
        """Raise the error for a user kernel in a compiled function."""
        raise TracedArrayError(
            f"{name}: pa.compile does not trace user kernels\n"
            f"Hint: call it outside the compiled function"
        )

    def records_kernel(self, name: str) -> bool:
        """Return True: core kernels are calls."""
        return True

    def _value(self, native: Any, device: Device, node: Node | None) -> int:
        table = dispatch.tables_of(device)[native.dtype]
        index = len(self.values)
        shape = tuple(native.shape)
        self.values.append(Value(index, shape, table.dtype, native.dtype, device, node))
        return index

    def record_call(
        self,
        name: str,
        function: Function,
        device: Device,
        args: tuple[Any, ...],
        options: Mapping[str, Any],
        values: Sequence[Any],
        result: Any,
    ) -> Any:
        """Return the result as traced arrays."""
        self.calls += 1
        _check_shape(name, args)
        operands = tuple([self._argument(x, device) for x in args])
        named = {key: self._argument(x, device) for key, x in options.items()}
        several = isinstance(result, (tuple, list))
        natives = result if several else (result,)
        if not all(hasattr(x, "dtype") and hasattr(x, "shape") for x in natives):
            raise TracedArrayError(self.unreadable)
        key = _key((name, device, function, operands, tuple(named.items())))
        node = self._nodes_by_key.get(key) if key is not None else None
        if node is None:
            if self._is_mixed and name in PRODUCTS:
                function = mixed_product(function, device)
            node = Node(name, function, device, operands, named, several=several)
            node.outputs = [self._value(x, device, node) for x in natives]
            self.nodes.append(node)
            if key is not None:
                self._nodes_by_key[key] = node
        pairs = zip(natives, node.outputs, strict=True)
        tracers = [Tracer(x, self, index + 1, device) for x, index in pairs]
        return tuple(tracers) if several else tracers[0]

    def _argument(self, x: Any, device: Device) -> Any:
        if x.__class__ is Tracer:
            if x.trace is not self:
                return self._borrow(x)
            return Ref(x.slot - 1) if x.slot else self._constant(x.value, device)
        if x.__class__ in (list, tuple):
            return x.__class__([self._argument(item, device) for item in x])
        if hasattr(x, "dtype") and hasattr(x, "shape") and not isinstance(x, np.generic):
            return self._constant(x, device)
        return x

    def _borrow(self, x: Tracer) -> Ref:
        """Return a tracer of an outer trace as an argument."""
        for index, borrowed in zip(self.inputs[-len(self.borrowed) :], self.borrowed, strict=False):
            if borrowed.trace is x.trace and borrowed.slot == x.slot:
                return Ref(index)
        index = self._value(x, x.home, None)
        self.inputs.append(index)
        self.borrowed.append(x)
        return Ref(index)

    def _constant(self, x: Any, device: Device) -> Constant:
        """Return a snapshot of an array."""
        backend = device._backend
        if backend.immutable or not backend.owns(x):
            return self._constants.setdefault(id(x), Constant(x))
        previous = self._constants.get(id(x))
        if previous is not None and _is_same(previous.native, x, device):
            return previous
        # The original stays alive, so that no other array gets its id.
        asarray = dispatch.functions_of(device).namespace.asarray
        copied = Constant(asarray(x, copy=True))
        if not backend.is_traced(copied.native):
            backend.evaluate(copied.native)  # other threads call the program too
        self._constants[id(x)] = copied
        self._originals.append(x)
        return copied

    def graph(self, outputs: Sequence[Any]) -> Graph:
        """Return the graph for some outputs: tracers of this trace, and constants."""
        ends = [
            self._argument(tracing.current(x), x.home) if x.__class__ is Tracer else x
            for x in outputs
        ]
        return Graph(self.values, self.inputs, needed(self.nodes, ends), ends, self.calls)


def needed(nodes: Sequence[Node], ends: Sequence[Any]) -> list[Node]:
    """Return the nodes that the outputs ``ends`` depend on."""
    used = set(refs(ends))
    used_nodes = []
    for node in reversed(nodes):
        if used.intersection(node.outputs):
            used_nodes.append(node)
            used.update(node.inputs())
    used_nodes.reverse()
    return used_nodes


def _values_of(x: np.ndarray[Any, Any]) -> Any:
    return x.dtype.str, x.shape, x.tobytes()


def pattern(graph: Graph) -> Any:
    """Return a key that is equal for graphs that differ only in the sizes of arrays.

    Axes of length 0 and 1 differ from longer ones.
    """

    def part(x: Any, device: Device) -> Any:
        if x.__class__ is Ref:
            return x
        if x.__class__ is Constant:
            return part(x.native, device)
        if x.__class__ in (list, tuple):
            return (x.__class__, *[part(item, device) for item in x])
        if hasattr(x, "dtype") and hasattr(x, "shape") and device._backend.owns(x):
            return _values_of(device._backend.read_host(x, device.native))
        return _exact(x)

    def operands(node: Node) -> Any:
        """Return the operands; operators take scalars unchanged or as 0-d arrays."""
        dtypes = {graph.values[n].dtype for n in (*node.inputs(), *node.outputs)}
        numbers = (int, float) if node.name in OPERATORS and len(dtypes) == 1 else ()
        return tuple([
            _values_of(np.asarray(x, next(iter(dtypes)))) if type(x) in numbers
            else part(x, node.device) for x in node.args
        ])  # fmt: skip

    def value(index: int) -> Any:
        described = graph.values[index]
        return (
            index,
            described.dtype,
            described.device,
            tuple([min(size, 2) for size in described.shape]),
        )

    nodes = [
        (
            node.name, id(node.function), node.device, operands(node),
            tuple([(key, part(x, node.device)) for key, x in node.options.items()]),
            tuple(map(value, node.outputs)), node.several,
        )
        for node in graph.nodes
    ]  # fmt: skip
    device = graph.devices()[0]
    return tuple(nodes), tuple(map(value, graph.inputs)), part(list(graph.outputs), device)


def _is_same(previous: Any, x: Any, device: Device) -> bool:
    read = device._backend.read_host
    old, new = read(previous, device.native), read(x, device.native)
    return old.dtype == new.dtype and old.shape == new.shape and old.tobytes() == new.tobytes()


_BY_VALUES = frozenset(
    ("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values")
)
"""Functions whose result shapes depend on values."""


def _check_shape(name: str, args: Sequence[Any]) -> None:
    """Raise for results whose shapes depend on values."""
    why = ""
    if name in _BY_VALUES:
        why = name
    elif name == "repeat" and len(args) > 1 and args[1].__class__ is Tracer:
        why = "repeat with an array of counts"
    elif name == "getitem" and any(_is_mask(x) for x in tracing.parts(args[1])):
        why = "indexing with a mask"
    if why:
        raise TracedArrayError(
            f"{why}: the shape of the result depends on values, which pa.compile cannot trace\n"
            f"Hint: use pa.where, or compute this part outside the compiled function"
        )


def _is_mask(x: Any) -> bool:
    return x.__class__ is Tracer and "bool" in str(x.dtype)


def _key(x: Any) -> Any:
    """Return a key that is equal for equal calls, None if they cannot be compared."""
    key = _exact(x)
    return key if hashable(key) else None


def _exact(x: Any) -> Any:
    if x.__class__ in (list, tuple):
        return (x.__class__, *map(_exact, x))
    if x.__class__ is slice:
        return (slice, _exact(x.start), _exact(x.stop), _exact(x.step))
    return exact(x)
