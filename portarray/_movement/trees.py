"""Trees: what holds arrays is taken apart and put together around their images.

Containers and registered classes are optree's, see :data:`NAMESPACE`, and JAX's where that is
imported. Of classes that neither knows, dataclasses and scikit-learn's estimators are copied, and
their attributes are theirs to hold arrays in. All else is passed on as it is. Nothing here knows
what an array is: callers say.
"""

from __future__ import annotations

import copy
import sys
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from dataclasses import fields, is_dataclass
from functools import partial
from types import MemberDescriptorType
from typing import Any, Protocol

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
    before = sys.exception()  # of the caller's, and none of ours to clear
    parts = _Parts(is_array)
    images: list[Any] = []
    try:
        parts.take(tree)
        images += parts.values
        with nullcontext() if watch is None else watch.begin([images[i] for i in parts.arrays]):
            for place in parts.arrays:
                parts.at = place
                images[place] = image(images[place])
                if watch is not None:
                    watch.step()
        for place in parts.order:
            parts.at = place
            node = parts.nodes[place]
            images[place] = node.rebuild([images[part] for part in node.places])
        return images[0]
    except BaseException as error:
        try:
            if isinstance(error, Exception) and parts.at:
                error.add_note(f"at {parts.path(parts.at)}")
        finally:  # keys have texts of their own, which may fail
            images.clear()
            parts.clear()
            let_go(error, before)
        raise


def is_tree(value: Any) -> bool:
    """Tell whether a value is taken apart."""
    return _way_of(value) is not None


class _Node:
    """A container or object that was taken apart.

    Attributes
    ----------
    parts : list
        What it holds.
    rebuild : callable
        Makes one like it from the images of its parts.
    text : callable
        Returns how a part is reached, by its number: ``".weight"``.
    places : list of int
        Where the parts stand among the values of the tree, as far as they were taken.
    whole : bool
        Whether all parts were taken, and theirs.
    """

    __slots__ = ("parts", "places", "rebuild", "text", "whole")

    def __init__(
        self,
        parts: list[Any],
        rebuild: Callable[[list[Any]], Any],
        text: Callable[[int], str],
    ) -> None:
        self.parts = parts
        self.rebuild = rebuild
        self.text = text
        self.places: list[int] = []
        self.whole = False


_Way = Callable[[Any], _Node]
"""How objects of a class are taken apart."""


def _way_of(value: Any) -> _Way | None:
    """Return how objects of a value's class are taken apart, None for those that are not."""
    import optree  # most programs move no trees

    cls = type(value)
    if value is None:
        return None
    if optree.register_pytree_node.get(cls, namespace=NAMESPACE) is not None:
        return _take_container
    if _is_known_to_jax(value):
        return _take_as_jax
    if is_dataclass(cls) or issubclass(cls, _of_scikit_learn()):
        return _attributes_of(cls)
    return None


class _Parts:
    """A tree taken apart: its values by place, each object in one place.

    Attributes
    ----------
    values : list
        Containers, arrays and all else. They are kept, so that no other object gets the identity of
        one that a container made for the occasion.
    arrays : list of int
        Places of the arrays.
    nodes : dict
        The containers and objects by place.
    order : list of int
        Places of the nodes, each after those that it holds.
    at : int
        The place that is being worked on; 0, that of the tree itself, where that says nothing.
    """

    __slots__ = (
        "_above",
        "_is_array",
        "_open",
        "_places",
        "_ways",
        "arrays",
        "at",
        "nodes",
        "order",
        "values",
    )

    def __init__(self, is_array: Callable[[Any], bool]) -> None:
        self.values: list[Any] = []
        self.arrays: list[int] = []
        self.nodes: dict[int, _Node] = {}
        self.order: list[int] = []
        self.at = 0
        self._above: list[int] = []  # the place of the node that holds a place, the first that does
        self._places: dict[int, int] = {}  # by identity, of nodes and arrays
        self._open: list[int] = []  # nodes whose parts are being taken, each within the one before
        self._ways: dict[type, _Way | None] = {}  # of the classes in the tree
        self._is_array = is_array

    def take(self, tree: Any) -> None:
        """Take a tree apart."""
        self._take(tree, 0)
        while self._open:
            place = self._open[-1]
            node = self.nodes[place]
            taken, parts = node.places, node.parts
            depth = len(self._open)
            while len(taken) < len(parts):
                taken.append(self._take(parts[len(taken)], place))
                if len(self._open) > depth:  # that part first
                    break
            else:
                node.whole = True
                self.order.append(self._open.pop())
        self.at = 0

    def _take(self, value: Any, above: int) -> int:
        """Return the place of a value, a new one unless it has one; nodes are opened."""
        known = self._places.get(id(value))
        if known is not None:
            node = self.nodes.get(known)
            if node is not None and not node.whole:
                self.at = 0  # the message says more
                again = self.path(above) + self.nodes[above].text(len(self.nodes[above].places))
                raise ValueError(
                    f"the tree has no end: {again} is {self.path(known)} again. Move what is "
                    f"within it, or leave the reference out and set it afterwards"
                )
            return known
        place = len(self.values)
        self.values.append(value)
        self._above.append(above)
        self.at = place
        cls = type(value)
        if cls not in self._ways:
            self._ways[cls] = _way_of(value)
        way = self._ways[cls]
        if way is not None:
            self._places[id(value)] = place
            self.nodes[place] = way(value)
            self._open.append(place)
        elif self._is_array(value):
            self._places[id(value)] = place
            self.arrays.append(place)
        return place

    def path(self, place: int) -> str:
        """Return how a place is reached from the tree: ``"tree['layers'][3].weight"``."""
        texts: list[str] = []
        while place:
            above = self._above[place]
            node = self.nodes[above]
            number = node.places.index(place) if place in node.places else len(node.places)
            texts.append(node.text(number))
            place = above
        return "tree" + "".join(reversed(texts))

    def clear(self) -> None:
        """Forget the tree."""
        for found in (self.values, self.nodes, self.order, self.arrays, self._above, self._places):
            found.clear()


