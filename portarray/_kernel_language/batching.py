"""Batched kernels: one more axis of work-items, and of arrays that differ along it."""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from typing import Any

from portarray._kernel_language import tree, types
from portarray._kernel_language.deep import deep
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.types import Array

_OF_GROUPS = frozenset(("group_count", "group_index", "group_size", "local_index"))


def uses_groups(function: tree.Function) -> bool:
    """Return whether a kernel depends on how work-items are grouped."""
    for part in (function, *tree.helpers_of(function)):
        for statement in part.body:
            for node in tree.walk(statement):
                if isinstance(node, tree.Position) and node.name in _OF_GROUPS:
                    return True
    return function.barriers or any(x.space == "local" for x in tree.arrays_of(function))


def examples_of(parameters: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """Return types of arguments without the first axes of some arrays."""
    return {
        name: dataclasses.replace(x, ndim=x.ndim - 1) if name in names else x
        for name, x in parameters.items()
    }


def add_axis(kernel: tree.Function, names: Collection[str], setting: Setting) -> None:
    """Add a first axis to a kernel's ndrange and to some arrays.

    A work-item uses the elements of these arrays at its own index along the axis.

    Parameters
    ----------
    kernel : tree.Function
        The typed tree, which is changed.
    names : collection of str
        The arrays, parameters of the kernel.
    setting : Setting
        That of the ndrange without the axis.
    """
    change = _Change(names, setting)
    for function in (kernel, *tree.helpers_of(kernel)):
        function.body = [change.node(statement) for statement in function.body]
        for name, parameter in function.parameters.items():
            if isinstance(parameter, Array):
                function.parameters[name] = change.array(parameter)


class _Change:
    """The change of a tree; nodes that several others contain are changed once."""

    def __init__(self, names: Collection[str], setting: Setting) -> None:
        self.names = names
        self.ndim = setting.ndim
        self.index_type = types.weak_int(setting.index_bits)
        self.changed: dict[int, Any] = {}
        self.alive: list[Any] = []  # so that ids are not used again

    def array(self, x: Array) -> Array:
        return dataclasses.replace(x, ndim=x.ndim + 1) if x.name in self.names else x

    @deep
    def node(self, x: Any) -> Any:
        if isinstance(x, list):
            return [self.node(item) for item in x]
        if not isinstance(x, tree.Node):
            return x
        if id(x) not in self.changed:
            self.alive.append(x)
            self.changed[id(x)] = x
            for name in type(x).__dataclass_fields__:
                setattr(x, name, self.node(getattr(x, name)))
            self.changed[id(x)] = self.replaced(x)
        return self.changed[id(x)]

    def replaced(self, x: Any) -> Any:
        """Return a node whose parts have been changed, changed as well."""
        array = getattr(x, "array", None)
        if array is not None and array.name in self.names:
            x.array = self.array(array)
            if isinstance(x, tree.Size):
                x.axis += 1
            else:
                x.index = [tree.Position(x.at, self.index_type, "index", 0), *x.index]
        elif isinstance(x, tree.Position) and x.axis is not None:
            x.axis += 1
        elif isinstance(x, tree.Position) and x.name == "index":
            return self.linear(x)
        return x

    def linear(self, x: tree.Position) -> tree.Expr:
        """Return the linear index along the axes without the first one."""
        parts = [
            [tree.Position(x.at, x.type, name, axis) for axis in range(1, self.ndim + 1)]
            for name in ("index", "global_size")
        ]
        out: tree.Expr = parts[0][0]
        for index, size in zip(parts[0][1:], parts[1][1:], strict=True):
            out = tree.Operation(x.at, x.type, "*", [out, size], x.scalar)
            out = tree.Operation(x.at, x.type, "+", [out, index], x.scalar)
        return out
