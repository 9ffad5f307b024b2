"""The names that the code of a Python function mentions."""

from __future__ import annotations

import ast
import dis
import os
import sysconfig
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

__all__ = ["Mentions", "is_library", "mentions", "stores"]

_GLOBALS = frozenset(
    ("DELETE_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL")
)
_ATTRIBUTES = frozenset(
    ("DELETE_ATTR", "LOAD_ATTR", "LOAD_METHOD", "LOAD_SUPER_ATTR", "STORE_ATTR")
)
_READERS = frozenset(
    (
        "attrgetter",
        "copy",
        "deepcopy",
        "dir",
        "getattr",
        "hasattr",
        "methodcaller",
        "pickle",
        "vars",
    )
)
"""Functions that read attributes whose names are not in the code."""

_EVALUATORS = frozenset(("eval", "exec", "globals"))
"""Functions that read variables whose names are in strings."""

_CHANGING = frozenset(
    {
        *("add", "append", "appendleft", "clear", "discard", "extend", "insert", "move_to_end"),
        *("pop", "popitem", "remove", "reverse", "setdefault", "sort", "update"),
    }
)
"""Methods that change a container."""


@dataclass(frozen=True, slots=True)
class Mentions:
    """Names in the code of a function, including the functions defined in it."""

    variables: frozenset[str]  # global ones
    attributes: frozenset[str]  # also strings, which getattr may take
    modules: frozenset[str]  # imported in the function
    is_dynamic: bool  # whether it may read attributes of any name
    stored: frozenset[str]  # attributes that it assigns to
    compares_identity: bool  # whether it compares objects by ``is``, other than constants


@lru_cache(maxsize=4096)
def mentions(code: CodeType) -> Mentions:
    """Return the names that a function's code mentions."""
    variables, attributes, modules, stored = set(), set(), set(), set()
    compares, previous = False, ""
    for part in _parts(code):
        for instruction in dis.get_instructions(part):
            compares = compares or (instruction.opname == "IS_OP" and previous != "LOAD_CONST")
            previous = instruction.opname
            if instruction.opname in _GLOBALS:
                variables.add(instruction.argval)
            elif instruction.opname in _ATTRIBUTES:
                attributes.add(instruction.argval)
                if instruction.opname == "STORE_ATTR":
                    stored.add(instruction.argval)
            elif instruction.opname == "IMPORT_NAME":
                modules.add(instruction.argval)
        strings = list(_strings(part.co_consts))
        attributes.update(filter(str.isidentifier, strings))
        if not _EVALUATORS.isdisjoint(variables):
            for tree in map(_parsed, strings):
                variables |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
                attributes |= {
                    node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)
                }
    dynamic = not _READERS.isdisjoint(variables) or "__dict__" in attributes
    return Mentions(
        frozenset(variables), frozenset(attributes), frozenset(modules), dynamic,
        frozenset(stored), compares,
    )  # fmt: skip


def _parts(code: CodeType) -> Iterator[CodeType]:
    yield code
    for x in code.co_consts:
        if isinstance(x, CodeType):
            yield from _parts(x)


def _strings(constants: Any) -> Iterator[str]:
    for x in constants:
        if type(x) is str:
            yield x
        elif type(x) is tuple:  # of patterns in match statements
            yield from _strings(x)


def _parsed(text: str) -> ast.AST:
    try:
        return ast.parse(text)
    except (SyntaxError, ValueError):
        return ast.Pass()


def stores(code: CodeType, name: str) -> Iterator[int]:
    """Yield the lines that assign to a name or attribute, or change the container it names."""
    for part in _parts(code):
        line, mentioned = part.co_firstlineno, False
        for instruction in dis.get_instructions(part):
            position = instruction.positions
            if position is not None and position.lineno not in (None, line):
                line, mentioned = position.lineno or line, False
            kind, argument = instruction.opname, instruction.argval
            if argument == name and kind.startswith(("STORE_", "DELETE_")):
                yield line
            mentioned = mentioned or argument == name
            changes = kind in _ATTRIBUTES and argument in _CHANGING
            if mentioned and (changes or kind in ("STORE_SUBSCR", "DELETE_SUBSCR")):
                yield line


@lru_cache(maxsize=4096)
def is_library(filename: str | None) -> bool:
    """Return whether a file belongs to Python, to portarray or to an installed package."""
    if filename is None or filename.startswith(("<frozen", "<portarray")):
        return True
    return os.path.abspath(filename).startswith(_LIBRARIES)


_LIBRARIES = tuple(
    os.path.join(path, "")
    for path in {
        *(sysconfig.get_paths()[key] for key in ("stdlib", "platstdlib", "purelib", "platlib")),
        os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))),
    }
)
