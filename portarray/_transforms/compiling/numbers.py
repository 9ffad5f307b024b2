"""Numbers of a graph in the precision of the arrays beside them.

A number takes the dtype of the array of a call, as ``0.1`` does in ``x - 0.1``. A compiler may keep
it in float64, and use that where it computes wider than the dtype.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from portarray._transforms.compiling.graph import Graph, Node
from portarray._transforms.compiling.zeros import ARITHMETIC

__all__ = ["with_rounded_numbers"]

_NAMES = ARITHMETIC.union(
    ("equal", "greater", "greater_equal", "hypot", "less", "less_equal"),
    ("logaddexp", "not_equal", "pow"),
)


def with_rounded_numbers(graph: Graph) -> Graph:
    """Return a graph whose numbers are rounded, or the same if all of them are."""
    return graph.with_nodes(
        [_rounded(graph, node) if node.name in _NAMES else node for node in graph.nodes]
    )


def _rounded(graph: Graph, node: Node) -> Node:
    inputs = {graph.values[index].dtype for index in node.inputs()}
    dtypes = [dtype for dtype in inputs if dtype.kind not in "biuc"]
    if len(dtypes) != 1:
        return node
    args = tuple([_number(x, dtypes[0]) for x in node.args])
    if all(new is x for new, x in zip(args, node.args, strict=True)):
        return node
    return replace(node, args=args)


def _number(x: Any, dtype: np.dtype[Any]) -> Any:
    if type(x) is not float and type(x) is not int:
        return x
    with np.errstate(over="ignore"):
        rounded = float(np.asarray(x, dtype))
    return x if rounded == x or x != x else rounded
