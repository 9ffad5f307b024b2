"""Signatures of calls, which select a compiled program, and builders of output trees."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from operator import itemgetter
from typing import Any

from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language.arguments import exact
from portarray._movement.pytree import node_type

__all__ = ["builder", "signature"]


def signature(tree: Any, leaves: list[Array], parts: list[Any]) -> None:
    """Add the arrays of a tree to ``leaves`` and their types and constants to ``parts``."""
    kind = tree.__class__
    if kind is Array:
        table = tree._table
        parts.append(table)
        parts.append(tree._native.shape)
        if table.known_type is None:  # results depend on the library's settings
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
    elif kind in _PLAIN:
        parts.append(exact(tree))
    else:
        node = node_type(tree)
        if node is None:
            parts.append((kind, tree))
            return
        children, _ = node.flatten(tree)
        parts.append((kind, len(children)))
        for child in children:
            signature(child, leaves, parts)


_PLAIN = frozenset((int, float, bool, str, complex, type(None)))


def setting() -> tuple[Any, ...]:
    """Return the settings of portarray that a program depends on."""
    return config._tuned_kernels, config._check_linalg


def builder(tree: Any, is_leaf: Callable[[Any], bool]) -> Callable[[Sequence[Any]], Any]:
    """Return a function that builds a copy of a tree with other leaves, given in order."""
    count = itertools.count()

    def build(x: Any) -> Callable[[Sequence[Any]], Any]:
        if is_leaf(x):
            return itemgetter(next(count))
        kind = x.__class__
        if kind is dict:
            items = [(key, build(child)) for key, child in x.items()]
            return lambda leaves: {key: child(leaves) for key, child in items}
        if (kind is tuple or kind is list) and len(x) > 1 and all(map(is_leaf, x)):  # faster
            pick = itemgetter(*[next(count) for _ in x])
            return pick if kind is tuple else lambda leaves: list(pick(leaves))
        if kind is tuple or kind is list:
            parts = [build(child) for child in x]
            return lambda leaves: kind([part(leaves) for part in parts])
        node = node_type(x)
        if node is None:
            return lambda _: x
        children, aux = node.flatten(x)
        parts = [build(child) for child in children]
        return lambda leaves: node.unflatten(x, [part(leaves) for part in parts], aux)

    return build(tree)
