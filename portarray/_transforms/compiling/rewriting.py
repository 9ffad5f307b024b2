"""Graphs with fewer and cheaper calls, whose results differ by rounding: ``optimize="aggressive"``.

Each rule has a bound for its own error, in units of rounding (``eps``) of what it is *relative to*;
numbers that overflow or are subnormal on the way are excepted.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from portarray._array import dispatch
from portarray._transforms.compiling.explanation import Rewriting
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, Value, needed, refs

__all__ = ["rewritten"]

HIGHEST_POWER = 8
"""The largest exponent of a power that becomes products."""

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
    told = [rewriter.told[node.outputs[0]] for node in nodes if node.outputs[0] in rewriter.told]
    return Graph(rewriter.values, graph.inputs, nodes, graph.outputs, graph.calls), told


class _Rewriter:
    def __init__(self, graph: Graph) -> None:
        self.values = list(graph.values)
        self.nodes: list[Node] = []
        self.maker: dict[int, Node] = {}
        self.told: dict[int, Rewriting] = {}  # value to what was rewritten there
        self.uses: dict[int, int] = {}
        for number in refs(graph.outputs):
            self.uses[number] = self.uses.get(number, 0) + 1
        for node in graph.nodes:
            for number in node.inputs():
                self.uses[number] = self.uses.get(number, 0) + 1

    def add(self, node: Node) -> None:
        """Add a node, or what it becomes."""
        rule = None if node.several else RULES.get(node.name)
        while rule is not None and self._is_float(node):
            found = rule(self, node)
            if found is None:
                break
            node, told = found
            if told is not None:
                self.told[node.outputs[0]] = told
            rule = RULES.get(node.name)
        self.nodes.append(node)
        for number in node.outputs:
            self.maker[number] = node

    # --- what rules ask -------------------------------------------------------------------------

    def value(self, x: Any) -> Value:
        """Return the value of a reference, or the first one of a node."""
        return self.values[x.number if isinstance(x, Ref) else x.outputs[0]]

    def made_by(self, x: Any, *names: str, once: bool = False) -> Node | None:
        """Return the node of a reference if it has one of some names; ``once``: for it alone."""
        node = self.maker.get(x.number) if isinstance(x, Ref) else None
        if node is None or node.name not in names or (once and self.uses.get(x.number) != 1):
            return None
        return node if self._is_float(node) else None

    def _is_float(self, node: Node) -> bool:
        """Tell whether a node computes in one real floating-point dtype."""
        dtype = self.value(node).dtype
        return dtype.kind == "f" and all(self.values[n].dtype == dtype for n in node.inputs())

    def units(self, node: Node) -> int:
        """Return the error of a call together with that of another, which it takes in."""
        before = self.told.get(node.outputs[0])
        return 1 + (1 if before is None else before.units)

    def is_normal(self, node: Node, *numbers: float) -> bool:
        """Tell whether numbers are neither subnormal nor infinite in a node's dtype."""
        info = _info(self.value(node).dtype)
        return all(info[0] <= abs(x) <= info[1] for x in numbers)

    def made(self, name: str, args: tuple[Any, ...], like: Node, shape: Sequence[int]) -> Ref:
        """Add a new node of a dtype like another's; return its value."""
        value = self.value(like)
        out = Value(
            len(self.values), tuple(shape), value.dtype, value.native_dtype, value.device, None
        )
        self.values.append(out)
        node = Node(name, self._function(name, like), like.device, args, {}, [out.number])
        out.node = node
        self.add(node)
        return Ref(out.number)

    def instead(self, node: Node, name: str, args: tuple[Any, ...], **options: Any) -> Node:
        """Return a node that computes the same value in another way."""
        function = self._function(name, node)
        return Node(name, function, node.device, args, options, list(node.outputs))

    def with_number(self, node: Node, name: str, x: Ref, number: float) -> Node:
        """Return a node for an array and a number, as its library takes numbers."""
        value = self.value(node)
        operand = dispatch.table_of(node.device, value.dtype).operand(number)
        taken = operand if type(operand) is float else Constant(operand)
        return self.instead(node, name, (x, taken))

    def _function(self, name: str, like: Node) -> Any:
        if name == like.name:
            return like.function
        return dispatch.functions_of(like.device).serve(name, self.value(like).dtype)[0]


