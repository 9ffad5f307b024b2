"""What a compiled function reads that is not an argument, and the checks that it has not changed.

The comparison is generated code, because most calls make it and find nothing new.
"""

from __future__ import annotations

import functools
import sys
import types
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from portarray import _codegen
from portarray._array import base
from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._devices.selection import current
from portarray._transforms.compiling.graph import Capture
from portarray._transforms.compiling.mentions import stores
from portarray._transforms.compiling.objects import is_library_module, is_special
from portarray._transforms.compiling.signatures import frozen
from portarray._transforms.tracer import Tracer
from portarray.errors import TracedArrayError

__all__ = ["MISSING", "State", "traced_state"]

Function = Callable[..., Any]


MISSING = (AttributeError, IndexError, KeyError, TypeError, ValueError)
"""Errors of reading what is no longer there."""


@dataclass
class State:
    """What a function reads that is not an argument, and how to read it again.

    ``checks`` are pairs of a line of Python and the path of what it reads; a line without a colon
    assigns a variable, another is a condition that something has changed.
    """

    name: str
    checks: list[tuple[str, str]] = field(default_factory=list)
    constants: dict[str, Any] = field(default_factory=dict)
    variables: list[str] = field(default_factory=list)  # of the arrays
    paths: list[str] = field(default_factory=list)  # of the arrays
    arrays: list[Array] = field(default_factory=list)  # only while the function is traced
    uncopied: list[Any] = field(default_factory=list)  # native constants; only while traced
    codes: list[types.CodeType] = field(default_factory=list)
    missing_modules: set[str] = field(default_factory=set)  # that the function imports
    objects: dict[int, tuple[Any, str]] = field(default_factory=dict)  # only while traced, by id
    compares_identity: bool = False

    def constant(self, value: Any) -> str:
        """Return a name for a value in generated code."""
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def names(self) -> dict[str, Any]:
        """Return what the lines of the checks refer to."""
        return {**_HELPERS, **self.constants}

    def check_default(self, device: Device | None) -> None:
        """Have each call compare the default device."""
        changed = f"if current() is not {self.constant(device)}:"
        self.checks.append((changed, "the default device"))

    def check_values(self, index: int) -> None:
        """Have each call compare the values of an array, which were read during tracing."""
        variable, x = self.variables[index], self.arrays[index]
        same = self.constant(functools.partial(_has_values, _values(x)))
        self.checks.append((f"if not {same}({variable}):", self.paths[index]))

    def reader(self, count: int) -> Function:
        """Return a function of the objects of a call.

        It returns a list of the arrays, or the path of something that has changed.
        """
        lines = []
        for text, path in self.checks:
            lines.append(f"{text} return {path!r}" if text.endswith(":") else text)
        body = "".join(f"    {line}\n" for line in lines)
        objects = ", ".join(f"o{n}" for n in range(count))
        source = f"def read({objects}):\n{body}    return [{', '.join(self.variables)}]\n"
        read = _codegen.define("read", source, self.names())
        paths = [path for _, path in self.checks]

        def reading(*objects: Any) -> Any:
            try:
                return read(*objects)
            except MISSING as error:
                trace = error.__traceback__
                line = 0 if trace is None or trace.tb_next is None else trace.tb_next.tb_lineno - 2
                return paths[line] if 0 <= line < len(paths) else self.name

        return reading

    def has_imported(self) -> bool:
        """Return whether the function has imported a module that is not followed yet."""
        modules = [sys.modules.get(name) for name in self.missing_modules]
        return any(isinstance(x, types.ModuleType) and not is_library_module(x) for x in modules)

    def check_identity(self, x: Any) -> bool:
        """Have each call compare an object that is returned; return whether the state has it."""
        if id(x) not in self.objects:
            return False
        _, variable = self.objects[id(x)]
        self.checks.append((f"if {variable} is not {self.constant(x)}:", type(x).__name__))
        return True

    def refuse_change(self, path: str) -> TracedArrayError:
        """Return the error for something that the function changed while it was traced."""
        last = path.rpartition(".")[2].partition("[")[0]
        lines = [(code.co_filename, line) for code in self.codes for line in stores(code, last)]
        where = f", at line {lines[0][1]} of {lines[0][0]}" if lines else ""
        return TracedArrayError(
            f"{self.name}: the function changes {path}{where}, which a compiled function would do "
            f"only once\nHint: return the new value and assign it outside the function"
        )


def _values(x: Array) -> Any:
    device = x.device
    return frozen(device._backend.read_host(x._native, device.native))


def _has_values(values: Any, x: Array) -> bool:
    return bool(_values(x) == values)


def _is(x: Any, snapshot: Any) -> bool:
    """Return whether an immutable value or a container of them has not changed."""
    return bool(frozen(x) == snapshot)


def is_unset(member: Any, x: Any) -> bool:
    try:
        member.__get__(x)
    except AttributeError:
        return True
    return False


def is_empty(cell: types.CellType) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return True
    return False


def host_values(x: Any) -> Any:
    return type(x), frozen(np.asarray(x))


def _has_new(entries: Any, names: frozenset[str], previous: frozenset[str]) -> bool:
    """Return whether a class has new entries of some names, or new special methods."""
    return not names.isdisjoint(entries) or any(
        is_special(name) and isinstance(entries[name], types.FunctionType)
        for name in entries.keys() - previous
    )


UNSET = object()


_HELPERS = {
    "Array": Array, "Tracer": Tracer, "same": _is, "is_unset": is_unset, "is_empty": is_empty,
    "host_values": host_values, "has_new": _has_new, "modules": sys.modules,
    "deque": deque, "current": current, "unset": UNSET,
}  # fmt: skip


@contextmanager
def traced_state(state: State, capture: Capture) -> Iterator[None]:
    """Have the arrays of a state be traced ones in a ``with`` block.

    The arrays themselves change, not copies: objects and functions refer to them.
    """
    originals = [(x, x._dispatch, x._native) for x in state.arrays]
    tracers = []
    base.scope_changes += 1
    try:
        for x, _, _ in originals:
            traced = capture.argument(x, is_state=True)
            tracers.append(traced._native)
            x._dispatch = traced._dispatch
            x._native = traced._native
        yield
        for (x, _, _), tracer, path in zip(originals, tracers, state.paths, strict=True):
            if tracer.is_stale or (x._native is not tracer and x._native.__class__ is Tracer):
                raise state.refuse_change(path)
    finally:
        for x, table, native in originals:
            if x._native.__class__ is Tracer:  # not assigned to by another thread
                x._native = native
            x._dispatch = table
        base.scope_changes += 1
