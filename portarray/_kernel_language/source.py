"""The text and the tree of a function, and what its names mean."""

from __future__ import annotations

import ast
import builtins
import inspect
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from types import FunctionType
from typing import Any

from portarray.errors import KernelProblem, KernelSyntaxError

_PARSING = threading.RLock()


@dataclass(slots=True)
class Source:
    """The source of a function."""

    function: FunctionType
    filename: str
    lines: list[str]
    first: int
    node: ast.FunctionDef
    walked: list[ast.AST] = field(default_factory=list)

    def nodes(self) -> list[ast.AST]:
        if not self.walked:
            self.walked.extend(ast.walk(self.node))
        return self.walked

    def problem(self, at: ast.AST, message: str) -> KernelProblem:
        line = getattr(at, "lineno", 1)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        column = getattr(at, "col_offset", 0)
        end = getattr(at, "end_col_offset", None)
        same = getattr(at, "end_lineno", line) == line
        last = end if end is not None and same else len(text.rstrip())
        return KernelProblem(message, self.filename, self.first + line - 1, column, last, text)

    def line(self, at: ast.AST) -> int:
        """Return a node's line number in the user's file."""
        return self.first + int(getattr(at, "lineno", 1)) - 1


def read(function: Any, *, helper: bool = False) -> Source:
    """Return the source of a function; helpers may be lambdas."""
    if not isinstance(function, FunctionType):
        raise TypeError(f"pa.kernel: expected a function written with def, not {_named(function)}")
    name = function.__qualname__
    if function.__name__ == "<lambda>":
        if not helper:
            raise TypeError("pa.kernel: expected a function written with def, not a lambda")
        return _read_lambda(function)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise TypeError(
            f"pa.kernel: the source of {name} is not available"
            f"\nHint: write the function in a file or a notebook's cell"
        ) from None
    text = "".join(lines)
    # In a block, as lines of strings and continuations may be less indented than the function.
    indented = lines[0][:1].isspace()
    node = _parsed(f"if True:\n{text}" if indented else text).body[0]
    if isinstance(node, ast.If):
        (node,) = node.body
        ast.increment_lineno(node, -1)
    filename = inspect.getsourcefile(function) or function.__code__.co_filename
    if not isinstance(node, ast.FunctionDef):
        source = Source(function, filename, lines, first, node)  # type: ignore[arg-type]
        kind = (
            "an async function" if isinstance(node, ast.AsyncFunctionDef) else "not a def statement"
        )
        raise KernelSyntaxError(
            [source.problem(node, f"{name} is {kind}; kernels are plain functions")]
        )
    return Source(function, filename, lines, first, node)


def _parsed(text: str) -> ast.Module:
    """Parse a program's text.

    One thread at a time: CPython 3.11 counts how deep it is for all threads together, and raises
    SystemError where two are in it (https://github.com/python/cpython/issues/106905).
    """
    with _PARSING:
        return ast.parse(text)


@lru_cache(maxsize=256)  # it reads the whole file
def _read_lambda(function: FunctionType) -> Source:
    """Return the source of a lambda, as a function with one statement."""
    code = function.__code__
    missing = TypeError(
        "the source of the lambda is not available\nHint: write it in a file or a notebook's cell"
    )
    try:
        lines, _ = inspect.findsource(code)
        module = _parsed("".join(lines))
    except (OSError, SyntaxError):
        raise missing from None
    names = list(code.co_varnames[: code.co_argcount])
    positions = [
        (candidate[0], candidate[2])
        for candidate in code.co_positions()
        if None not in candidate and candidate[3]
    ]
    # Of several lambdas in a line, the innermost one that all instructions are in.
    matches = [
        candidate
        for candidate in ast.walk(module)
        if isinstance(candidate, ast.Lambda)
        and candidate.lineno == code.co_firstlineno
        and [arg.arg for arg in candidate.args.args] == names
        and all(_start(candidate.body) <= position < _end(candidate.body) for position in positions)
    ]
    if positions and len(matches) > 1:
        matches = [max(matches, key=lambda candidate: _start(candidate.body))]
    if not matches:
        raise missing
    if len(matches) > 1:
        raise TypeError(
            f"line {code.co_firstlineno} of {code.co_filename} has several similar lambdas"
            f"\nHint: write the function with def"
        )
    (expression,) = matches
    node = _parsed("def unnamed():\n    return 0").body[0]
    assert isinstance(node, ast.FunctionDef)
    node.args, node.body = (
        expression.args,
        [ast.copy_location(ast.Return(expression.body), expression.body)],
    )
    ast.copy_location(node, expression)
    return Source(function, code.co_filename, lines, 1, node)


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def _named(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"{type(value).__name__} {value!r}"


class Missing(Exception):  # noqa: N818  (it becomes a Problem)
    """An undefined name."""


def lookup(function: FunctionType) -> Callable[[str], Any]:
    """Return a function that looks up a function's global and closure variables."""
    cells = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))

    def value_of(name: str) -> Any:
        if name in cells:
            try:
                return cells[name].cell_contents
            except ValueError:
                raise Missing(f"{name} has no value yet") from None
        if name in function.__globals__:
            return function.__globals__[name]
        try:
            return getattr(builtins, name)
        except AttributeError:
            raise Missing(f"name {name!r} is not defined") from None

    return value_of
