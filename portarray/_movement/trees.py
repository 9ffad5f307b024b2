"""Trees: what holds arrays is taken apart and put together around their images.

What a class holds is told in ``ways.py``. Nothing here knows what an array is: callers say.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext
from types import TracebackType
from typing import Any, Protocol, Self

from portarray._devices.memory import let_go
from portarray._movement.ways import LIST, Way, way_of


class Watch(Protocol):
    """What is told how far a tree is."""

    def begin(self, arrays: Sequence[Any]) -> AbstractContextManager[object]:
        """Take note of the arrays that are to come; left after the last, or on an error."""

    def step(self) -> None:
        """Take note that the next one is done."""


def mapped(
    tree: Any,
    image: Callable[[Any], Any],
    *,
    is_array: Callable[[Any], bool],
    watch: Watch | None = None,
) -> Any:
    """Return a tree like the given one with the images of its arrays.

    What is in the tree several times has one image, which is there as often: arrays, containers and
    objects. The given tree stays as it is. Trees may be of any depth.

    Parameters
    ----------
    tree : Any
        A container, an object or an array; any of them in each other.
    image : callable
        Called once with each array.
    is_array : callable
        Tells whether something that is no container is an array. All else is its own image.
    watch : Watch, optional
        What is told how far it is.

    Raises
    ------
    ValueError
        If the tree is within itself; the message has the path.
    Exception
        Whatever ``image`` raises, with a note that has the array's path. The images made so far
        are released then, also by the frames of the traceback.
    """
    with _Parts(tree, is_array) as parts:
        parts.take()
        parts.change(image, watch)
        return parts.together()


def is_tree(value: Any) -> bool:
    """Tell whether a value is taken apart."""
    return way_of(value) is not None


class _Node:
    """A container or object that was taken apart.

    Attributes
    ----------
    value : Any
        It; its image once that is made.
    way : Way
        Its class's.
    parts : list
        What it holds; their images, as far as they are made.
    rest : Any
        What else the way has to know.
    above, number : _Node, int
        The node that holds it, the first that does, and as which part. Above the tree is one more,
        above which is None.
    taken : int
        How many of the parts were looked at.
    whole : bool
        Whether all parts were taken, and theirs.
    again : sequence of tuple
        Parts that were met before, by number: their nodes, or places.
    """

    __slots__ = ("above", "again", "number", "parts", "rest", "taken", "value", "way", "whole")

    def __init__(self, value: Any, way: Way, above: _Node | None, number: int) -> None:
        self.value = value
        self.way = way
        self.above = above
        self.number = number
        self.parts, self.rest = way.take(value)
        self.taken = 0
        self.whole = False
        self.again: Sequence[tuple[int, _Node | _Place]] = ()  # of most nothing

    def meet(self, number: int, first: _Node | _Place) -> None:
        """Take note of a part that was met before."""
        if not isinstance(self.again, list):
            self.again = []
        self.again.append((number, first))


_Place = tuple[_Node, int]
"""A node, and which of its parts."""


class _Parts:
    """A tree taken apart, each object in one place.

    Left on an error it is forgotten, by the error's frames too; the error has a note of where.

    Attributes
    ----------
    arrays : list
        Places of the arrays, in the tree's order.
    nodes : list of _Node
        The containers and objects, each after those that it holds; last one that holds the tree.
    """

    __slots__ = ("_at", "_is_array", "_open", "_root", "arrays", "nodes")

    def __init__(self, tree: Any, is_array: Callable[[Any], bool]) -> None:
        self.arrays: list[_Place] = []
        self.nodes: list[_Node] = []
        self._root = _Node([tree], LIST, None, 0)
        self._open = [self._root]  # nodes whose parts are being taken, each within the one before
        self._at: _Place = self._root, 0  # the place that is being worked on
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
        finally:  # keys have texts of their own, which may fail
            self._clear()
            let_go(error)

    def take(self) -> None:
        """Take the tree apart."""
        is_array, opened = self._is_array, self._open
        ways: dict[type, Way | None] = {}  # of the classes in the tree
        # By identity. Nodes keep their parts, so that no other object gets the identity of one that
        # a container made for the occasion.
        arrays: dict[int, _Place] = {}
        nodes: dict[int, _Node] = {}
        while opened:
            node = opened[-1]
            parts = node.parts
            for number in range(node.taken, len(parts)):
                node.taken = number
                part = parts[number]
                cls = type(part)
                if cls in ways:
                    way = ways[cls]
                else:
                    way = ways[cls] = way_of(part)
                if way is None:
                    if is_array(part):
                        place = node, number
                        first = arrays.setdefault(id(part), place)
                        if first is place:
                            self.arrays.append(place)
                        else:
                            node.meet(number, first)
                    continue
                inner = nodes.get(id(part))
                if inner is None:
                    nodes[id(part)] = inner = _Node(part, way, node, number)
                    opened.append(inner)
                    node.taken = number + 1
                    break
                if not inner.whole:
                    raise self._without_end(node, number, inner)
                node.meet(number, inner)
            else:
                node.whole = True
                self.nodes.append(opened.pop())

    def _without_end(self, node: _Node, number: int, first: _Node) -> ValueError:
        """Return the error to raise where a part is what it is part of."""
        self._open.clear()  # the message says where
        again, where = _path(node, number), _path(first.above, first.number)
        return ValueError(
            f"the tree has no end: {again} is {where} again. Move what is within it, or leave the "
            f"reference out and set it afterwards"
        )

    def change(self, image: Callable[[Any], Any], watch: Watch | None) -> None:
        """Put images in the arrays' places."""
        watching: AbstractContextManager[object] = nullcontext()
        if watch is not None:
            watching = watch.begin([node.parts[number] for node, number in self.arrays])
        with watching:
            for place in self.arrays:
                self._at = place
                node, number = place
                node.parts[number] = image(node.parts[number])
                if watch is not None:
                    watch.step()

    def together(self) -> Any:
        """Return the tree of the images."""
        for node in self.nodes:
            if node.above is not None:
                self._at = node.above, node.number
            for number, first in node.again:
                node.parts[number] = (
                    first.value if isinstance(first, _Node) else first[0].parts[first[1]]
                )
            node.value = node.way.rebuild(node.value, node.parts, node.rest)
            if node.above is not None:
                node.above.parts[node.number] = node.value
        return self._root.value[0]

    def _where(self) -> str:
        """Return the path of the place that is being worked on; empty where that says nothing."""
        node, number = (self._open[-1], self._open[-1].taken) if self._open else self._at
        return "" if node is self._root else _path(node, number)

    def _clear(self) -> None:
        """Forget the tree and its images."""
        for found in (self.arrays, self.nodes, self._open, self._root.parts, self._root.value):
            found.clear()
        self._at = self._root, 0


_SHOWN = 16  # levels at either end of a long path


def _path(node: _Node | None, number: int) -> str:
    """Return how a part is reached from the tree: ``"tree['layers'][3].weight"``."""
    places: list[_Place] = []
    while node is not None and node.above is not None:
        places.append((node, number))
        node, number = node.above, node.number
    places.reverse()

    def text(some: Iterable[_Place]) -> str:
        return "".join(node.way.text(node.value, node.rest, number) for node, number in some)

    hidden = len(places) - 2 * _SHOWN
    if hidden <= 0:
        return f"tree{text(places)}"
    return f"tree{text(places[:_SHOWN])} ... {hidden} levels ... {text(places[-_SHOWN:])}"
