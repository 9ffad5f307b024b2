"""Graphs of the native calls of a traced function, with nodes, values and constants."""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._array.kernel import is_watched
from portarray._devices.device import Device
from portarray._hashing import hashable
from portarray._kernel_language.functions import OPERATORS
from portarray._transforms import tracing
from portarray._transforms.compiling.signatures import frozen
from portarray._transforms.precision import PRODUCTS, mixed_product
from portarray._transforms.shared_memory import VIEWS, parts
from portarray._transforms.tracer import Tracer, current
from portarray._transforms.tracing import Trace
from portarray._transforms.user_kernels import KernelCall, Launch
from portarray.errors import TracedArrayError

__all__ = [
    "Capture",
    "Constant",
    "Graph",
    "Node",
    "Ref",
    "Value",
    "needed",
    "pattern",
    "refs",
    "segments",
]

Function = Callable[..., Any]

NO_CHANGES: Mapping[int, Tracer] = {}


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

    @property
    def launch(self) -> Launch | None:
        """Its function if that launches a user kernel, which no library's compiler sees."""
        return self.function if isinstance(self.function, Launch) else None

    @property
    def is_launch(self) -> bool:
        """Whether it launches a user kernel."""
        return self.launch is not None

    def copied(self) -> tuple[Any, ...]:
        """Return the operands that a launch copies before it writes them."""
        return () if self.launch is None else self.args[: self.launch.copies]

    def inputs(self) -> list[int]:
        """Return the indices of its input values."""
        return list(dict.fromkeys([*refs(self.args), *refs(list(self.options.values()))]))

    def constants(self) -> list[Constant]:
        """Return the constants among its arguments."""

        def constants(x: Any) -> list[Constant]:
            if x.__class__ in (list, tuple):
                return [constant for item in x for constant in constants(item)]
            return [x] if x.__class__ is Constant else []

        return constants([*self.args, *self.options.values()])


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
    changed: dict[int, int] = field(default_factory=dict)
    """For arguments that are changed in place: the value that each has at the end."""

    def with_nodes(self, nodes: Sequence[Node]) -> Graph:
        """Return the graph with nodes in place of its own, itself if they are the same."""
        if all(new is node for new, node in zip(nodes, self.nodes, strict=True)):
            return self
        return replace(self, nodes=[*nodes])

    def nbytes(self, index: int) -> int:
        """Return the bytes of a value."""
        value = self.values[index]
        return math.prod(value.shape) * value.dtype.itemsize

    def devices(self) -> list[Device]:
        """Return the devices of its inputs and calls."""
        indices = [*self.inputs, *(index for node in self.nodes for index in node.outputs)]
        return list(dict.fromkeys(self.values[index].device for index in indices))


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
    follows_values = False

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
        self.state: list[int] = []  # inputs that are not arguments
        self.read_state: set[int] = set()  # those whose values were read
        self._state_of: dict[int, frozenset[int] | None] = {}
        self._thread = threading.get_ident()
        self.uncopied: set[int] = set()  # ids of constants that keep their memory

    def argument(self, x: Any, *, is_state: bool = False) -> Any:
        """Return an argument, or an array that the function reads elsewhere, as a traced array."""
        index = self._value(x._native, x.device, None)
        self.inputs.append(index)
        if is_state:
            self.state.append(index)
            self._state_of[index] = frozenset((index,))
        return tracing.traced(x, self, index + 1)

    def read(self, x: Tracer) -> Any:
        """Return a value that no argument affects; each call compares the arrays behind it."""
        if threading.get_ident() != self._thread:
            return self._plain(x)
        value = self.constant_value(x)
        if value is None:
            raise TracedArrayError(self.ended or self.unreadable)
        return value

    exported = read

    def detached(self, x: Tracer) -> Any:
        """Return a tracer: a compiled program has no gradients."""
        return x

    def constant_value(self, x: Tracer) -> Any:
        """Return the value of a tracer if no argument affects it, else None."""
        tracer = current(x)
        state: frozenset[int] | None = frozenset()
        if tracer.slot:
            state = self._state_of.get(tracer.slot - 1)
        if state is None or self.ended:
            return None
        self.read_state |= state
        return tracer.value

    def _plain(self, x: Tracer) -> Any:
        """Return the value of an array of the function's scope for another thread."""
        if not self._is_of_scope((x,), {}):
            raise TracedArrayError(self.ended or self.unreadable)
        return x.value

    def call_kernel(self, kernel: Any, args: Sequence[Any], ndrange: Any, group: Any) -> Any:
        """Call a user kernel and record its launch."""
        natives = [x._native if type(x) is Array else None for x in args]
        if self.is_of_another_thread(natives, {}):  # also when the trace has ended
            mine = {id(x): tracing.untraced(x.value, x.home) for x in self._tracers(natives, {})}
            plain = [mine.get(id(native), x) for native, x in zip(natives, args, strict=True)]
            return kernel(*plain, ndrange=ndrange, group=group)
        return KernelCall(self, kernel, args, ndrange, group).record()

    def records_launch(self, arrays: Sequence[Array]) -> bool:
        """Return whether only this trace follows the arrays, and kernels write into memory."""
        for x in arrays:
            native = x._native
            if native.__class__ is Tracer:
                native = current(native).value if native.trace is self else native
            device = x._dispatch.device._home
            if native.__class__ is Tracer or device._backend.immutable:
                return False
            if is_watched(native, device):
                return False
        return True

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
        if self.is_of_another_thread(args, options):
            return result
        self.calls += 1
        reason, deciding = _deciding_shape(name, args)
        if reason:
            self._require_known(deciding, _SHAPE.format(reason))
            by_identity = {id(x): x.value for x in deciding}
            args = tuple([_replaced(x, by_identity) for x in args])
            if not self._tracers(args, options):
                return result
        operands = tuple([self._argument(x, device) for x in args])
        named = {key: self._argument(x, device) for key, x in options.items()}
        several = isinstance(result, (tuple, list))
        natives = result if several else (result,)
        if not all(hasattr(x, "dtype") and hasattr(x, "shape") for x in natives):
            self._require_known(self._tracers(args, options), self.unreadable)
            return result
        key = _key((name, device, function, operands, tuple(named.items())))
        node = self._nodes_by_key.get(key) if key is not None else None
        if node is None:
            if self._is_mixed and name in PRODUCTS:
                function = mixed_product(function, device)
            node = Node(name, function, device, operands, named, several=several)
            node.outputs = [self._value(x, device, node) for x in natives]
            self.nodes.append(node)
            sources = [self._state_of.get(index) for index in node.inputs()]
            if None not in sources:
                state = frozenset().union(*sources)  # type: ignore[arg-type]
                self._state_of.update(dict.fromkeys(node.outputs, state))
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

    def _tracers(self, args: Any, options: Mapping[str, Any]) -> list[Tracer]:
        """Return the tracers of this trace among operands."""
        return [x for x in _leaves([*args, *options.values()]) if x.trace is self]

    def is_of_another_thread(self, args: Sequence[Any], options: Mapping[str, Any]) -> bool:
        """Return whether another thread traces arrays of a scope that this one uses, too."""
        return threading.get_ident() != self._thread and self._is_of_scope(args, options)

    def _is_of_scope(self, args: Any, options: Mapping[str, Any]) -> bool:
        """Return whether operands are arrays of the function's scope, or constants."""
        return all(not x.slot or x.slot - 1 in self.state for x in self._tracers(args, options))

    def _require_known(self, tracers: Sequence[Tracer], message: str) -> None:
        """Raise if an argument affects one of the values."""
        for x in tracers:
            if x.trace is not self or self.constant_value(x) is None:
                raise TracedArrayError(message)

    def _borrow(self, x: Tracer) -> Ref:
        """Return a tracer of an outer trace as an argument."""
        for index, borrowed in zip(self.inputs[-len(self.borrowed) :], self.borrowed, strict=False):
            if borrowed is x or (borrowed.value is x.value and borrowed.slot is x.slot):
                return Ref(index)
        index = self._value(x, x.home, None)
        self.inputs.append(index)
        self.borrowed.append(x)
        return Ref(index)

    def _constant(self, x: Any, device: Device) -> Constant:
        """Return a snapshot of an array."""
        backend = device._backend
        if backend.immutable or not backend.owns(x) or id(x) in self.uncopied:
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

    def snapshot(self, x: Any, device: Device) -> Any:
        """Return the values of an array that no argument affects, now."""
        return self._constant(x, device).native

    def graph(self, outputs: Sequence[Any], changed: Mapping[int, Tracer] = NO_CHANGES) -> Graph:
        """Return the graph for some outputs, tracers of this trace.

        ``changed`` has what arguments hold at the end, by their positions: the last outputs. The
        inputs are the arguments, the state that the outputs depend on, and borrowed tracers.
        """
        ends = [self._argument(current(x), x.home) for x in (*outputs, *changed.values())]
        nodes = needed(self.nodes, ends)
        used = {*refs(ends), *(index for node in nodes for index in node.inputs())}
        inputs = [index for index in self.inputs if index in used or index not in self.state]
        arguments = [index for index in self.inputs if index not in self.state]
        last = zip(changed, ends[len(outputs) :], strict=True)
        written = {arguments[n]: x.index for n, x in last if x.__class__ is Ref}
        return Graph(self.values, inputs, nodes, ends, self.calls, written)

    def shared_outputs(self, outputs: Sequence[Tracer], ends: Sequence[Any]) -> list[bool]:
        """Return which outputs share memory that they do not share in the traced function.

        Results of equal calls are one array of the graph, and constants are those of all calls.
        """
        owners: dict[int, Any] = {}
        shared = []
        for x, end in zip(outputs, ends, strict=True):
            root = end
            while root.__class__ is Ref:
                node = self.values[root.index].node
                if node is None or node.name not in VIEWS or _copies(node):
                    break
                several = node.name == "broadcast_arrays"
                root = node.args[node.outputs.index(root.index) if several else 0]
            if root.__class__ is Ref:
                owner = x if x.sharing is None else x.sharing
                shared.append(owners.setdefault(root.index, owner) is not owner)
            else:
                shared.append(True)
        return shared


