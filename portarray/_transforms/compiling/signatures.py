"""What a compiled program depends on in the arguments of a call, and how its output is built."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from portarray._array.array import Array
from portarray._config import config
from portarray._movement.pytree import node_type
from portarray._transforms import trees

__all__ = ["builder", "signature"]


def signature(tree: Any, leaves: list[Array], parts: list[Any]) -> None:
    """Add the arrays of a tree to ``leaves``, and what else a program depends on to ``parts``."""
    kind = tree.__class__
    if kind is Array:
        table = tree._table
        parts.append(table)
        parts.append(tree._native.shape)
        if table.known_type is None:  # the library's settings are part of what it computes
            parts.append(table.device._backend.configuration())
        leaves.append(tree)
    elif kind is dict:
        parts.append((dict, *tree))
        for child in tree.values():
            signature(child, leaves, parts)
    elif kind is tuple or kind is list:
        parts.append((kind, len(tree)))
        for child in tree:
            signature(child, leaves, parts)
    elif kind is float:
        parts.append(tree.hex())  # 0.0 is not -0.0
    elif kind in _PLAIN:
        parts.append((kind, tree))
    else:
        node = node_type(tree)
        if node is None:
            parts.append((kind, tree))
            return
        children, _ = node.flatten(tree)
        parts.append((kind, len(children)))
        for child in children:
            signature(child, leaves, parts)


_PLAIN = frozenset((int, bool, str, complex, type(None)))


def setting() -> tuple[Any, ...]:
    """Return the settings that a program depends on."""
    return config._tuned_kernels, config._check_linalg


def builder(tree: Any, is_leaf: Callable[[Any], bool]) -> Callable[[Sequence[Any]], Any]:
    """Return what puts a tree together with others instead of its leaves, in order.

    Leaves that are no arrays stay.
    """
    if is_leaf(tree):
        return lambda leaves: leaves[0]
    if tree.__class__ is tuple and all(map(is_leaf, tree)):
        return tuple

    def build(leaves: Sequence[Any]) -> Any:
        each = iter(leaves)
        return trees.mapped(lambda x: next(each) if is_leaf(x) else x, tree)

    return build
