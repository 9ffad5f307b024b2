"""Flatten, map and refill pytrees of arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from portarray._array.array import Array
from portarray._trees.node_types import node_type

__all__ = ["arrays", "leaves", "mapped", "refilled"]


def arrays(tree: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the leaves of a tree with their paths; None is not a leaf."""
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
    """Return the arrays of a tree, with ``others`` all leaves; faster than :func:`arrays`."""
    if tree.__class__ is Array:
        return [tree]
    collected: list[Any] = []
    _collect(tree, collected, others)
    return collected


def _collect(tree: Any, collected: list[Any], others: bool) -> None:
    kind = tree.__class__
    if kind is Array:
        collected.append(tree)
        return
    if kind is list or kind is tuple:
        children = tree
    elif kind is dict:
        children = tree.values()
    else:
        node = node_type(tree)
        if node is None:
            if others and tree is not None:
                collected.append(tree)
            return
        children, _ = node.flatten(tree)
    for child in children:
        if child.__class__ is Array:
            collected.append(child)
        else:
            _collect(child, collected, others)


def refilled(tree: Any, new: Iterator[Array]) -> Any:
    """Return a copy of a tree whose arrays are replaced, in order, by the next of ``new``."""
    kind_of_tree = tree.__class__
    if kind_of_tree is Array:
        return next(new)
    if kind_of_tree is list or kind_of_tree is tuple:
        return kind_of_tree([next(new) if x.__class__ is Array else refilled(x, new) for x in tree])
    return mapped(lambda x: next(new) if x.__class__ is Array else x, tree)


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a copy of a tree with a function applied to each leaf."""
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
