"""How objects that hold others are taken apart, and put together again.

Containers and registered classes are optree's, see :data:`NAMESPACE`, and JAX's where that is
imported. Of classes that neither knows, dataclasses, attrs' classes and scikit-learn's estimators
are copied, and their attributes are theirs to hold arrays in. All else is passed on as it is.
"""

from __future__ import annotations

import copy
import sys
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from enum import Enum
from types import MemberDescriptorType
from typing import Any, NamedTuple, Protocol

NAMESPACE = "portarray"
"""optree's namespace in which classes are found that are registered for portarray alone."""


class Way(Protocol):
    """How values of one class are taken apart and put together."""

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        """Return what a value holds, in a list of its own, and what else the way has to know."""

    def rebuild(self, value: Any, parts: list[Any], rest: Any, /) -> Any:
        """Return a value like the one taken apart, with other parts."""

    def text(self, value: Any, rest: Any, number: int, /) -> str:
        """Return how a part is reached, by its number: ``".weight"``."""


def way_of(value: Any) -> Way | None:
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

    def rebuild(self, value: Any, parts: list[Any], rest: Any, /) -> Any:
        return self._make(parts)

    def text(self, value: Any, rest: Any, number: int, /) -> str:
        return f"[{number}]"


class _NamedTuple(_Sequence):
    """Named tuples of one class; ``_make`` passes by what it does when it is called."""

    def text(self, value: Any, rest: Any, number: int, /) -> str:
        return f".{value._fields[number]}"


class _Mapping:
    """Dicts. optree would sort the keys, which not all can be, and before 0.20 keep that order."""

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        return list(value.values()), list(value)

    def rebuild(self, value: Any, parts: list[Any], rest: Any, /) -> Any:
        made = copy.copy(value)  # with what PyTorch notes on the dict of a model's state
        made.update(zip(rest, parts, strict=True))
        return made

    def text(self, value: Any, rest: Any, number: int, /) -> str:
        return f"[{rest[number]!r}]"


_BUILT_IN: dict[type, Way] = {
    list: _Sequence(list),
    tuple: _Sequence(tuple),
    **dict.fromkeys((dict, OrderedDict, defaultdict), _Mapping()),
}
"""What optree and JAX let nobody register anew."""

LIST = _BUILT_IN[list]
"""How lists are."""


class _Registered:
    """What optree knows."""

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        import optree

        flat = optree.tree_flatten_one_level(value, none_is_leaf=True, namespace=NAMESPACE)
        return list(flat.children), flat

    def rebuild(self, value: Any, parts: list[Any], flat: Any, /) -> Any:
        return flat.unflatten_func(flat.metadata, tuple(parts))

    def text(self, value: Any, flat: Any, number: int, /) -> str:
        return str(flat.path_entry_type(flat.entries[number], flat.type, flat.kind).codify(""))


class _RegisteredWithJax:
    """What JAX knows."""

    def take(self, value: Any, /) -> tuple[list[Any], Any]:
        parts, structure = _one_level(value, sys.modules["jax.tree_util"].tree_flatten)
        return list(parts), structure

    def rebuild(self, value: Any, parts: list[Any], structure: Any, /) -> Any:
        return sys.modules["jax.tree_util"].tree_unflatten(structure, parts)

    def text(self, value: Any, rest: Any, number: int, /) -> str:
        jax = sys.modules["jax.tree_util"]
        ways, _ = _one_level(value, jax.tree_flatten_with_path)
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

    def rebuild(self, value: Any, parts: list[Any], rest: Any, /) -> Any:
        made = copy.copy(value)
        changed = [
            (key, image)
            for (key, part), image in zip(rest.items(), parts, strict=True)
            if image is not part
        ]
        if changed and made is value:
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

    def text(self, value: Any, rest: Any, number: int, /) -> str:
        key = list(rest)[number]
        if isinstance(key, _Item):
            return f"[{key.key!r}]"
        return f".{key if isinstance(key, str) else key.__name__}"
