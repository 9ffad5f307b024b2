"""What a compiled program depends on in the arguments of a call, and how its output is built."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language.arguments import exact
from portarray._transforms import trees
from portarray._trees.node_types import node_type

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
    """Return the settings that a program depends on."""
    return config._tuned_kernels, config._check_linalg


def builder(tree: Any, is_leaf: Callable[[Any], bool]) -> Callable[[Sequence[Any]], Any]:
    """Return what puts a tree together with others instead of its leaves, in order.

    What is no leaf and no container stays.
    """
    names: dict[str, Any] = {}
    count = itertools.count()

    def text(x: Any) -> str | None:
        if is_leaf(x):
            return f"leaves[{next(count)}]"
        kind = x.__class__
        if kind is dict:
            parts = [text(child) for child in x.values()]
            pairs = zip(map(named, x), parts, strict=True)
            return None if None in parts else f"{{{', '.join(f'{k}: {v}' for k, v in pairs)}}}"
        if kind is tuple or kind is list:
            parts = [text(child) for child in x]
            if None in parts:
                return None
            inside = "".join(f"{part}, " for part in parts)
            return f"({inside})" if kind is tuple else f"[{inside}]"
        return named(x) if node_type(x) is None else None

    def named(x: Any) -> str:
        name = f"c{len(names)}"
        names[name] = x
        return name

    whole = text(tree)
    if whole is not None:
        made: Callable[[Sequence[Any]], Any] = eval(f"lambda leaves: {whole}", names)  # noqa: S307
        return made

    def build(leaves: Sequence[Any]) -> Any:
        each = iter(leaves)
        return trees.mapped(lambda x: next(each) if is_leaf(x) else x, tree)

    return build
