"""Trees of arrays: flattened, their arrays mapped, and unflattened around the results.

``node_types.py`` decides what is a node and what a leaf; callers decide which leaves are arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import nullcontext
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from portarray._devices.memory import clear_frames
from portarray._trees.node_types import LIST, NodeType, node_type

if TYPE_CHECKING:
    from portarray._movement.progress import TreeBar


def tree_map(
    tree: Any,
    function: Callable[[Any], Any],
    *,
    is_array: Callable[[Any], bool],
    watch: TreeBar | None = None,
) -> Any:
    """Return a tree like the given one with a function's results in its arrays' places.

    What is in the tree several times (arrays, containers and objects) is mapped once, and its
    result is there as often. The given tree stays as it is. Trees may be of any depth.

    Parameters
    ----------
    tree : Any
        A container, an object or an array; any of them in each other.
    function : callable
        Called once with each array.
    is_array : callable
        Returns whether a leaf is an array. All others stay as they are.
    watch : TreeBar, optional
        Shows how many are done.

    Raises
    ------
    ValueError
        If the tree contains itself; the message has the path.
    Exception
        Whatever ``function`` raises, with a note that has the array's path. The results so far
        are released then, also by the frames of the traceback.
    """
    with _Flat(tree, is_array) as flat:
        flat.flatten()
        flat.map(function, watch)
        return flat.unflatten()


def is_tree(value: Any) -> bool:
    """Return whether a value is a node."""
    return node_type(value) is not None


class _Node:
    """A container or object that was flattened.

    Attributes
    ----------
    value : Any
        It; its result once it is unflattened.
    type : NodeType
        Its class's.
    children : list
        What it holds; their results, as far as they are made.
    aux : Any
        The node type's auxiliary data.
    parent, index : _Node, int
        The first node that holds it, and as which child. The root's parent is None.
    visited : int
        How many of the children were visited.
    whole : bool
        Whether all children were visited, and theirs.
    repeated : list of tuple
        Repeated children by index: their nodes or positions.
    """

    __slots__ = (
        *("aux", "children", "index", "parent", "repeated", "type", "value", "visited"),
        "whole",
    )

    def __init__(self, value: Any, kind: NodeType, parent: _Node | None, index: int) -> None:
        self.value = value
        self.type = kind
        self.parent = parent
        self.index = index
        self.children, self.aux = kind.flatten(value)
        self.visited = 0
        self.whole = False
        self.repeated: list[tuple[int, _Node | _Place]] = []


_Place = tuple[_Node, int]
"""A node, and which of its children."""


class _Flat:
    """A flattened tree, each object in one place.

    Left on an error it is emptied, for the error's frames hold it; the error gets a note of where.

    Attributes
    ----------
    arrays : list
        Places of the arrays, in the tree's order.
    nodes : list of _Node
        The containers and objects, each after those that it holds; last the root, a list of the
        tree alone.
    """

    __slots__ = ("_at", "_is_array", "_open", "_root", "arrays", "nodes")

    def __init__(self, tree: Any, is_array: Callable[[Any], bool]) -> None:
        self.arrays: list[_Place] = []
        self.nodes: list[_Node] = []
        self._root = _Node([tree], LIST, None, 0)
        self._open = [self._root]  # the nodes from the root to the one that is being visited
        self._at: _Place = self._root, 0  # the place that is being mapped or unflattened
        self._is_array = is_array

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if error is None:
            return
        try:
            path = self._where() if isinstance(error, Exception) else ""
            if path:
                error.add_note(f"at {path}")
        finally:  # the repr of a key may fail
            self._clear()
            clear_frames(error)

    def flatten(self) -> None:
        """Find the tree's nodes and arrays, depth first and without recursion."""
        is_array, opened = self._is_array, self._open
        types: dict[type, NodeType | None] = {}  # of the classes in the tree
        # By identity. Nodes keep their children, so that no other object gets the identity of one
        # that a container made for the occasion.
        arrays: dict[int, _Place] = {}
        nodes: dict[int, _Node] = {}
        while opened:
            node = opened[-1]
            children = node.children
            for index in range(node.visited, len(children)):
                node.visited = index
                child = children[index]
                cls = type(child)
                if cls in types:
                    kind = types[cls]
                else:
                    kind = types[cls] = node_type(child)
                if kind is None:
                    if is_array(child):
                        position = node, index
                        first = arrays.setdefault(id(child), position)
                        if first is position:
                            self.arrays.append(position)
                        else:
                            node.repeated.append((index, first))
                    continue
                inner = nodes.get(id(child))
                if inner is None:
                    nodes[id(child)] = inner = _Node(child, kind, node, index)
                    opened.append(inner)
                    node.visited = index + 1
                    break
                if not inner.whole:
                    raise self._cycle(node, index, inner)
                node.repeated.append((index, inner))
            else:
                node.whole = True
                self.nodes.append(opened.pop())

    def _cycle(self, node: _Node, index: int, first: _Node) -> ValueError:
        """Return the error to raise where a child is one of its own ancestors."""
        self._open.clear()  # the message says where
        again, where = _path(node, index), _path(first.parent, first.index)
        return ValueError(
            f"the tree is cyclic: {again} is {where} again\nHint: remove the reference, and set it "
            f"again afterwards"
        )

    def map(self, function: Callable[[Any], Any], watch: TreeBar | None) -> None:
        """Put a function's results in the arrays' places."""
        arrays = [node.children[index] for node, index in self.arrays]
        with nullcontext() if watch is None else watch.track(arrays):
            for position in self.arrays:
                self._at = position
                node, index = position
                node.children[index] = function(node.children[index])
                if watch is not None:
                    watch.step()

    def unflatten(self) -> Any:
        """Return the tree of the results."""
        for node in self.nodes:
            if node.parent is not None:
                self._at = node.parent, node.index
            for index, first in node.repeated:
                node.children[index] = (
                    first.value if isinstance(first, _Node) else first[0].children[first[1]]
                )
            node.value = node.type.unflatten(node.value, node.children, node.aux)
            if node.parent is not None:
                node.parent.children[node.index] = node.value
        return self._root.value[0]

    def _where(self) -> str:
        """Return the path of the place that is being worked on; empty for the root."""
        node, index = (self._open[-1], self._open[-1].visited) if self._open else self._at
        return "" if node is self._root else _path(node, index)

    def _clear(self) -> None:
        """Drop the tree and its results."""
        for container in (
            self.arrays,
            self.nodes,
            self._open,
            self._root.children,
            self._root.value,
        ):
            container.clear()
        self._at = self._root, 0


_SHOWN = 16  # levels at either end of a long path


def _path(node: _Node | None, index: int) -> str:
    """Return a child's path from the tree: ``"tree['layers'][3].weight"``."""
    places: list[_Place] = []
    while node is not None and node.parent is not None:
        places.append((node, index))
        node, index = node.parent, node.index
    places.reverse()

    def text(some: Iterable[_Place]) -> str:
        return "".join(node.type.entry(node.value, node.aux, index) for node, index in some)

    hidden = len(places) - 2 * _SHOWN
    if hidden <= 0:
        return f"tree{text(places)}"
    return f"tree{text(places[:_SHOWN])} ... {hidden} levels ... {text(places[-_SHOWN:])}"
