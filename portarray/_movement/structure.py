"""Trees as files keep them: arrays by name, and the structure around them as JSON.

An array is named by the path to it, ``"layers.0.weight"``. In a structure ``{key: tree}`` is a
mapping, ``["list", tree, ...]`` a list, ``["tuple", tree, ...]`` a tuple and ``null`` an array.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

__all__ = ["ALONE", "Leaf", "names_in", "put_together", "taken_apart"]

ALONE = "array"
"""The name of an array that is the whole tree."""


class Leaf(NamedTuple):
    """An array in a tree, and where: ``"tree['layers'][0]"``."""

    value: Any
    place: str


def taken_apart(tree: Any, check: Callable[[Any, str], None]) -> tuple[dict[str, Leaf], Any]:
    """Return a tree's arrays by their names, and its structure.

    Parameters
    ----------
    tree : Any
        Mappings, lists and tuples of each other and of arrays.
    check : callable
        Called with all else and its place; raises where that is no array.

    Raises
    ------
    TypeError
        If a key is no string.
    ValueError
        If a key is no Unicode, two arrays would have one name, or the tree is within itself or too
        deep.
    """
    leaves: dict[str, Leaf] = {}

    def visit(node: Any, path: tuple[str, ...], place: str, around: frozenset[int]) -> Any:
        if id(node) in around:
            raise ValueError(f"{place} is within itself: trees without end cannot be saved")
        around |= {id(node)}
        if isinstance(node, Mapping):
            for key in node:
                if not isinstance(key, str):
                    raise TypeError(
                        f"the key {key!r} in {place} is no string, and files name arrays by "
                        f"strings; use str(key)"
                    )
                try:
                    key.encode()
                except UnicodeEncodeError:
                    raise ValueError(
                        f"the key {key!r} in {place} has a lone surrogate, and names in files are "
                        f"UTF-8; rename it"
                    ) from None
            return {
                key: visit(value, (*path, key), f"{place}[{key!r}]", around)
                for key, value in node.items()
            }
        if type(node) in (list, tuple):
            inner = [
                visit(value, (*path, str(i)), f"{place}[{i}]", around)
                for i, value in enumerate(node)
            ]
            return [type(node).__name__, *inner]
        check(node, place)
        name = ".".join(path) if path else ALONE
        if name == "__metadata__":
            raise ValueError(f"{place} cannot be named '__metadata__': files keep that; rename it")
        if name in leaves:
            raise ValueError(
                f"{leaves[name].place} and {place} would both be named {name!r} in the file; "
                f"rename one"
            )
        leaves[name] = Leaf(node, place)
        return None

    try:
        structure = visit(tree, (), "tree", frozenset())
    except RecursionError:
        raise ValueError("the tree is nested too deeply for a file") from None
    return leaves, structure


def names_in(structure: Any, path: tuple[str, ...] = ()) -> Iterator[str]:
    """Yield the names of the arrays in a tree, in its order. Raises TypeError if it is none."""
    if structure is None:
        yield ".".join(path) if path else ALONE
    elif isinstance(structure, dict):
        for key, inner in structure.items():
            yield from names_in(inner, (*path, key))
    elif isinstance(structure, list) and structure and structure[0] in ("list", "tuple"):
        for place, inner in enumerate(structure[1:]):
            yield from names_in(inner, (*path, str(place)))
    else:
        raise TypeError(f"{structure!r} describes no tree")


def put_together(structure: Any, arrays: Iterable[Any]) -> Any:
    """Return the tree of a structure and its arrays, which come in its order."""
    rest = iter(arrays)

    def visit(node: Any) -> Any:
        if node is None:
            return next(rest)
        if isinstance(node, dict):
            return {key: visit(inner) for key, inner in node.items()}
        inner = [visit(part) for part in node[1:]]
        return inner if node[0] == "list" else tuple(inner)

    return visit(structure)
