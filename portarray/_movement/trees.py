"""Trees: what holds arrays is taken apart and put together around their images.

Containers and registered classes are optree's, see :data:`NAMESPACE`, and JAX's where that is
imported. Of classes that neither knows, dataclasses, attrs' classes and scikit-learn's estimators
are copied, and their attributes are theirs to hold arrays in. All else is passed on as it is.
Nothing here knows what an array is: callers say.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from types import MemberDescriptorType, TracebackType
from typing import Any, NamedTuple, Protocol, Self

from portarray._devices.memory import let_go

__all__ = ["NAMESPACE", "Watch", "is_tree", "mapped"]

NAMESPACE = "portarray"
"""optree's namespace in which classes are found that are registered for portarray alone."""


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
    return _way_of(value) is not None


class _Way(Protocol):
    """How values of one class are taken apart and put together."""

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        """Return what a value holds, in a list of its own, and what else the way has to know."""

    def rebuild(self, node: _Node, /) -> Any:
        """Return a value like a node's with the parts that the node has by now."""

    def text(self, node: _Node, number: int, /) -> str:
        """Return how a part is reached, by its number: ``".weight"``."""


class _Node:
    """A container or object that was taken apart.

    Attributes
    ----------
    value : Any
        It; its image once that is made.
    way : _Way
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

    def __init__(self, value: Any, way: _Way, above: _Node | None, number: int) -> None:
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
        self._root = _Node([tree], _BUILT_IN[list], None, 0)
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
        ways: dict[type, _Way | None] = {}  # of the classes in the tree
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
                    way = ways[cls] = _way_of(part)
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
            node.value = node.way.rebuild(node)
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
        return "".join(node.way.text(node, number) for node, number in some)

    hidden = len(places) - 2 * _SHOWN
    if hidden <= 0:
        return f"tree{text(places)}"
    return f"tree{text(places[:_SHOWN])} ... {hidden} levels ... {text(places[-_SHOWN:])}"


# --- how classes are taken apart ----------------------------------------------------------------


def _way_of(value: Any) -> _Way | None:
    """Return how objects of a value's class are taken apart, None for those that are not."""
    import optree  # most programs move no trees

    cls = type(value)
    if value is None:
        return None
    if cls in _BUILT_IN:
        return _BUILT_IN[cls]
    entry = optree.register_pytree_node.get(cls, namespace=NAMESPACE)
    if entry is not None:
        is_named_tuple = entry.kind is optree.PyTreeKind.NAMEDTUPLE
        return _NamedTuple(cls._make) if is_named_tuple else _Registered()
    if _is_known_to_jax(value):
        return _RegisteredWithJax()
    if issubclass(cls, Enum):  # whose members are the only ones
        return None
    if is_dataclass(cls) or hasattr(cls, "__attrs_attrs__") or issubclass(cls, _of_scikit_learn()):
        return _Attributes(cls)
    return None


class _Sequence:
    """Lists and tuples."""

    def __init__(self, make: Callable[[list[Any]], Any]) -> None:
        self._make = make

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        return list(value), None

    def rebuild(self, node: _Node, /) -> Any:
        return self._make(node.parts)

    def text(self, node: _Node, number: int, /) -> str:
        return f"[{number}]"


class _NamedTuple(_Sequence):
    """Named tuples of one class; ``_make`` passes by what it does when it is called."""

    def text(self, node: _Node, number: int, /) -> str:
        return f".{node.value._fields[number]}"


class _Mapping:
    """Dicts. optree would sort the keys, which not all can be, and before 0.20 keep that order."""

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        return list(value.values()), list(value)

    def rebuild(self, node: _Node, /) -> Any:
        made = copy.copy(node.value)  # with what PyTorch notes on the dict of a model's state
        made.update(zip(node.rest, node.parts, strict=True))
        return made

    def text(self, node: _Node, number: int, /) -> str:
        return f"[{node.rest[number]!r}]"


_BUILT_IN: dict[type, _Way] = {
    list: _Sequence(list),
    tuple: _Sequence(tuple),
    **dict.fromkeys((dict, OrderedDict, defaultdict), _Mapping()),
}
"""What optree and JAX let nobody register anew."""


