"""Pictures of a region: its calls and their order as text."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from portarray.tasks.task import NEEDED, STATES, Node

__all__ = ["Edge", "Graph", "GraphNode", "graph_of"]


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A call: its index, ``"task"``, ``"move"`` or ``"allocate"``, its name, device and state."""

    index: int
    kind: str
    name: str
    device: str
    state: str


@dataclass(frozen=True, slots=True)
class Edge:
    """Two calls by their indices, and why the second comes after the first."""

    first: int
    second: int
    why: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The tasks of a region, the copies between devices, and what comes after what.

    Made by :meth:`Region.graph`. Its text is Mermaid's.

    Parameters
    ----------
    nodes : tuple
        Calls, with ``index``, ``kind`` (``"task"``, ``"move"`` or ``"allocate"``), ``name``,
        ``device`` and ``state``.
    edges : tuple
        With ``first`` and ``second``, indices of nodes, and ``why``: ``"read after write"``,
        ``"write after read"``, ``"write after write"`` or ``"result"``.

    See Also
    --------
    Region.graph

    Examples
    --------
    >>> import portarray as pa
    >>> x = pa.ones(3, device="numpy")
    >>> with pa.tasks.Region() as region:
    ...     total = region.spawn(pa.sum, x)
    ...     root = region.spawn(pa.sqrt, total, device="numpy")
    >>> print(region.graph())
    flowchart TD
        n0["sum<br>numpy:cpu:0"]
        n1["sqrt<br>numpy:cpu:0"]
        n0 --> n1
    """

    nodes: tuple[GraphNode, ...]
    edges: tuple[Edge, ...]

    @property
    def moves(self) -> int:
        """The number of copies between devices."""
        return sum(node.kind == "move" for node in self.nodes)

    def mermaid(self) -> str:
        """Return a flowchart for Mermaid; edges that only keep an order are dotted.

        Returns
        -------
        str
            Lines of text.
        """
        lines = ["flowchart TD"]
        for node in self.nodes:
            opening, closing = ("[", "]") if node.kind == "task" else ("([", "])")
            name = node.name.replace('"', "#quot;")
            lines.append(f'    n{node.index}{opening}"{name}<br>{node.device}"{closing}')
        for edge in self.edges:
            arrow = "-->" if edge.why in NEEDED else "-.->"
            lines.append(f"    n{edge.first} {arrow} n{edge.second}")
        return "\n".join(lines)

    def dot(self) -> str:
        """Return a graph in Graphviz's language; edges that only keep an order are dotted.

        Returns
        -------
        str
            Lines of text.
        """
        lines = ["digraph tasks {"]
        for node in self.nodes:
            shape = "box" if node.kind == "task" else "ellipse"
            name = node.name.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'    n{node.index} [shape={shape}, label="{name}\\n{node.device}"];')
        for edge in self.edges:
            style = "solid" if edge.why in NEEDED else "dotted"
            lines.append(
                f'    n{edge.first} -> n{edge.second} [style={style}, tooltip="{edge.why}"];'
            )
        return "\n".join([*lines, "}"])

    def __str__(self) -> str:
        return self.mermaid()


def graph_of(nodes: Sequence[Node]) -> Graph:
    """Return the graph of a region's calls."""
    return Graph(
        tuple(
            GraphNode(node.index, node.kind, node.name, str(node.device), STATES[node.state])
            for node in nodes
        ),
        tuple(
            Edge(first, node.index, why)
            for node in nodes
            for first, why in sorted(node.edges.items())
        ),
    )
