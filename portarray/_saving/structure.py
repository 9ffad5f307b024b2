"""Trees as files keep them: arrays by name, and the structure around them as JSON.

An array is named by the path to it, ``"layers.0.weight"``. In a structure ``{key: tree}`` is a
mapping, ``["list", tree, ...]`` a list, ``["tuple", tree, ...]`` a tuple and ``null`` an array.
``["packed", {key: tree}, text]`` is an object of a class in :data:`portarray._saving.CLASSES`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from portarray._saving import CLASSES

ALONE = "array"
"""The name of an array that is the whole tree."""


DEEPEST = 200
"""How many levels a tree may have: well within Python's limit of recursion."""


class Leaf(NamedTuple):
    """An array in a tree, and where: ``"tree['layers'][0]"``."""

    value: Any
    path: str


def flatten(tree: Any, check: Callable[[Any, str], None]) -> tuple[dict[str, Leaf], Any]:
    """Return a tree's arrays by their names, and its structure."""
    leaves: dict[str, Leaf] = {}
    return leaves, _flatten(tree, None, "tree", set(), leaves, check)


# Recursive functions are the module's: a closure that calls itself is a reference cycle, and would
# keep every array of the tree alive until the garbage collector runs.


def _flatten(
    node: Any,
    path: str | None,
    location: str,
    ancestors: set[int],
    leaves: dict[str, Leaf],
    check: Callable[[Any, str], None],
) -> Any:
    """Add the arrays of a subtree to the leaves, and return its structure."""
    pairs: Iterable[tuple[Any, Any]]
    for name_in_file, saved in CLASSES.items():
        if type(node).__module__ == saved.module:
            arrays, text = saved.load().flattened(node)
            return [name_in_file, _flatten(arrays, path, location, ancestors, leaves, check), text]
    if isinstance(node, Mapping):
        pairs = node.items()
    elif type(node) in (list, tuple):
        pairs = enumerate(node)
    else:
        check(node, location)
        _add(node, ALONE if path is None else path, location, leaves)
        return None
    if id(node) in ancestors:
        raise ValueError(f"save: {location} contains itself; cyclic trees cannot be saved")
    if len(ancestors) == DEEPEST:
        raise ValueError(f"save: the tree is nested too deeply: more than {DEEPEST} levels")
    ancestors.add(id(node))
    named = isinstance(node, Mapping)
    inner = {}
    for key, value in pairs:
        name = _text(key, location) if named else str(key)
        inside = name if path is None else f"{path}.{name}"
        inner[name] = _flatten(value, inside, f"{location}[{key!r}]", ancestors, leaves, check)
    ancestors.remove(id(node))
    return inner if named else [type(node).__name__, *inner.values()]


def _text(key: Any, path: str) -> str:
    """Return a mapping's key as the text that it is, whatever its class would print."""
    if not isinstance(key, str):
        raise TypeError(
            f"save: the key {key!r} in {path} is not a string, and files name arrays by strings\n"
            f"Hint: use str(key)"
        )
    try:
        key.encode()
    except UnicodeEncodeError:
        raise ValueError(
            f"save: the key {key!r} in {path} has a lone surrogate, and names in files are UTF-8\n"
            f"Hint: rename it"
        ) from None
    return str.__str__(key)


def _add(value: Any, name: str, path: str, leaves: dict[str, Leaf]) -> None:
    if name == "__metadata__":
        raise ValueError(
            f"save: {path} cannot be named '__metadata__', which the format reserves\n"
            "Hint: rename it"
        )
    if name in leaves:
        raise ValueError(
            f"save: {leaves[name].path} and {path} would both be named {name!r} in the file\n"
            f"Hint: rename one"
        )
    leaves[name] = Leaf(value, path)


def leaf_names(structure: Any) -> list[str]:
    """Return the names of the arrays in a tree, in its order. Raises TypeError if it is none."""
    names: list[str] = []
    _collect(structure, None, names, 0)
    return names


def _collect(structure: Any, path: str | None, names: list[str], depth: int) -> None:
    pairs: Iterable[tuple[Any, Any]]
    if structure is None:
        names.append(ALONE if path is None else path)
        return
    if isinstance(structure, dict):
        pairs = structure.items()
    elif isinstance(structure, list) and structure and structure[0] in ("list", "tuple"):
        pairs = enumerate(structure[1:])
    elif isinstance(structure, list) and len(structure) == 3 and structure[0] in CLASSES:
        _collect(structure[1], path, names, depth)
        return
    else:
        raise TypeError(f"{structure!r} does not describe a tree")
    if depth == DEEPEST:
        raise TypeError(f"the tree has more than {DEEPEST} levels")
    for key, inner in pairs:
        _collect(inner, f"{key}" if path is None else f"{path}.{key}", names, depth + 1)


def unflatten(structure: Any, arrays: Iterable[Any]) -> Any:
    """Return the tree of a structure and its arrays, which come in its order."""
    return _unflatten(structure, iter(arrays))


def _unflatten(node: Any, arrays: Iterator[Any]) -> Any:
    if node is None:
        return next(arrays)
    if isinstance(node, dict):
        return {key: _unflatten(inner, arrays) for key, inner in node.items()}
    if node[0] in CLASSES:
        return CLASSES[node[0]].load().unflattened(_unflatten(node[1], arrays), node[2])
    inner = [_unflatten(part, arrays) for part in node[1:]]
    return inner if node[0] == "list" else tuple(inner)
