"""Trees of arrays, as functions take and return them: flattened and put together again."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from portarray._array.array import Array
from portarray._movement.pytree import node_type

__all__ = ["arrays", "mapped"]


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


def mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    """Return a tree like another with the values of a function of its leaves."""
    if type(tree) is Array:
        return function(tree)
    kind = node_type(tree)
    if kind is None:
        return None if tree is None else function(tree)
    children, aux = kind.flatten(tree)
    return kind.unflatten(tree, [mapped(function, child) for child in children], aux)
