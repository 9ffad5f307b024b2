"""Graphs: what a function calls, as nodes of native functions between values."""

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
    """Stands in the arguments of a node for a value of the graph."""

    number: int


@dataclass(frozen=True, slots=True, eq=False)
class Constant:
    """Stands there for an array that the function has from elsewhere."""

    native: Any


@dataclass(slots=True)
class Value:
    """An array that is computed, or an argument."""

    number: int
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
        """Return the numbers of the values that it takes."""
        return list(dict.fromkeys([*refs(self.args), *refs(list(self.options.values()))]))


def refs(x: Any) -> list[int]:
    """Return the numbers of the values in arguments."""
    if x.__class__ is Ref:
        return [x.number]
    if x.__class__ in (list, tuple):
        return [n for one in x for n in refs(one)]
    return []


@dataclass(slots=True)
class Graph:
    """Nodes in the order of the calls, without those that nothing depends on."""

    values: list[Value]
    inputs: list[int]
    nodes: list[Node]
    outputs: list[Any]  # a Ref, or a constant Array
    calls: int  # before equal ones were merged and unused ones left out

    def devices(self) -> list[Device]:
        """Return the devices of its values."""
        return list(dict.fromkeys(value.device for value in self.values))


class Capture(Trace):
    """Records the calls of a function on traced arrays as a graph.

    The calls are made as well: shapes and dtypes are those of their results, and what does not
    depend on arguments is a constant.
    """

    unreadable = (
        "pa.compile traces this array, and its values are known only when the compiled function "
        "is called: to choose between values use pa.where, between calls pa.cond; for loops that "
        "depend on values pa.while_loop; or compute this part outside of the compiled function"
    )
    shared = (
        "this array shares memory with another, into which something was assigned while pa.compile "
        "traces: a view of it, or what it is a view of. That change is not seen here. Assign to a "
        "copy, pa.asarray(x, copy=True), or make the view after the assignment"
    )

    def __init__(self, precision: str | None = None) -> None:
        super().__init__()
        self._is_mixed = precision == "mixed"
        self.values: list[Value] = []
        self.nodes: list[Node] = []
        self.inputs: list[int] = []
        self.calls = 0
        self._known: dict[Any, Node] = {}
        self._constants: dict[int, Constant] = {}
        self._kept: list[Any] = []
        self.borrowed: list[Tracer] = []  # of traces around, the last of the inputs

    def argument(self, x: Any) -> Any:
        """Return an argument as a traced array."""
        number = self._value(x._native, x.device, None)
        self.inputs.append(number)
        return tracing.traced(x, self, number + 1)

    def refuse_kernel(self, name: str) -> NoReturn:
        """Raise that kernels are not among the calls of a program."""
        raise TracedArrayError(
            f"{name} is a user kernel, which pa.compile does not trace: call it outside of the "
            "compiled function, with what that takes or returns"
        )

    def takes_whole(self, name: str) -> bool:
        """Tell that core kernels are calls."""
        return True

    def _value(self, native: Any, device: Device, node: Node | None) -> int:
        table = dispatch.tables_of(device)[native.dtype]
        number = len(self.values)
        shape = tuple(native.shape)
        self.values.append(Value(number, shape, table.dtype, native.dtype, device, node))
        return number

    def record(
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
        given = tuple([self._argument(x, device) for x in args])
        named = {key: self._argument(x, device) for key, x in options.items()}
        several = isinstance(result, (tuple, list))
        natives = result if several else (result,)
        if not all(hasattr(x, "dtype") and hasattr(x, "shape") for x in natives):
            raise TracedArrayError(self.unreadable)
        key = _key((name, device, function, given, tuple(named.items())))
        node = self._known.get(key) if key is not None else None
        if node is None:
            if self._is_mixed and name in PRODUCTS:
                function = mixed_product(function, device)
            node = Node(name, function, device, given, named, several=several)
            node.outputs = [self._value(x, device, node) for x in natives]
            self.nodes.append(node)
            if key is not None:
                self._known[key] = node
        pairs = zip(natives, node.outputs, strict=True)
        tracers = [Tracer(x, self, number + 1, device) for x, number in pairs]
        return tuple(tracers) if several else tracers[0]

    def _argument(self, x: Any, device: Device) -> Any:
        if x.__class__ is Tracer:
            if x.trace is not self:
                return self._borrow(x)
            return Ref(x.place - 1) if x.place else self._constant(x.value, device)
        if x.__class__ in (list, tuple):
            return x.__class__([self._argument(one, device) for one in x])
        if hasattr(x, "dtype") and hasattr(x, "shape") and not isinstance(x, np.generic):
            return self._constant(x, device)
        return x

    def _borrow(self, x: Tracer) -> Ref:
        """Return an array that a trace around this one follows, as an argument."""
        for number, known in zip(self.inputs[-len(self.borrowed) :], self.borrowed, strict=False):
            if known.trace is x.trace and known.place == x.place:
                return Ref(number)
        number = self._value(x, x.home, None)
        self.inputs.append(number)
        self.borrowed.append(x)
        return Ref(number)

    def _constant(self, x: Any, device: Device) -> Constant:
        """Return an array as it is now; later changes of it are not seen."""
        backend = device._backend
        if backend.immutable or not backend.owns(x):
            return self._constants.setdefault(id(x), Constant(x))
        known = self._constants.get(id(x))
        if known is not None and _is_same(known.native, x, device):
            return known
        # The original stays alive beside the copy, so that no other array has its identity.
        asarray = dispatch.functions_of(device).namespace.asarray
        made = Constant(asarray(x, copy=True))
        if not backend.is_traced(made.native):
            backend.evaluate(made.native)  # other threads call the program, too
        self._constants[id(x)] = made
        self._kept.append(x)
        return made

    def graph(self, outputs: Sequence[Any]) -> Graph:
        """Return the graph for outputs: traced native arrays of this trace, and constants."""
        ends = [
            self._argument(tracing.current(x), x.home) if x.__class__ is Tracer else x
            for x in outputs
        ]
        return Graph(self.values, self.inputs, needed(self.nodes, ends), ends, self.calls)


def needed(nodes: Sequence[Node], ends: Sequence[Any]) -> list[Node]:
    """Return the nodes that something at the end depends on."""
    used = set(refs(ends))
    found = []
    for node in reversed(nodes):
        if used.intersection(node.outputs):
            found.append(node)
            used.update(node.inputs())
    found.reverse()
    return found


def _values_of(x: np.ndarray[Any, Any]) -> Any:
    return x.dtype.str, x.shape, x.tobytes()


def pattern(graph: Graph) -> Any:
    """Return what graphs have in common that differ in the sizes of arrays alone.

    Axes of length 0 and 1 are not the same as longer ones.
    """

    def part(x: Any, device: Device) -> Any:
        if x.__class__ is Ref:
            return x
        if x.__class__ is Constant:
            return part(x.native, device)
        if x.__class__ in (list, tuple):
            return (x.__class__, *[part(one, device) for one in x])
        if hasattr(x, "dtype") and hasattr(x, "shape") and device._backend.owns(x):
            return _values_of(device._backend.read_host(x, device.native))
        return _exact(x)

    def operands(node: Node) -> Any:
        """Return the operands; operators take numbers as they are, or as arrays without axes."""
        dtypes = {graph.values[n].dtype for n in (*node.inputs(), *node.outputs)}
        numbers = (int, float) if node.name in OPERATORS and len(dtypes) == 1 else ()
        return tuple([
            _values_of(np.asarray(x, next(iter(dtypes)))) if type(x) in numbers
            else part(x, node.device) for x in node.args
        ])  # fmt: skip

    def value(number: int) -> Any:
        one = graph.values[number]
        return number, one.dtype, one.device, tuple([min(size, 2) for size in one.shape])

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


def _is_same(known: Any, x: Any, device: Device) -> bool:
    read = device._backend.read_host
    old, new = read(known, device.native), read(x, device.native)
    return old.dtype == new.dtype and old.shape == new.shape and old.tobytes() == new.tobytes()


_BY_VALUES = frozenset(
    ("nonzero", "unique_all", "unique_counts", "unique_inverse", "unique_values")
)
"""Functions whose results have shapes that depend on values."""


def _check_shape(name: str, args: Sequence[Any]) -> None:
    """Refuse results whose shapes depend on values."""
    why = ""
    if name in _BY_VALUES:
        why = name
    elif name == "repeat" and len(args) > 1 and args[1].__class__ is Tracer:
        why = "repeat with an array of counts"
    elif name == "getitem" and any(_is_mask(x) for x in tracing.parts(args[1])):
        why = "indexing with a mask"
    if why:
        raise TracedArrayError(
            f"{why} has a result whose shape depends on values, and pa.compile needs shapes that "
            f"do not: use pa.where, or compute this part outside of the compiled function"
        )


def _is_mask(x: Any) -> bool:
    return x.__class__ is Tracer and "bool" in str(x.dtype)


def _key(x: Any) -> Any:
    """Return what equal calls have in common, None where that cannot be told."""
    key = _exact(x)
    return key if hashable(key) else None


def _exact(x: Any) -> Any:
    if x.__class__ in (list, tuple):
        return (x.__class__, *map(_exact, x))
    if x.__class__ is slice:
        return (slice, _exact(x.start), _exact(x.stop), _exact(x.step))
    return exact(x)
