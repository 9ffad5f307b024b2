"""Compiles generated Python: the only module that calls ``eval``, ``exec`` or ``compile``.

Generated code saves a loop or an argument list at each call. Each use names the benchmark that
shows what it saves.
"""

from __future__ import annotations

import ast
import linecache
from collections.abc import Callable, Mapping
from types import CellType, CodeType, FunctionType
from typing import Any


def evaluate(expression: str, names: Mapping[str, Any] | None = None) -> Any:
    """Return the value of an expression, such as a lambda, that may use these names."""
    return eval(expression, dict(names or {}))  # noqa: S307


def define(
    name: str, source: str, names: dict[str, Any], filename: str | None = None
) -> FunctionType:
    """Return the function that the source defines; tracebacks and errors show its lines.

    The file name, of which there is one for each text, is by default made of the text.
    """
    filename = filename or f"<portarray: {'; '.join(source.split(chr(10)))}>"
    linecache.cache[filename] = (len(source), None, source.splitlines(keepends=True), filename)
    names.setdefault("__name__", __name__)  # filters of warnings go by it
    exec(compile(source, filename, "exec"), names)  # noqa: S102
    function: FunctionType = names[name]
    return function


def define_in(
    globals_: dict[str, Any],
    values: Mapping[str, Any],
    cells: Mapping[str, CellType],
    body: list[ast.stmt],
) -> Callable[[], Any]:
    """Return a function with other functions' globals and closure variables, and these values.

    Names of values and cells need not be identifiers, so that they differ from all globals.
    """
    parameters = [ast.arg(name) for name in values]
    inner = ast.FunctionDef(
        "check", ast.arguments([], parameters, None, [], [], None, []), body, [], None, None
    )
    targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in cells]
    assigned: list[ast.stmt] = [ast.Assign(targets, ast.Constant(None))] if targets else []
    outer = ast.FunctionDef(
        "outer", ast.arguments([], [], None, [], [], None, []), [*assigned, inner], [], None, None
    )
    if hasattr(outer, "type_params"):
        outer.type_params = inner.type_params = []  # type: ignore[attr-defined, unused-ignore]
    module = compile(ast.fix_missing_locations(ast.Module([outer], [])), "<portarray>", "exec")
    code = _code_in(_code_in(module))
    closure = tuple([cells[name] for name in code.co_freevars])
    return FunctionType(code, globals_, "check", tuple(values.values()), closure)


def _code_in(code: CodeType) -> CodeType:
    """Return the code of the function that is defined in some code."""
    return next(constant for constant in code.co_consts if isinstance(constant, CodeType))


def define_tree(definition: ast.FunctionDef, filename: str, names: dict[str, Any]) -> FunctionType:
    """Return the function of a syntax tree whose nodes have positions in a user's file."""
    module = ast.fix_missing_locations(ast.Module([definition], []))
    defined: dict[str, Any] = {}
    exec(compile(module, filename, "exec"), names, defined)  # noqa: S102
    function: FunctionType = defined[definition.name]
    return function
