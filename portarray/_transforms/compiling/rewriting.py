"""Graphs with fewer and cheaper calls, whose results differ by rounding: ``optimize="aggressive"``.

Each rule bounds its error in units of rounding (``eps``) relative to a stated quantity, excluding
intermediate overflow and subnormal numbers.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from portarray._array import dispatch
from portarray._transforms.compiling.explanation import Rewriting
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, Value, needed, refs

__all__ = ["rewritten"]

HIGHEST_POWER = 8
"""Largest exponent of a power that becomes products."""

RESULT, TERMS, FACTORS = (
    "the result",
    "the sum of the absolute values of the terms",
    "the product of the absolute values of the matrices",
)


def rewritten(graph: Graph) -> tuple[Graph, list[Rewriting]]:
    """Return a graph with the same inputs and outputs, and what was rewritten."""
    rewriter = _Rewriter(graph)
    for node in graph.nodes:
        rewriter.add(node)
    nodes = needed(rewriter.nodes, graph.outputs)
    changes = [
        rewriter.changes[node.outputs[0]] for node in nodes if node.outputs[0] in rewriter.changes
    ]
    return replace(graph, values=rewriter.values, nodes=nodes), changes


class _Rewriter:
    def __init__(self, graph: Graph) -> None:
        self.values = list(graph.values)
        self.nodes: list[Node] = []
        self.maker: dict[int, Node] = {}
        self.changes: dict[int, Rewriting] = {}  # by value
        self.uses: dict[int, int] = {}
        for index in refs(graph.outputs):
            self.uses[index] = self.uses.get(index, 0) + 1
        for node in graph.nodes:
            for index in node.inputs():
                self.uses[index] = self.uses.get(index, 0) + 1

    def add(self, node: Node) -> None:
        """Add a node, or its replacement."""
        rule = None if node.several else RULES.get(node.name)
        while rule is not None and self._is_float(node):
            rewritten_node = rule(self, node)
            if rewritten_node is None:
                break
            node, change = rewritten_node
            if change is not None:
                self.changes[node.outputs[0]] = change
            rule = RULES.get(node.name)
        self.nodes.append(node)
        for index in node.outputs:
            self.maker[index] = node

    def value(self, x: Any) -> Value:
        """Return the value of a reference, or the first output of a node."""
        return self.values[x.index if isinstance(x, Ref) else x.outputs[0]]

    def producer(self, x: Any, *names: str, once: bool = False) -> Node | None:
        """Return the node of a reference if it has one of ``names``; ``once``: and no other use."""
        node = self.maker.get(x.index) if isinstance(x, Ref) else None
        if node is None or node.name not in names or (once and self.uses.get(x.index) != 1):
            return None
        return node if self._is_float(node) else None

    def _is_float(self, node: Node) -> bool:
        """Return whether a node computes in one real floating-point dtype."""
        dtype = self.value(node).dtype
        return dtype.kind == "f" and all(self.values[n].dtype == dtype for n in node.inputs())

    def units(self, node: Node) -> int:
        """Return the error of a call that is merged with the node, in units of rounding."""
        previous = self.changes.get(node.outputs[0])
        return 1 + (1 if previous is None else previous.units)

    def is_normal(self, node: Node, *numbers: float) -> bool:
        """Return whether numbers are neither subnormal nor infinite in a node's dtype."""
        info = _info(self.value(node).dtype)
        return all(info[0] <= abs(x) <= info[1] for x in numbers)

    def add_call(self, name: str, args: tuple[Any, ...], like: Node, shape: Sequence[int]) -> Ref:
        """Add a new node with the dtype of another one; return its value."""
        value = self.value(like)
        out = Value(
            len(self.values), tuple(shape), value.dtype, value.native_dtype, value.device, None
        )
        self.values.append(out)
        node = Node(name, self._function(name, like), like.device, args, {}, [out.index])
        out.node = node
        self.add(node)
        return Ref(out.index)

    def replacement(self, node: Node, name: str, args: tuple[Any, ...], **options: Any) -> Node:
        """Return a node with the same output that calls another function."""
        function = self._function(name, node)
        return Node(name, function, node.device, args, options, list(node.outputs))

    def with_number(self, node: Node, name: str, x: Ref, scalar: float) -> Node:
        """Return a node for an array and a scalar, in the form the library accepts."""
        value = self.value(node)
        operand = dispatch.table_of(node.device, value.dtype).operand(scalar)
        operand_here = operand if type(operand) is float else Constant(operand)
        return self.replacement(node, name, (x, operand_here))

    def _function(self, name: str, like: Node) -> Any:
        if name == like.name:
            return like.function
        return dispatch.functions_of(like.device).resolve(name, self.value(like).dtype)[0]


