"""What the names around kernels mean: recorded when a program is made, checked at each call."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from types import CellType, FunctionType, ModuleType
from typing import Any

import numpy as np

from portarray import _codegen
from portarray._kernel_language import source

_FIXED = frozenset(("portarray", "numpy", "math", "cmath", "operator", "builtins"))
"""Packages whose modules and functions keep their names' meanings."""

_CHANGED = object()


@dataclass(frozen=True, slots=True)
class Capture:
    """The value of a name, or of an attribute of a module that it names."""

    function: FunctionType  # that uses it
    path: tuple[str, ...]
    value: Any

    def now(self) -> Any:
        """Return the value that the name has now."""
        try:
            value = source.lookup(self.function)(self.path[0])
            for name in self.path[1:]:
                value = getattr(value, name)
        except (source.Missing, AttributeError):
            return _CHANGED
        return value


class Captures:
    """The captured values of a program.

    ``check`` returns whether all of them are the same objects. It is generated, since looking
    names up one by one would take longer than a launch: see benchmarks/user_kernels.py.
    """

    def __init__(self, captures: Iterable[Capture]) -> None:
        self.captures = list(captures)
        self.check = _check_of(self.captures)

    def are_current(self) -> bool:
        """Return whether all values are the same, or equal numbers."""
        if self.check():
            return True
        now = [capture.now() for capture in self.captures]
        pairs = zip(self.captures, now, strict=True)
        if any(exact(capture.value) != exact(value) for capture, value in pairs):
            return False
        self.captures = [
            Capture(capture.function, capture.path, value)
            for capture, value in zip(self.captures, now, strict=True)
        ]
        self.check = _check_of(self.captures)
        return True

    def constants(self) -> dict[str, Any]:
        """Return the captured numbers and tuples by name."""
        return {
            ".".join(capture.path): capture.value
            for capture in self.captures
            if isinstance(capture.value, (bool, int, float, complex, np.generic, tuple))
        }


def is_fixed(owner: FunctionType | ModuleType) -> bool:
    """Return whether the names of a function or module are not checked."""
    name = owner.__name__ if isinstance(owner, ModuleType) else owner.__module__ or ""
    return name.partition(".")[0] in _FIXED


def exact(x: Any) -> Any:
    """Return a key that is equal only for equal values of the same types: 1 is not True."""
    if type(x) is tuple:
        return (tuple, *map(exact, x))
    if type(x) is float:
        return float, x.hex()
    if type(x) is complex:
        return complex, x.real.hex(), x.imag.hex()
    if isinstance(x, np.generic):
        return type(x), x.tobytes()
    return type(x), x


def _check_of(captures: list[Capture]) -> Callable[[], bool]:
    """Return a function that returns whether names have their captured values."""
    by_globals: dict[int, list[Capture]] = {}
    for capture in captures:
        by_globals.setdefault(id(capture.function.__globals__), []).append(capture)
    checks = list(map(_check_in_module, by_globals.values()))
    if not checks:
        return lambda: True
    return checks[0] if len(checks) == 1 else lambda: all(check() for check in checks)


def _check_in_module(captures: list[Capture]) -> Callable[[], bool]:
    """Return a check of functions with the same globals.

    It reads names as those functions do. Its own names are not identifiers, so that the user's
    cannot be among them.
    """
    cells: dict[str, CellType] = {}
    values: dict[str, Any] = {".errors": (NameError, AttributeError)}
    tests: list[ast.expr] = []
    for n, capture in enumerate(captures):
        first, *others = capture.path
        function = capture.function
        if first in function.__code__.co_freevars:
            position = function.__code__.co_freevars.index(first)
            first = f".cell{n}"
            cells[first] = (function.__closure__ or ())[position]
        read: ast.expr = ast.Name(first, ast.Load())
        for name in others:
            read = ast.Attribute(read, name, ast.Load())
        values[f".{n}"] = capture.value
        tests.append(ast.Compare(read, [ast.Is()], [ast.Name(f".{n}", ast.Load())]))
    test = tests[0] if len(tests) == 1 else ast.BoolOp(ast.And(), tests)
    handler = ast.ExceptHandler(
        ast.Name(".errors", ast.Load()), None, [ast.Return(ast.Constant(False))]
    )
    body: list[ast.stmt] = [ast.Try([ast.Return(test)], [handler], [], [])]
    return _codegen.define_in(captures[0].function.__globals__, values, cells, body)
