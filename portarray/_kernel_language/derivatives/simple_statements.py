"""The statements that derivatives are made of, one operation each.

Operands are *leaves*: numbers, variables, sizes, places
of work-items, and elements of arrays that the kernel does not write.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeAlias

from portarray._kernel_language import tree
from portarray._kernel_language.source import Source
from portarray._kernel_language.types import Array, Scalar


@dataclass(frozen=True, slots=True)
class Location:
    """Where a statement is in the user's file."""

    source: Source
    at: ast.AST

    def __str__(self) -> str:
        return f"{self.source.filename}, line {self.source.line(self.at)}"


class Unsupported(Exception):  # noqa: N818  (it becomes a NoGradientError)
    """A statement or expression without a derivative."""

    def __init__(self, location: Location, message: str) -> None:
        super().__init__(message)
        self.location = location


@dataclass(slots=True, eq=False)
class Assign:
    """An assignment of a leaf, or of one operation on leaves, to a variable."""

    location: Location
    name: str
    value: tree.Expr


@dataclass(slots=True, eq=False)
class Store:
    location: Location
    array: Array
    index: list[tree.Expr]
    value: tree.Expr


@dataclass(slots=True, eq=False)
class Add:
    """An addition to an element, atomic or not."""

    location: Location
    array: Array
    index: list[tree.Expr]
    value: tree.Expr
    atomic: bool = True


@dataclass(slots=True, eq=False)
class If:
    """A branch; nothing else assigns to its condition, a variable."""

    location: Location
    condition: tree.Expr
    first: list[Statement]
    second: list[Statement]


@dataclass(slots=True, eq=False)
class Loop:
    """A loop over a range, or while a flag holds.

    ``flag`` is the variable that a range is left by, or that a loop without a range goes on by.
    """

    location: Location
    body: list[Statement]
    counter: str = ""
    bounds: tuple[tree.Expr, ...] = ()  # start, stop and step, which stay the same
    flag: str = ""


Statement: TypeAlias = Assign | Store | Add | If | Loop


@dataclass(slots=True)
class Program:
    """A kernel as simple statements.

    ``temporaries`` are assigned before each use in the same block, and used once.
    """

    body: list[Statement]
    variables: dict[str, Scalar] = field(default_factory=dict)
    temporaries: set[str] = field(default_factory=set)
    results: set[str] = field(default_factory=set)  # temporaries that two branches assign
    names: set[str] = field(default_factory=set)


def fresh(names: set[str], name: str) -> str:
    """Return a name that is not among the names, and add it to them."""
    candidate, count = name, 1
    while candidate in names:
        count += 1
        candidate = f"{name}_{count}"
    names.add(candidate)
    return candidate


def walk(body: Iterable[Statement]) -> Iterator[Statement]:  # numpydoc ignore=YD01
    """Yield all statements, also those in branches and loops."""
    for statement in body:
        yield statement
        if isinstance(statement, If):
            yield from walk(statement.first)
            yield from walk(statement.second)
        elif isinstance(statement, Loop):
            yield from walk(statement.body)


def expressions(x: Statement) -> Sequence[tree.Expr]:
    """Return the expressions of a statement, without those in its branches and body."""
    if isinstance(x, Assign):
        return (x.value,)
    if isinstance(x, If):
        return (x.condition,)
    if isinstance(x, Loop):
        return x.bounds
    return (*x.index, x.value)


def variables_in(x: tree.Expr) -> set[str]:
    """Return the names of the variables in an expression."""
    return {node.name for node in tree.walk(x) if isinstance(node, tree.Variable)}


def arrays_in(x: tree.Expr) -> set[str]:
    """Return the names of the arrays whose elements an expression reads."""
    return {node.array.name for node in tree.walk(x) if isinstance(node, tree.Load)}


def range_of(bounds: Sequence[tree.Expr]) -> range | None:
    """Return the range of a loop with literal bounds, else None."""
    values = [int(part.value) for part in bounds if isinstance(part, tree.Literal)]
    return range(*values) if len(values) == len(bounds) else None