class _Registered:
    """What optree knows."""

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        import optree

        flat = optree.tree_flatten_one_level(value, none_is_leaf=True, namespace=NAMESPACE)
        return list(flat.children), flat

    def rebuild(self, node: _Node, /) -> Any:
        return node.rest.unflatten_func(node.rest.metadata, tuple(node.parts))

    def text(self, node: _Node, number: int, /) -> str:
        flat = node.rest
        return str(flat.path_entry_type(flat.entries[number], flat.type, flat.kind).codify(""))


class _RegisteredWithJax:
    """What JAX knows."""

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        parts, structure = _one_level(value, sys.modules["jax.tree_util"].tree_flatten)
        return list(parts), structure

    def rebuild(self, node: _Node, /) -> Any:
        return sys.modules["jax.tree_util"].tree_unflatten(node.rest, node.parts)

    def text(self, node: _Node, number: int, /) -> str:
        jax = sys.modules["jax.tree_util"]
        ways, _ = _one_level(node.value, jax.tree_flatten_with_path)
        return str(jax.keystr(ways[number][0]))


def _one_level(value: Any, flatten: Callable[..., Any]) -> Any:
    """Return what one of JAX's functions makes of a value whose parts are not looked into."""
    first = iter((False,))  # what it asks about first is the value
    return flatten(value, is_leaf=lambda _: next(first, True))


def _is_known_to_jax(value: Any) -> bool:
    """Tell whether an object is of a class that is registered with JAX, if that is imported."""
    jax = sys.modules.get("jax.tree_util")
    return jax is not None and jax.default_registry.flatten_one_level(value) is not None


def _of_scikit_learn() -> tuple[type, ...]:
    """Return the classes of scikit-learn's objects that hold arrays, where it is imported."""
    places = (("sklearn.base", "BaseEstimator"), ("sklearn.utils", "Bunch"))
    found = (getattr(sys.modules.get(module), name, None) for module, name in places)
    return tuple(cls for cls in found if cls is not None)


class _Item(NamedTuple):
    """A place in an object that is a dict or a list as well."""

    key: Any


class _Attributes:
    """Objects of one class that hold arrays in their attributes: copied, and those exchanged."""

    def __init__(self, cls: type) -> None:
        self._slots = [
            member
            for base in cls.__mro__
            if "__slots__" in base.__dict__
            for member in base.__dict__.values()
            if isinstance(member, MemberDescriptorType)
        ]
        # Of a field that is not given the default may be an attribute of the class alone.
        self._defaults = {
            field.name: getattr(cls, field.name)
            for field in (fields(cls) if is_dataclass(cls) else ())
            if hasattr(cls, field.name)
            and not isinstance(getattr(cls, field.name), MemberDescriptorType)
        }

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        found: dict[Any, Any] = {**self._defaults, **getattr(value, "__dict__", {})}
        for slot in self._slots:
            with suppress(AttributeError):  # never set
                found[slot] = slot.__get__(value)
        if isinstance(value, dict):  # some of whose keys are its attributes, in some libraries
            found.update((_Item(key), part) for key, part in value.items())
        elif isinstance(value, list):
            found.update((_Item(place), part) for place, part in enumerate(value))
        return list(found.values()), found

    def rebuild(self, node: _Node, /) -> Any:
        made = copy.copy(node.value)
        changed = [
            (key, image)
            for (key, part), image in zip(node.rest.items(), node.parts, strict=True)
            if image is not part
        ]
        if changed and made is node.value:
            name = type(made).__qualname__
            raise TypeError(
                f"copy.copy of {name} returns the same object, whose arrays must stay as they are; "
                f"say how {name} is taken apart with optree.register_pytree_node(..., "
                f"namespace={NAMESPACE!r})"
            )
        for key, image in changed:  # whatever rules the class has for assignments: it is made anew
            if isinstance(key, str):
                made.__dict__[key] = image
            elif isinstance(key, _Item):
                (dict if isinstance(made, dict) else list).__setitem__(made, key.key, image)
            else:
                key.__set__(made, image)
        return made

    def text(self, node: _Node, number: int, /) -> str:
        key = list(node.rest)[number]
        if isinstance(key, _Item):
            return f"[{key.key!r}]"
        return f".{key if isinstance(key, str) else key.__name__}"
