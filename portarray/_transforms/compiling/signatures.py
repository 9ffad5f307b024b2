"""Signatures of calls, which select a compiled program."""

from __future__ import annotations

import struct
from collections import deque
from enum import Enum
from typing import Any

import numpy as np

from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._hashing import hashable
from portarray._trees.node_types import node_type, slots_of

__all__ = ["BY_TEXT", "STRINGS", "VALUE_TYPES", "frozen", "is_value", "repeats", "signature"]


def signature(
    tree: Any, leaves: list[Array], parts: list[Any], objects: list[Any] | None = None
) -> None:
    """Add the arrays of a tree to ``leaves`` and their types and constants to ``parts``.

    Objects that are not trees, and functions, are added to ``objects``.
    """
    kind = tree.__class__
    if kind is Array:
        table = tree._dispatch
        parts.append(table)
        parts.append(tree._native.shape)
        if table.known_type is None:  # results depend on the library's settings
            parts.append(table.device._backend.configuration())
        leaves.append(tree)
    elif kind is dict:
        if STRINGS.issuperset(map(type, tree)):
            parts.append((dict, *tree))
        else:  # keys may be objects
            parts.append((dict, len(tree)))
            for key in tree:
                signature(key, leaves, parts, objects)
        for child in tree.values():
            signature(child, leaves, parts, objects)
    elif kind is tuple or kind is list:
        parts.append((kind, len(tree)))
        for child in tree:
            signature(child, leaves, parts, objects)
    elif is_value(tree):
        parts.append(frozen(tree))
        if kind not in VALUE_TYPES and objects is not None and isinstance(tree, Enum):
            objects.append(tree)  # which may have other attributes
    else:
        node = node_type(tree)
        if node is None:
            if objects is None or not (hashable(tree) or _has_state(tree) or kind in _MUTABLE):
                parts.append((kind, tree))
            else:
                parts.append((object, kind))
                objects.append(tree)
            return
        children, aux = node.flatten(tree)
        parts.append((kind, len(children), frozen(node.structure(tree, aux))))
        for child in children:
            signature(child, leaves, parts, objects)


STRINGS = frozenset((str,))
_MUTABLE = (set, bytearray)

VALUE_TYPES = frozenset(
    (int, float, bool, str, complex, bytes, type(None), type(...), type(NotImplemented))
)
_VALUES = (np.generic, np.dtype, Enum, range, slice, Device)
BY_TEXT = frozenset(("datetime", "decimal", "fractions", "pathlib", "uuid"))
"""Modules of Python whose objects are immutable and differ if their texts do."""

_bits = struct.Struct("d").pack


def is_value(x: Any) -> bool:
    """Return whether an object is an immutable value, which :func:`frozen` compares."""
    kind = x.__class__
    return kind in VALUE_TYPES or isinstance(x, _VALUES) or kind.__module__ in BY_TEXT


def _has_state(x: Any) -> bool:
    """Return whether an object has attributes."""
    return hasattr(x, "__dict__") or bool(slots_of(type(x)))


def frozen(x: Any) -> Any:
    """Return a key that is equal only for values of the same types and bits.

    1 is not True, 0.0 not -0.0, and NaN is NaN. Containers are compared by their items, in order.
    """
    kind = x.__class__
    if kind is float:
        return kind, _bits(x)
    if kind is complex:
        return kind, _bits(x.real), _bits(x.imag)
    if kind in VALUE_TYPES:
        return kind, x
    if isinstance(x, np.generic):
        return kind, x.dtype.str, x.tobytes()
    if isinstance(x, np.ndarray) and x.dtype.hasobject:
        return kind, x.shape, frozen(x.tolist())
    if isinstance(x, np.ndarray):
        return kind, x.dtype.str, x.shape, x.tobytes()
    if kind.__module__ in BY_TEXT:
        return kind, repr(x)
    if isinstance(x, (list, tuple, deque)):
        return (kind, *map(frozen, x))
    if isinstance(x, dict):
        return (kind, *[(frozen(key), frozen(value)) for key, value in x.items()])
    if isinstance(x, (set, frozenset)):
        return kind, frozenset(map(frozen, x))
    if isinstance(x, slice):
        return kind, frozen(x.start), frozen(x.stop), frozen(x.step)
    if isinstance(x, bytearray):
        return kind, bytes(x)
    return kind, x


def repeats(values: list[Any]) -> tuple[int, ...]:
    """Return for each value the index at which the same object comes first."""
    first: dict[int, int] = {}
    return tuple([first.setdefault(id(x), n) for n, x in enumerate(values)])