def _copies(node: Node) -> bool:
    """Return whether an index has arrays, so that the result is not a view."""
    return node.name == "getitem" and any(
        part.__class__ in (Ref, Constant, list) for part in parts(node.args[1])
    )


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


def segments(graph: Graph) -> list[tuple[list[Node], list[int]]]:
    """Return the nodes of a graph in alternating groups, and the values of each that others use.

    A group has launches of user kernels alone, or none. Groups are as few as possible.
    """
    levels: dict[int, int] = {}  # of values
    groups: dict[int, list[Node]] = {}
    for node in graph.nodes:
        level = max([levels.get(index, 0) for index in node.inputs()], default=0)
        level += level % 2 != node.is_launch  # launches have odd ones
        levels.update(dict.fromkeys(node.outputs, level))
        groups.setdefault(level, []).append(node)
    used = set(refs(graph.outputs))
    for node in graph.nodes:
        used.update([n for n in node.inputs() if levels.get(n) != levels[node.outputs[0]]])
    return [
        (nodes, [n for node in nodes for n in node.outputs if n in used])
        for _, nodes in sorted(groups.items())
    ]


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
            return frozen(device._backend.read_host(x, device.native))
        return frozen(x)

    def operands(node: Node) -> Any:
        """Return the operands; operators take scalars unchanged or as 0-d arrays."""
        dtypes = {graph.values[n].dtype for n in (*node.inputs(), *node.outputs)}
        numbers = (int, float) if node.name in OPERATORS and len(dtypes) == 1 else ()
        return tuple([
            frozen(np.asarray(x, next(iter(dtypes)))) if type(x) in numbers
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
    return bool(frozen(read(previous, device.native)) == frozen(read(x, device.native)))


_SHAPE = (
    "{}: the shape of the result depends on values, which pa.compile cannot trace\n"
    "Hint: use pa.where, or compute this part outside the compiled function"
)


def _deciding_shape(name: str, args: Sequence[Any]) -> tuple[str, list[Tracer]]:
    """Return what makes the shape of a result depend on values, and the tracers of the values."""
    if name in tracing.BY_VALUES:
        return name, [x for x in args if x.__class__ is Tracer]
    if name == "repeat" and len(args) > 1 and args[1].__class__ is Tracer:
        return "repeat with an array of counts", [args[1]]
    if name == "getitem":
        masks = [x for x in parts(args[1]) if _is_mask(x)]
        return ("indexing with a mask" if masks else ""), masks
    return "", []


def _leaves(x: Any) -> list[Tracer]:
    if x.__class__ is Tracer:
        return [x]
    return [y for item in x for y in _leaves(item)] if x.__class__ in (list, tuple) else []


def _replaced(x: Any, values: Mapping[int, Any]) -> Any:
    """Return operands with values instead of some tracers."""
    if x.__class__ in (list, tuple):
        return x.__class__([_replaced(item, values) for item in x])
    return values.get(id(x), x)


def _is_mask(x: Any) -> bool:
    return x.__class__ is Tracer and "bool" in str(x.dtype)


def _key(x: Any) -> Any:
    """Return a key that is equal for equal calls, None if they cannot be compared."""
    key = frozen(x)
    return key if hashable(key) else None