Rule = Callable[[_Rewriter, Node], "tuple[Node, Rewriting | None] | None"]


def _info(dtype: Any) -> tuple[float, float]:
    """Return the smallest normal and the largest number of a dtype."""
    if dtype.itemsize == 2:
        return (2.0**-14, 65504.0) if dtype.name == "float16" else (2.0**-126, 3.38e38)
    return (2.0**-126, 3.4e38) if dtype.itemsize == 4 else (2.0**-1022, 1.79e308)


def _with_number(node: Node) -> tuple[Ref, float, bool] | None:
    """Return the array and the scalar of an operator, and whether the scalar is first."""
    if len(node.args) != 2 or node.options:
        return None
    x, y = node.args
    if isinstance(x, Ref):
        scalar = _scalar_value(y, node)
        return None if scalar is None else (x, scalar, False)
    scalar = _scalar_value(x, node)
    return (y, scalar, True) if isinstance(y, Ref) and scalar is not None else None


def _scalar_value(x: Any, node: Node) -> float | None:
    """Return the value of a Python scalar or constant 0-d array; None for all others."""
    if type(x) in (int, float):
        return float(x)
    if not isinstance(x, Constant) or tuple(x.native.shape) != ():
        return None
    backend = node.device._backend
    if not backend.owns(x.native) or backend.is_traced(x.native):
        return None
    values = backend.read_host(x.native, node.device.native)
    return float(values[()]) if values.dtype.kind in "iuf" else None


def _factor(node: Node) -> tuple[Ref, float] | None:
    """Return an array and the scalar that it is multiplied by."""
    operands = _with_number(node)
    if operands is None or operands[1] == 0:
        return None
    x, scalar, first = operands
    if node.name == "multiply":
        return x, scalar
    return None if first else (x, 1 / scalar)


