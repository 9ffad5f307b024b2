"""Trees of arrays, as functions take and return them: flattened and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from portarray._array.array import Array
from portarray._trees.node_types import node_type

__all__ = ["arrays", "leaves", "mapped", "refilled"]


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


def leaves(tree: Any, *, others: bool = False) -> list[Any]:
    """Return the arrays of a tree; sooner than :func:`arrays`, as it needs no paths.

    With ``others`` the leaves that are no arrays, too.
    """
    if tree.__class__ is Array:
        return [tree]
    found: list[Any] = []
    _collect(tree, found, others)
    return found


def _collect(tree: Any, found: list[Any], others: bool) -> None:
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
            if others and tree is not None:
                found.append(tree)
            return
        children, _ = node.flatten(tree)
    for child in children:
        if child.__class__ is Array:
            found.append(child)
        else:
            _collect(child, found, others)


def refilled(tree: Any, new: Iterator[Array]) -> Any:
    """Return a tree like another with the next of some arrays in the place of each of its own."""
    kind_of_tree = tree.__class__
    if kind_of_tree is Array:
        return next(new)
    if kind_of_tree is list or kind_of_tree is tuple:
        return kind_of_tree([next(new) if x.__class__ is Array else refilled(x, new) for x in tree])
    return mapped(lambda x: next(new) if x.__class__ is Array else x, tree)


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
