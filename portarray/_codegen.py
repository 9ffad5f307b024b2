"""Compiles generated Python: the only module that calls ``eval``, ``exec`` or ``compile``.

Generated code saves a loop or an argument list at each call. Each use names the benchmark that
shows what it saves.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Mapping
from types import FunctionType
from typing import Any


def evaluate(expression: str, names: Mapping[str, Any] | None = None) -> Any:
    """Return the value of an expression, such as a lambda, that may use these names."""
    return eval(expression, dict(names or {}))  # noqa: S307


def define(name: str, source: str, names: dict[str, Any]) -> FunctionType:
    """Return the function that the source defines; tracebacks and errors show its lines."""
    filename = f"<portarray: {'; '.join(source.split(chr(10)))}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    exec(compile(source, filename, "exec"), names)  # noqa: S102
    function: FunctionType = names[name]
    return function


def define_tree(definition: ast.FunctionDef, filename: str, names: dict[str, Any]) -> FunctionType:
    """Return the function of a syntax tree whose nodes have positions in a user's file."""
    module = ast.fix_missing_locations(ast.Module([definition], []))
    defined: dict[str, Any] = {}
    exec(compile(module, filename, "exec"), names, defined)  # noqa: S102
    function: FunctionType = defined[definition.name]
    return function