def _scaled(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Rewrite ``x * 2 * 3`` as ``x * 6``, and ``x / 3`` as ``x * (1 / 3)``."""
    outer = _factor(node)
    if outer is None:
        return _by_rows(graph, node) if node.name == "divide" else None
    x, scalar = outer
    producer = graph.producer(x, "multiply", "divide")
    inner = None if producer is None else _factor(producer)
    if (
        producer is not None
        and inner is not None
        and graph.is_normal(node, scalar, inner[1], scalar * inner[1])
    ):
        scalar *= inner[1]
        change = Rewriting("factors", f"one factor, {scalar!r}", graph.units(producer), RESULT)
        return graph.with_number(node, "multiply", inner[0], scalar), change
    if node.name == "multiply" or not graph.is_normal(node, scalar):
        return None
    change = Rewriting("a divisor", f"a factor, {scalar!r}", 2, RESULT)
    return graph.with_number(node, "multiply", x, scalar), change


def _by_rows(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Rewrite ``x / y`` as ``x * (1 / y)`` if ``y`` is much smaller than ``x``."""
    x, y = node.args if len(node.args) == 2 and not node.options else (None, None)
    if not (isinstance(x, Ref) and isinstance(y, Ref)):
        return None
    divisor, shape = graph.value(y), graph.value(node).shape
    if divisor.dtype != graph.value(x).dtype or divisor.dtype.kind != "f":
        return None
    if math.prod(divisor.shape) * 8 > math.prod(shape):
        return None
    inverse = graph.add_call("reciprocal", (y,), node, divisor.shape)
    change = Rewriting(
        f"division by an array of shape {divisor.shape}", "product with 1 / it", 2, RESULT
    )
    return graph.replacement(node, "multiply", (x, inverse)), change


def _shifted(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Rewrite ``x + 2 - 3`` as ``x + -1``."""
    outer = _term(node)
    producer = None if outer is None else graph.producer(outer[0], "add", "subtract")
    inner = None if producer is None else _term(producer)
    if outer is None or producer is None or inner is None:
        return None
    scalar = inner[1] + outer[1]
    if scalar and not graph.is_normal(node, scalar):
        return None
    change = Rewriting("terms", f"one term, {scalar!r}", graph.units(producer), TERMS)
    return graph.with_number(node, "add", inner[0], scalar), change


def _term(node: Node) -> tuple[Ref, float] | None:
    operands = _with_number(node)
    if operands is None:
        return None
    x, scalar, first = operands
    if node.name == "add":
        return x, scalar
    return None if first else (x, -scalar)


def _power(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Rewrite ``x ** 3`` as ``x * x * x``."""
    operands = _with_number(node)
    if operands is None or operands[2] or not operands[1].is_integer():
        return None
    x, exponent = operands[0], int(operands[1])
    count = abs(exponent)
    if not 1 <= count <= HIGHEST_POWER or exponent == 1:
        return None
    change = Rewriting(f"** {exponent}", "products", count, RESULT)
    shape = graph.value(node).shape
    parts: list[Ref] = []
    square, bits = x, count
    while bits:
        if bits & 1:
            parts.append(square)
        bits >>= 1
        if bits:
            square = graph.add_call("multiply", (square, square), node, shape)
    whole = parts[0]
    for part in parts[1:]:
        whole = graph.add_call("multiply", (whole, part), node, shape)
    if exponent < 0:
        return graph.replacement(node, "reciprocal", (whole,)), change
    last = graph.maker[whole.index]
    return graph.replacement(node, last.name, last.args), change


def _product(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Rewrite ``a @ b @ c`` as ``a @ (b @ c)`` if that needs fewer multiplications."""
    if len(node.args) != 2 or node.options:
        return None
    for position in (0, 1):
        inner = graph.producer(node.args[position], "matmul", "linalg.matmul", once=True)
        if inner is None or inner.options or inner.function is not node.function:
            continue
        a, b, c = (*inner.args, node.args[1]) if position == 0 else (node.args[0], *inner.args)
        shapes = [_shape(graph, x) for x in (a, b, c)]
        dtypes = {graph.value(x).dtype for x in (a, b, c) if isinstance(x, Ref)}
        if any(isinstance(x, Constant) for x in (a, b, c)) or len(dtypes) != 1:
            continue
        first, last = (shapes[0], shapes[2])
        if len(shapes[1]) != 2 or not {len(first), len(last)} <= {1, 2}:
            continue
        k, n = shapes[1]
        rows, columns = math.prod(first[:-1]), math.prod(last[1:])
        left_first = rows * k * n + rows * n * columns
        right_first = k * n * columns + rows * k * columns
        if (left_first <= right_first) if position == 0 else (right_first <= left_first):
            continue
        change = Rewriting(
            f"a product of {left_first if position == 0 else right_first} multiplications",
            f"one of {min(left_first, right_first)} in another order", k + n, FACTORS,
        )  # fmt: skip
        if position == 0:
            part = graph.add_call(node.name, (b, c), node, (k, *last[1:]))
            return graph.replacement(node, node.name, (a, part)), change
        part = graph.add_call(node.name, (a, b), node, (*first[:-1], n))
        return graph.replacement(node, node.name, (part, c)), change
    return None


def _shape(graph: _Rewriter, x: Any) -> tuple[int, ...]:
    return graph.value(x).shape if isinstance(x, Ref) else ()


def _reduction(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Rewrite the sum of a sum as one sum; also means and extremes."""
    inner = graph.producer(node.args[0], node.name, once=True)
    if inner is None or not {*node.options, *inner.options} <= {"axis", "keepdims"}:
        return None
    keeps = bool(node.options.get("keepdims", False))
    if keeps != bool(inner.options.get("keepdims", False)):
        return None
    x = inner.args[0]
    if not isinstance(x, Ref) or graph.value(x).dtype != graph.value(node).dtype:
        return None
    ndim = len(graph.value(x).shape)
    first = _axes(inner, ndim)
    remaining = [n for n in range(ndim) if keeps or n not in first]
    axes = {*first, *(remaining[n] for n in _axes(node, len(remaining)))}
    size = math.prod(graph.value(x).shape[n] for n in axes)
    change = None
    if node.name in ("sum", "mean"):
        change = Rewriting(f"{node.name} of a {node.name}", f"one {node.name}", size, TERMS)
    axis = tuple(sorted(axes))
    merged = graph.replacement(node, node.name, (x,), axis=axis, keepdims=keeps)
    return merged, change


def _axes(node: Node, ndim: int) -> set[int]:
    axis = node.options.get("axis")
    chosen = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return {n % ndim for n in chosen} if ndim else set()


RULES: Mapping[str, Rule] = {
    "multiply": _scaled, "divide": _scaled, "add": _shifted, "subtract": _shifted, "pow": _power,
    "matmul": _product, "linalg.matmul": _product, "sum": _reduction, "mean": _reduction,
    "max": _reduction, "min": _reduction,
}  # fmt: skip
