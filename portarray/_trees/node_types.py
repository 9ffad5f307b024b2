"""Pytree node types: how objects that hold others are flattened and unflattened, one level each.

Containers and registered classes are optree's, see :data:`NAMESPACE`, and JAX's where that is
imported. Of classes that neither knows, dataclasses, attrs' classes and scikit-learn's estimators
are nodes whose children are their attributes; unflattening makes a copy with other attributes. All
else is a leaf.
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


LEAVES: set[type] = set()
"""Classes of leaves, even where a library takes them for trees."""


OWN: dict[type, tuple[str, ...]] = {}
"""Registered classes of portarray's own, with the attributes that are arrays."""


def register(
    cls: type,
    flatten: Callable[[Any], tuple[Any, ...]],
    unflatten: Any,
    attributes: tuple[str, ...],
) -> None:
    """Register a class of portarray's own with optree; its first object does so."""
    import optree  # most programs move no trees

    OWN[cls] = attributes
    optree.register_pytree_node(cls, flatten, unflatten, namespace=NAMESPACE)


class NodeType(Protocol):
    """How values of one class are flattened and unflattened."""

    def flatten(self, value: Any, /) -> tuple[list[Any], Any]:
        """Return a value's children, in a new list, and the auxiliary data of the node."""

    def structure(self, value: Any, aux: Any, /) -> Any:
        """Return what distinguishes a value from others of its class, besides its children."""

    def unflatten(self, value: Any, children: list[Any], aux: Any, /) -> Any:
        """Return a value like the one flattened, with other children."""

    def entry(self, value: Any, aux: Any, index: int, /) -> str:
        """Return a child's entry in a path, by its number: ``".weight"``."""


def node_type(value: Any) -> NodeType | None:
    """Return the node type of a value's class, None where the value is a leaf."""
    import optree  # most programs move no trees

    cls = type(value)
    if value is None or cls in LEAVES:
        return None
    if cls in _BUILT_IN:
        return _BUILT_IN[cls]
    entry = optree.register_pytree_node.get(cls, namespace=NAMESPACE)
    if entry is not None:
        is_named_tuple = entry.kind is optree.PyTreeKind.NAMEDTUPLE
        return _NamedTuple(cls._make) if is_named_tuple else _Registered()
    if _is_known_to_jax(value):
        return _RegisteredWithJax()
    if issubclass(cls, Enum):  # members are singletons
        return None
    if is_dataclass(cls) or hasattr(cls, "__attrs_attrs__") or issubclass(cls, _of_scikit_learn()):
        return _Attributes(cls)
    return None


class _Sequence:
    """Lists and tuples."""

    def __init__(self, make: Callable[[list[Any]], Any]) -> None:
        self._make = make

    def flatten(self, value: Any, /) -> tuple[list[Any], Any]:
        return list(value), None

    def structure(self, value: Any, aux: Any, /) -> Any:
        return None

    def unflatten(self, value: Any, children: list[Any], aux: Any, /) -> Any:
        return self._make(children)

    def entry(self, value: Any, aux: Any, index: int, /) -> str:
        return f"[{index}]"


class _NamedTuple(_Sequence):
    """Named tuples of one class; ``_make`` does not call a ``__new__`` that the class overrides."""

    def entry(self, value: Any, aux: Any, index: int, /) -> str:
        return f".{value._fields[index]}"


class _Mapping:
    """Dicts. optree sorts keys, which not all keys can be, and before 0.20 returns them sorted."""

    def flatten(self, value: Any, /) -> tuple[list[Any], Any]:
        return list(value.values()), list(value)

    def structure(self, value: Any, aux: Any, /) -> Any:
        return aux, getattr(value, "default_factory", None), getattr(value, "__dict__", None)

    def unflatten(self, value: Any, children: list[Any], aux: Any, /) -> Any:
        new = copy.copy(value)  # with the attributes that PyTorch sets on a state_dict
        new.update(zip(aux, children, strict=True))
        return new

    def entry(self, value: Any, aux: Any, index: int, /) -> str:
        return f"[{aux[index]!r}]"


_BUILT_IN: dict[type, NodeType] = {
    list: _Sequence(list),
    tuple: _Sequence(tuple),
    **dict.fromkeys((dict, OrderedDict, defaultdict), _Mapping()),
}
"""Node types that optree and JAX do not allow registering again."""

LIST = _BUILT_IN[list]
"""The node type of lists."""


