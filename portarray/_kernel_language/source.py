"""The text and the tree of a function, and what its names mean."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import textwrap
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import PurePath
from types import FunctionType
from typing import Any

from portarray.errors import KernelProblem, KernelSyntaxError

_PARSING = threading.RLock()


@dataclass(slots=True)
class Source:
    """A function's text."""

    function: FunctionType
    filename: str
    lines: list[str]
    first: int
    indent: int
    node: ast.FunctionDef
    walked: list[ast.AST] = field(default_factory=list)

    def nodes(self) -> list[ast.AST]:
        """Return the nodes of the function's tree."""
        if not self.walked:
            self.walked.extend(ast.walk(self.node))
        return self.walked

    def problem(self, at: ast.AST, message: str) -> KernelProblem:
        """Return a problem at a node."""
        line = getattr(at, "lineno", 1)
        text = self.lines[line - 1] if 0 < line <= len(self.lines) else ""
        column = getattr(at, "col_offset", 0) + self.indent
        end = getattr(at, "end_col_offset", None)
        same = getattr(at, "end_lineno", line) == line
        last = end + self.indent if end is not None and same else len(text.rstrip())
        return KernelProblem(message, self.filename, self.first + line - 1, column, last, text)

    def beside(self, at: ast.AST) -> str:
        """Return the line at a node, with its place, for comments."""
        line = self.line(at)
        text = self.lines[line - self.first].strip()
        return f"{_file_name(self.filename)}:{line}: {text}"

    def line(self, at: ast.AST) -> int:
        """Return the line of the user's file that a node begins at."""
        return self.first + int(getattr(at, "lineno", 1)) - 1


@cache
def _file_name(path: str) -> str:
    return PurePath(path).name


def read(function: Any, *, helper: bool = False) -> Source:
    """Return the text of a function; an error for what has none. A helper may be a lambda."""
    if not isinstance(function, FunctionType):
        raise TypeError(
            f"pa.kernel takes a function that is written with def, not {_named(function)}"
        )
    name = function.__qualname__
    if function.__name__ == "<lambda>":
        if not helper:
            raise TypeError("pa.kernel takes a function that is written with def, not a lambda")
        return _read_lambda(function)
    try:
        lines, first = inspect.getsourcelines(function)
    except (OSError, TypeError):
        raise TypeError(
            f"the text of {name} is not to be had, so that no kernel can be made of it; write it "
            f"in a file or a notebook's cell"
        ) from None
    text = "".join(lines)
    dedented = textwrap.dedent(text)
    indent = len(lines[0]) - len(lines[0].lstrip())
    tree = _parsed(dedented)
    node = tree.body[0]
    filename = inspect.getsourcefile(function) or function.__code__.co_filename
    if not isinstance(node, ast.FunctionDef):
        place = Source(function, filename, lines, first, indent, node)  # type: ignore[arg-type]
        what = "an async function" if isinstance(node, ast.AsyncFunctionDef) else "no def statement"
        raise KernelSyntaxError([place.problem(node, f"{name} is {what}; kernels are plain ones")])
    return Source(function, filename, lines, first, indent, node)


def _parsed(text: str) -> ast.Module:
    """Parse a program's text.

    One thread at a time: CPython 3.11 counts how deep it is for all threads together, and raises
    SystemError where two are in it (https://github.com/python/cpython/issues/106905).
    """
    with _PARSING:
        return ast.parse(text)


@lru_cache(maxsize=256)  # it reads the whole file
def _read_lambda(function: FunctionType) -> Source:
    """Return the text of a lambda as that of a function with one statement."""
    code = function.__code__
    missing = TypeError(
        "the text of a lambda is not to be had, so that kernels cannot call it; write it in a file "
        "or a notebook's cell"
    )
    try:
        lines, _ = inspect.findsource(code)
        module = _parsed("".join(lines))
    except (OSError, SyntaxError):
        raise missing from None
    names = list(code.co_varnames[: code.co_argcount])
    places = [(one[0], one[2]) for one in code.co_positions() if None not in one and one[3]]
    # Of several lambdas in a line, the innermost one that all instructions are in.
    found = [
        one
        for one in ast.walk(module)
        if isinstance(one, ast.Lambda)
        and one.lineno == code.co_firstlineno
        and [arg.arg for arg in one.args.args] == names
        and all(_start(one.body) <= place < _end(one.body) for place in places)
    ]
    if places and len(found) > 1:
        found = [max(found, key=lambda one: _start(one.body))]
    if not found:
        raise missing
    if len(found) > 1:
        raise TypeError(
            f"line {code.co_firstlineno} of {code.co_filename} has several lambdas that look like "
            f"the one that is given; write it with def"
        )
    (own,) = found
    node = _parsed("def unnamed():\n    return 0").body[0]
    assert isinstance(node, ast.FunctionDef)
    node.args, node.body = own.args, [ast.copy_location(ast.Return(own.body), own.body)]
    ast.copy_location(node, own)
    return Source(function, code.co_filename, lines, 1, 0, node)


def _start(node: ast.expr) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _end(node: ast.expr) -> tuple[int, int]:
    assert node.end_lineno is not None
    assert node.end_col_offset is not None
    return node.end_lineno, node.end_col_offset


def generated(text: str, name: str, names: dict[str, Any]) -> FunctionType:
    """Return a function of a text that is in no file, which tracebacks and errors show."""
    filename = f"<portarray: {'; '.join(text.split(chr(10)))}>"
    linecache.cache[filename] = (len(text), None, text.splitlines(keepends=True), filename)
    exec(compile(text, filename, "exec"), names)  # noqa: S102
    made: FunctionType = names[name]
    return made


def _named(value: Any) -> str:
    if isinstance(value, type):
        return f"the class {value.__name__}"
    return f"{type(value).__name__} {value!r}"


class Missing(Exception):  # noqa: N818  (it becomes a Problem)
    """A name that stands for nothing."""


def lookup(function: FunctionType) -> Callable[[str], Any]:
    """Return what tells the value of a global or closure variable of a function."""
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