Rule = Callable[[_Rewriter, Node], "tuple[Node, Rewriting | None] | None"]


def _info(dtype: Any) -> tuple[float, float]:
    """Return the smallest normal and the largest number."""
    if dtype.itemsize == 2:
        return (2.0**-14, 65504.0) if dtype.name == "float16" else (2.0**-126, 3.38e38)
    return (2.0**-126, 3.4e38) if dtype.itemsize == 4 else (2.0**-1022, 1.79e308)


def _with_number(node: Node) -> tuple[Ref, float, bool] | None:
    """Return the array and the number of an operator, and whether the number is first."""
    if len(node.args) != 2 or node.options:
        return None
    x, y = node.args
    if isinstance(x, Ref):
        number = _number(y, node)
        return None if number is None else (x, number, False)
    number = _number(x, node)
    return (y, number, True) if isinstance(y, Ref) and number is not None else None


def _number(x: Any, node: Node) -> float | None:
    """Return a Python number, or that of a constant array without axes; None for all others."""
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
    """Return an array and the number that it is multiplied by."""
    found = _with_number(node)
    if found is None or found[1] == 0:
        return None
    x, number, first = found
    if node.name == "multiply":
        return x, number
    return None if first else (x, 1 / number)


def _scaled(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Make ``x * 6`` of ``x * 2 * 3``, and ``x * (1 / 3)`` of ``x / 3``."""
    found = _factor(node)
    if found is None:
        return _by_rows(graph, node) if node.name == "divide" else None
    x, number = found
    before = graph.made_by(x, "multiply", "divide")
    inner = None if before is None else _factor(before)
    if (
        before is not None
        and inner is not None
        and graph.is_normal(node, number, inner[1], number * inner[1])
    ):
        number *= inner[1]
        told = Rewriting("factors", f"one factor, {number!r}", graph.units(before), RESULT)
        return graph.with_number(node, "multiply", inner[0], number), told
    if node.name == "multiply" or not graph.is_normal(node, number):
        return None
    told = Rewriting("a divisor", f"a factor, {number!r}", 2, RESULT)
    return graph.with_number(node, "multiply", x, number), told


def _by_rows(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Make a product with ``1 / y`` of ``x / y`` with one ``y`` for many ``x``."""
    x, y = node.args if len(node.args) == 2 and not node.options else (None, None)
    if not (isinstance(x, Ref) and isinstance(y, Ref)):
        return None
    one, shape = graph.value(y), graph.value(node).shape
    if one.dtype != graph.value(x).dtype or one.dtype.kind != "f":
        return None
    if math.prod(one.shape) * 8 > math.prod(shape):
        return None
    inverse = graph.made("reciprocal", (y,), node, one.shape)
    told = Rewriting(f"division by an array of shape {one.shape}", "product with 1 / it", 2, RESULT)
    return graph.instead(node, "multiply", (x, inverse)), told


def _shifted(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Make ``x + -1`` of ``x + 2 - 3``."""
    outer = _term(node)
    before = None if outer is None else graph.made_by(outer[0], "add", "subtract")
    inner = None if before is None else _term(before)
    if outer is None or before is None or inner is None:
        return None
    number = inner[1] + outer[1]
    if number and not graph.is_normal(node, number):
        return None
    told = Rewriting("terms", f"one term, {number!r}", graph.units(before), TERMS)
    return graph.with_number(node, "add", inner[0], number), told


def _term(node: Node) -> tuple[Ref, float] | None:
    found = _with_number(node)
    if found is None:
        return None
    x, number, first = found
    if node.name == "add":
        return x, number
    return None if first else (x, -number)


def _power(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Make ``x * x * x`` of ``x ** 3``."""
    found = _with_number(node)
    if found is None or found[2] or not found[1].is_integer():
        return None
    x, exponent = found[0], int(found[1])
    count = abs(exponent)
    if not 1 <= count <= HIGHEST_POWER or exponent == 1:
        return None
    told = Rewriting(f"** {exponent}", "products", count, RESULT)
    shape = graph.value(node).shape
    parts: list[Ref] = []
    square, rest = x, count
    while rest:
        if rest & 1:
            parts.append(square)
        rest >>= 1
        if rest:
            square = graph.made("multiply", (square, square), node, shape)
    whole = parts[0]
    for part in parts[1:]:
        whole = graph.made("multiply", (whole, part), node, shape)
    if exponent < 0:
        return graph.instead(node, "reciprocal", (whole,)), told
    last = graph.maker[whole.number]
    return graph.instead(node, last.name, last.args), told


def _product(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Compute ``a @ b @ c`` as ``a @ (b @ c)`` where that takes fewer multiplications."""
    if len(node.args) != 2 or node.options:
        return None
    for place in (0, 1):
        inner = graph.made_by(node.args[place], "matmul", "linalg.matmul", once=True)
        if inner is None or inner.options or inner.function is not node.function:
            continue
        a, b, c = (*inner.args, node.args[1]) if place == 0 else (node.args[0], *inner.args)
        shapes = [_shape(graph, x) for x in (a, b, c)]
        dtypes = {graph.value(x).dtype for x in (a, b, c) if isinstance(x, Ref)}
        if any(isinstance(x, Constant) for x in (a, b, c)) or len(dtypes) != 1:
            continue
        first, last = (shapes[0], shapes[2])
        if len(shapes[1]) != 2 or not {len(first), len(last)} <= {1, 2}:
            continue
        k, n = shapes[1]
        rows, columns = math.prod(first[:-1]), math.prod(last[1:])
        left = rows * k * n + rows * n * columns
        right = k * n * columns + rows * k * columns
        if (left <= right) if place == 0 else (right <= left):
            continue
        told = Rewriting(
            f"a product of {left if place == 0 else right} multiplications",
            f"one of {min(left, right)} in another order", k + n, FACTORS,
        )  # fmt: skip
        if place == 0:
            part = graph.made(node.name, (b, c), node, (k, *last[1:]))
            return graph.instead(node, node.name, (a, part)), told
        part = graph.made(node.name, (a, b), node, (*first[:-1], n))
        return graph.instead(node, node.name, (part, c)), told
    return None


def _shape(graph: _Rewriter, x: Any) -> tuple[int, ...]:
    return graph.value(x).shape if isinstance(x, Ref) else ()


def _reduction(graph: _Rewriter, node: Node) -> tuple[Node, Rewriting | None] | None:
    """Make one sum of the sum of a sum; also of means and extremes."""
    inner = graph.made_by(node.args[0], node.name, once=True)
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
    rest = [n for n in range(ndim) if keeps or n not in first]
    axes = {*first, *(rest[n] for n in _axes(node, len(rest)))}
    size = math.prod(graph.value(x).shape[n] for n in axes)
    told = None
    if node.name in ("sum", "mean"):
        told = Rewriting(f"{node.name} of a {node.name}", f"one {node.name}", size, TERMS)
    axis = tuple(sorted(axes))
    made = graph.instead(node, node.name, (x,), axis=axis, keepdims=keeps)
    return made, told


def _axes(node: Node, ndim: int) -> set[int]:
    axis = node.options.get("axis")
    chosen = range(ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    return {n % ndim for n in chosen} if ndim else set()


RULES: Mapping[str, Rule] = {
    "multiply": _scaled, "divide": _scaled, "add": _shifted, "subtract": _shifted, "pow": _power,
    "matmul": _product, "linalg.matmul": _product, "sum": _reduction, "mean": _reduction,
    "max": _reduction, "min": _reduction,
}  # fmt: skip