class _Registered:
    """Classes that are registered with optree."""

    def flatten(self, value: Any, /) -> tuple[list[Any], Any]:
        import optree

        flat = optree.tree_flatten_one_level(value, none_is_leaf=True, namespace=NAMESPACE)
        return list(flat.children), flat

    def structure(self, value: Any, flat: Any, /) -> Any:
        return flat.metadata, flat.entries

    def unflatten(self, value: Any, children: list[Any], flat: Any, /) -> Any:
        return flat.unflatten_func(flat.metadata, tuple(children))

    def entry(self, value: Any, flat: Any, index: int, /) -> str:
        return str(flat.path_entry_type(flat.entries[index], flat.type, flat.kind).codify(""))


class _RegisteredWithJax:
    """Classes that are registered with JAX."""

    def flatten(self, value: Any, /) -> tuple[list[Any], Any]:
        children, treedef = _one_level(value, sys.modules["jax.tree_util"].tree_flatten)
        return list(children), treedef

    def structure(self, value: Any, treedef: Any, /) -> Any:
        return treedef

    def unflatten(self, value: Any, children: list[Any], treedef: Any, /) -> Any:
        return sys.modules["jax.tree_util"].tree_unflatten(treedef, children)

    def entry(self, value: Any, aux: Any, index: int, /) -> str:
        jax = sys.modules["jax.tree_util"]
        paths, _ = _one_level(value, jax.tree_flatten_with_path)
        return str(jax.keystr(paths[index][0]))


def _one_level(value: Any, flatten: Callable[..., Any]) -> Any:
    """Flatten a value by one of JAX's functions, with its children as leaves."""
    first = iter((False,))  # it asks of the value itself first
    return flatten(value, is_leaf=lambda _: next(first, True))


def _is_known_to_jax(value: Any) -> bool:
    """Return whether an object is of a class that is registered with JAX, if that is imported."""
    jax = sys.modules.get("jax.tree_util")
    return jax is not None and jax.default_registry.flatten_one_level(value) is not None


def _of_scikit_learn() -> tuple[type, ...]:
    """Return the classes of scikit-learn's objects that hold arrays, where it is imported."""
    places = (("sklearn.base", "BaseEstimator"), ("sklearn.utils", "Bunch"))
    classes = (getattr(sys.modules.get(module), name, None) for module, name in places)
    return tuple(cls for cls in classes if cls is not None)


class _Item(NamedTuple):
    """A key or index of an object whose class extends dict or list."""

    key: Any


def slots_of(cls: type) -> list[Any]:
    """Return the descriptors of the slots of a class."""
    return [
        member
        for base in cls.__mro__
        if "__slots__" in base.__dict__
        for member in base.__dict__.values()
        if isinstance(member, MemberDescriptorType)
    ]


class _Attributes:
    """Objects of one class, their attributes as children; unflattening sets them on a copy."""

    def __init__(self, cls: type) -> None:
        self._slots = slots_of(cls)
        # A field's default may be an attribute of the class alone.
        self._defaults = {
            field.name: getattr(cls, field.name)
            for field in (fields(cls) if is_dataclass(cls) else ())
            if hasattr(cls, field.name)
            and not isinstance(getattr(cls, field.name), MemberDescriptorType)
        }

    def flatten(self, value: Any, /) -> tuple[list[Any], Any]:
        attributes: dict[Any, Any] = {**self._defaults, **getattr(value, "__dict__", {})}
        for slot in self._slots:
            with suppress(AttributeError):  # never set
                attributes[slot] = slot.__get__(value)
        if isinstance(value, dict):  # whose keys some libraries set as attributes too
            attributes.update((_Item(key), child) for key, child in value.items())
        elif isinstance(value, list):
            attributes.update((_Item(index), child) for index, child in enumerate(value))
        return list(attributes.values()), attributes

    def structure(self, value: Any, aux: Any, /) -> Any:
        return list(aux)

    def unflatten(self, value: Any, children: list[Any], aux: Any, /) -> Any:
        new = copy.copy(value)
        changed = [
            (key, image)
            for (key, child), image in zip(aux.items(), children, strict=True)
            if image is not child
        ]
        if changed and new is value:
            name = type(new).__qualname__
            raise TypeError(
                f"copy.copy of {name} returns the same object, whose arrays must not be replaced\n"
                f"Hint: register how {name} is flattened with optree.register_pytree_node(..., "
                f"namespace={NAMESPACE!r})"
            )
        for key, image in changed:  # without the class's __setattr__: it may be frozen
            if isinstance(key, str):
                new.__dict__[key] = image
            elif isinstance(key, _Item):
                (dict if isinstance(new, dict) else list).__setitem__(new, key.key, image)
            else:
                key.__set__(new, image)
        return new

    def entry(self, value: Any, aux: Any, index: int, /) -> str:
        key = list(aux)[index]
        if isinstance(key, _Item):
            return f"[{key.key!r}]"
        return f".{key if isinstance(key, str) else key.__name__}"
