"""Trees of arrays, as functions take and return them: flattened and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from portarray._array.array import Array
from portarray._movement.pytree import node_type

__all__ = ["arrays", "leaves", "mapped"]


def arrays(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a tree with their paths; None is no leaf."""
    if type(tree) is Array:
        yield path, tree
        return
    kind = node_type(tree)
    if kind is None:
        if tree is not None:
            yield path, tree
        return
    children, aux = kind.flatten(tree)
    for n, child in enumerate(children):
        yield from arrays(child, path + kind.entry(tree, aux, n))


def leaves(tree: Any) -> list[Array]:
    """Return the arrays of a tree; sooner than :func:`arrays`, as it needs no paths."""
    found: list[Array] = []
    _collect(tree, found)
    return found


def _collect(tree: Any, found: list[Array]) -> None:
    kind = tree.__class__
    if kind is Array:
        found.append(tree)
        return
    if kind is list or kind is tuple:
        children = tree
    elif kind is dict:
        children = tree.values()
    else:
        node = node_type(tree)
        if node is None:
            return
        children, _ = node.flatten(tree)
    for child in children:
        if child.__class__ is Array:
            found.append(child)
        else:
            _collect(child, found)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree like another with the values of a function of its leaves."""
    kind_of_tree = tree.__class__
    if kind_of_tree is Array:
        return function(tree)
    if kind_of_tree is list or kind_of_tree is tuple:
        return kind_of_tree([mapped(function, child) for child in tree])
    kind = node_type(tree)
    if kind is None:
        return None if tree is None else function(tree)
    children, aux = kind.flatten(tree)
    return kind.unflatten(tree, [mapped(function, child) for child in children], aux)
