"""Zeros of a graph as inputs, for compilers that simplify sums with a zero that they know.

In IEEE 754 arithmetic ``x + 0.0`` is not ``x``, and ``x - -0.0`` is not either: if ``x`` is -0.0,
both are 0.0. XLA takes both for ``x``, and MLX compiles the constant -0.0 as 0.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from portarray._array import dispatch
from portarray._transforms.compiling.graph import Constant, Graph, Node, Ref, Value

__all__ = ["ARITHMETIC", "zeros_as_inputs"]

ARITHMETIC = frozenset(
    (
        *("add", "atan2", "clip", "copysign", "divide", "floor_divide", "maximum", "minimum"),
        *("multiply", "nextafter", "remainder", "subtract", "where"),
    )
)
"""Functions of arrays and numbers whose values compilers simplify."""


def zeros_as_inputs(graph: Graph) -> tuple[Graph, list[Any]]:
    """Return a graph with more inputs, and their values: the floating-point zeros of the graph."""
    hider = _Hider(graph)
    nodes = [hider.hidden(node) for node in graph.nodes]
    inputs = [*graph.inputs, *hider.inputs]
    return replace(graph, values=hider.values, inputs=inputs, nodes=nodes), hider.zeros


class _Hider:
    def __init__(self, graph: Graph) -> None:
        self.values = list(graph.values)
        self.inputs: list[int] = []
        self.zeros: list[Any] = []
        self._refs: dict[Any, Ref] = {}

    def hidden(self, node: Node) -> Node:
        """Return a node that reads its zeros from inputs."""
        value = self.values[node.outputs[0]]
        if value.dtype.kind in "fc" and not node.several and self._is_zeros(node):
            function = dispatch.functions_of(node.device).resolve("broadcast_to", value.dtype)[0]
            args = self._scalar(0.0, value), value.shape
            return Node("broadcast_to", function, node.device, args, {}, node.outputs)
        if node.name not in ARITHMETIC:
            return node
        kinds = {index: self.values[index].dtype.kind for index in node.inputs()}
        like = next((self.values[n] for n, kind in kinds.items() if kind in "fc"), None)
        args = tuple([x if like is None else self._operand(x, like) for x in node.args])
        if all(x is y for x, y in zip(args, node.args, strict=True)):
            return node
        return replace(node, args=args)

    def _is_zeros(self, node: Node) -> bool:
        """Return whether a node computes zeros, whatever the values of its operands."""
        if node.name == "full_like":
            return len(node.args) == 2 and isinstance(node.args[1], float) and not node.args[1]
        x = node.args[0] if node.args else None
        is_empty = isinstance(x, Ref) and not math.prod(self.values[x.index].shape)
        return node.name == "zeros_like" or (node.name == "sum" and is_empty)

    def _operand(self, x: Any, like: Value) -> Any:
        if type(x) in (int, float) and x == 0:
            return self._scalar(float(x), like)
        if not isinstance(x, Constant) or x.native.dtype != like.native_dtype:
            return x
        backend = like.device._backend
        if not backend.owns(x.native) or backend.is_traced(x.native):
            return x
        if backend.read_host(x.native, like.device.native).any():
            return x
        return self._input(id(x), x.native, like)

    def _scalar(self, x: float, like: Value) -> Ref:
        key = math.copysign(1, x), like.native_dtype, like.device
        asarray = dispatch.functions_of(like.device).namespace.asarray
        native = asarray(x, dtype=like.native_dtype, device=like.device.native)
        return self._input(key, native, like)

    def _input(self, key: Any, native: Any, like: Value) -> Ref:
        if key not in self._refs:
            index = len(self.values)
            shape = tuple(native.shape)
            self.values.append(
                Value(index, shape, like.dtype, like.native_dtype, like.device, None)
            )
            self.inputs.append(index)
            self.zeros.append(native)
            self._refs[key] = Ref(index)
        return self._refs[key]