def _take_container(value: Any) -> _Node:
    """Take apart what optree knows."""
    import optree

    flat = optree.tree_flatten_one_level(value, none_is_leaf=True, namespace=NAMESPACE)
    standard = isinstance(value, dict) and flat.kind is not optree.PyTreeKind.CUSTOM

    def rebuild(images: list[Any]) -> Any:
        if not standard:
            return flat.unflatten_func(flat.metadata, images)
        # optree sorts keys, and before 0.20 does not undo that. A copy has the order, and what
        # PyTorch notes on the dict of a model's state.
        made = copy.copy(value)
        made.update(zip(flat.entries, images, strict=True))
        return made

    def text(number: int) -> str:
        entry = flat.path_entry_type(flat.entries[number], flat.type, flat.kind)
        return str(entry.codify(""))

    return _Node(flat.children, rebuild, text)


def _one_level(value: Any, flatten: Callable[..., Any]) -> Any:
    """Return what one of JAX's functions makes of a value whose parts are not looked into."""
    first = iter((False,))  # what it asks about first is the value
    return flatten(value, is_leaf=lambda _: next(first, True))


def _is_known_to_jax(value: Any) -> bool:
    """Tell whether an object is of a class that is registered with JAX, if that is imported."""
    jax = sys.modules.get("jax.tree_util")
    return jax is not None and jax.default_registry.flatten_one_level(value) is not None


def _take_as_jax(value: Any) -> _Node:
    """Take apart an object as JAX does."""
    jax = sys.modules["jax.tree_util"]
    parts, structure = _one_level(value, jax.tree_flatten)

    def text(number: int) -> str:
        ways, _ = _one_level(value, jax.tree_flatten_with_path)
        return str(jax.keystr(ways[number][0]))

    return _Node(parts, partial(jax.tree_unflatten, structure), text)


def _of_scikit_learn() -> tuple[type, ...]:
    """Return the classes of scikit-learn's objects that hold arrays, where it is imported."""
    places = (("sklearn.base", "BaseEstimator"), ("sklearn.utils", "Bunch"))
    found = (getattr(sys.modules.get(module), name, None) for module, name in places)
    return tuple(cls for cls in found if cls is not None)


def _attributes_of(cls: type) -> _Way:
    """Return how objects of a class are taken apart that hold arrays in their attributes."""
    slots = [
        member
        for base in cls.__mro__
        if "__slots__" in base.__dict__
        for member in base.__dict__.values()
        if isinstance(member, MemberDescriptorType)
    ]
    # Of a field that is not given the default may be an attribute of the class alone.
    defaults = [
        (field.name, getattr(cls, field.name))
        for field in (fields(cls) if is_dataclass(cls) else ())
        if hasattr(cls, field.name)
    ]

    def take(value: Any) -> _Node:
        own = getattr(value, "__dict__", {})
        found: list[_Held] = [
            (f".{name}", part, partial(_set_attribute, name)) for name, part in own.items()
        ]
        found += [
            (f".{name}", part, partial(_set_attribute, name))
            for name, part in defaults
            if name not in own and not isinstance(part, MemberDescriptorType)
        ]
        for slot in slots:
            with suppress(AttributeError):  # never set
                found.append((f".{slot.__name__}", slot.__get__(value), slot.__set__))
        if isinstance(value, dict):  # some of whose keys are its attributes, in some libraries
            found += [(f"[{key!r}]", part, partial(_set_item, key)) for key, part in value.items()]
        return _Node(
            [part for _, part, _ in found],
            partial(_copied, value, found),
            lambda number: found[number][0],
        )

    return take


_Held = tuple[str, Any, Callable[[Any, Any], None]]
"""How a part of an object is reached, the part, and what puts another in its place in a copy."""


def _set_attribute(name: str, made: Any, image: Any) -> None:
    made.__dict__[name] = image  # whatever rules the class has for assignments: it is made anew


def _set_item(key: Any, made: dict[Any, Any], image: Any) -> None:
    dict.__setitem__(made, key, image)


def _copied(value: Any, found: list[_Held], images: list[Any]) -> Any:
    """Return a copy of an object with the images of its parts."""
    made = copy.copy(value)
    changed = [
        (put, image)
        for (_, part, put), image in zip(found, images, strict=True)
        if image is not part
    ]
    if changed and made is value:
        name = type(value).__qualname__
        raise TypeError(
            f"copy.copy of {name} returns the same object, whose arrays must stay as they are; "
            f"say how {name} is taken apart with optree.register_pytree_node(..., "
            f"namespace={NAMESPACE!r})"
        )
    for put, image in changed:
        put(made, image)
    return made
