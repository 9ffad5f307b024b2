"""Signatures of calls, which select a compiled program."""

from __future__ import annotations

from typing import Any

from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language.arguments import exact
from portarray._trees.node_types import node_type

__all__ = ["setting", "signature"]


def signature(tree: Any, leaves: list[Array], parts: list[Any]) -> None:
    """Add the arrays of a tree to ``leaves`` and their types and constants to ``parts``."""
    kind = tree.__class__
    if kind is Array:
        table = tree._dispatch
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
