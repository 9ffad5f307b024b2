"""The typed tree of a kernel: what the front end makes and the printers read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from portarray._kernel_language.functions import Row
from portarray._kernel_language.source import Source
from portarray._kernel_language.types import Array, Scalar, Tuple


@dataclass(slots=True)
class Node:
    """Anything in the tree; `at` is where it stands in the user's text."""

    at: ast.AST


@dataclass(slots=True)
class Expr(Node):
    """A value."""

    type: Scalar | Tuple


@dataclass(slots=True)
class Literal(Expr):
    """A number that is known when the kernel is compiled."""

    value: bool | int | float


@dataclass(slots=True)
class Variable(Expr):
    """A local variable, or a scalar parameter."""

    name: str


@dataclass(slots=True)
class Size(Expr):
    """The size of an array along an axis."""

    array: Array
    axis: int


@dataclass(slots=True)
class Place(Expr):
    """Where a work-item is: one of ``PLACES`` along an axis, or linear (None)."""

    what: str
    axis: int | None


@dataclass(slots=True)
class Load(Expr):
    """An element of an array."""

    array: Array
    index: list[Expr]


@dataclass(slots=True)
class Operation(Expr):
    """An operator on operands that are converted to one type first."""

    sign: str  # of Python, such as "+" or "//"; "-x" and "~x" of one operand
    operands: list[Expr]
    work: Scalar


@dataclass(slots=True)
class Compare(Expr):
    """A comparison, computed in a type."""

    sign: str
    first: Expr
    second: Expr
    work: Scalar


@dataclass(slots=True)
class Logic(Expr):
    """``and``, ``or`` of truth values; ``not`` of one."""

    sign: str
    operands: list[Expr]


@dataclass(slots=True)
class Select(Expr):
    """``first if condition else second``."""

    condition: Expr
    first: Expr
    second: Expr


@dataclass(slots=True)
class Call(Expr):
    """A function of the table, on arguments that are converted to one type first."""

    row: Row
    arguments: list[Expr]
    work: Scalar


@dataclass(slots=True)
class Cast(Expr):
    """A conversion."""

    value: Expr


@dataclass(slots=True)
class Bitcast(Expr):
    """The bits of a number as one of another dtype of the same size."""

    value: Expr


@dataclass(slots=True)
class Items(Expr):
    """A tuple."""

    items: list[Expr]


@dataclass(slots=True)
class Item(Expr):
    """An item of a tuple in a variable."""

    value: Expr
    place: int


@dataclass(slots=True)
class Atomic(Expr):
    """A change of an element that no other work-item gets between; its value is the old one."""

    operation: str
    array: Array
    index: list[Expr]
    values: list[Expr]


@dataclass(slots=True)
class HelperCall(Expr):
    """A call of a helper function."""

    helper: Function
    arguments: list[Expr]


@dataclass(slots=True)
class Assign(Node):
    """Values for variables, all computed before the first is assigned."""

    names: list[str]
    values: list[Expr]


@dataclass(slots=True)
class Store(Node):
    """An assignment to an element."""

    array: Array
    index: list[Expr]
    value: Expr


@dataclass(slots=True)
class Block(Node):
    """Statements one after another."""

    body: list[Statement]


@dataclass(slots=True)
class If(Node):
    """A branch."""

    condition: Expr
    first: list[Statement]
    second: list[Statement]


@dataclass(slots=True)
class While(Node):
    """A loop."""

    condition: Expr
    body: list[Statement]


@dataclass(slots=True)
class For(Node):
    """A loop over a range; the step is a literal or computed."""

    name: str
    start: Expr
    stop: Expr
    step: Expr
    body: list[Statement]
    unroll: bool = False
    keeps: bool = False  # whether the name has a value before, which stays if nothing is run


@dataclass(slots=True)
class Jump(Node):
    """``break`` or ``continue``."""

    word: str


@dataclass(slots=True)
class Return(Node):
    """The end of a kernel for a work-item, or a helper's value."""

    value: Expr | None


@dataclass(slots=True)
class Barrier(Node):
    """Where the work-items of a group wait for each other."""


@dataclass(slots=True)
class Memory(Node):
    """Memory of a group or of a work-item."""

    array: Array


@dataclass(slots=True)
class Print(Node):
    """A line of output, in debug mode."""

    values: list[Expr | str]


@dataclass(slots=True)
class Evaluate(Node):
    """An expression for its effect."""

    value: Expr


Statement: TypeAlias = (
    Assign | Store | Block | If | While | For | Jump | Return | Barrier | Memory | Print | Evaluate
)


@dataclass(slots=True)
class Function:
    """A kernel or a helper for arguments of some types."""

    name: str
    parameters: dict[str, Any]  # to their types
    body: list[Statement] = field(default_factory=list)
    variables: dict[str, Scalar | Tuple] = field(default_factory=dict)
    result: Scalar | Tuple | None = None
    source: Source | None = None
    helpers: list[Function] = field(default_factory=list)
    written: set[str] = field(default_factory=set)
    barriers: bool = False


def run_time_parameters(function: Function) -> dict[str, Scalar | Tuple]:
    """Return the parameters of a helper that are values at run time."""
    return {
        name: given.type
        for name, given in function.parameters.items()
        if isinstance(given, Variable)
    }


def walk(x: object) -> Iterator[object]:
    """Yield a node and everything below it.

    Parameters
    ----------
    x : Node or other
        A part of a tree.

    Yields
    ------
    object
        `x`, then its parts.
    """
    yield x
    if not isinstance(x, Node):
        return
    for name in type(x).__dataclass_fields__:
        one = getattr(x, name)
        for part in one if isinstance(one, list) else (one,):
            if isinstance(part, Node):
                yield from walk(part)


def arrays_of(function: Function) -> list[Array]:
    """Return the arrays that a function reads or writes, in its helpers too."""
    found: dict[str, Array] = {}
    for given in function.parameters.values():
        if isinstance(given, Array):
            found[given.name] = given
    for statement in function.body:
        for one in walk(statement):
            array = getattr(one, "array", None)
            if isinstance(array, Array):
                found[array.name] = array
            if isinstance(one, HelperCall):
                found |= {a.name: a for a in arrays_of(one.helper)}
    return list(found.values())


def helpers_of(function: Function) -> list[Function]:
    """Return a function's helpers and theirs, each once and those first that others call."""
    found: dict[int, Function] = {}
    for one in function.helpers:
        for each in (*helpers_of(one), one):
            found.setdefault(id(each), each)
    return list(found.values())


def memories(body: Iterable[Statement]) -> Iterator[Array]:
    """Yield the memory that statements ask for."""
    for one in body:
        if isinstance(one, Memory):
            yield one.array
        elif isinstance(one, Block):
            yield from memories(one.body)


def assigned_in(body: Iterable[Statement]) -> Iterator[str]:
    """Yield the variables that statements assign to."""
    for statement in body:
        for one in walk(statement):
            if isinstance(one, Assign):
                yield from one.names
            elif isinstance(one, For):
                yield one.name


def changes(x: Expr, names: set[str]) -> bool:
    """Tell whether a value may change where variables of these names do."""
    return any(
        isinstance(one, Atomic) or (isinstance(one, Variable) and one.name in names)
        for one in walk(x)
    )


def changing_in_helpers(kernel: Function) -> dict[int, set[str]]:
    """Return the variables that change from call to call, of helpers that are called in loops.

    By the helpers' identities. Arguments that stay the same in one of the loops are not among them.
    """
    found: dict[int, set[str]] = {}
    for caller in (kernel, *reversed(helpers_of(kernel))):  # callers first
        for one in caller.body:
            for call, changing in _calls_in_loops(one, found.get(id(caller))):
                names = zip(run_time_parameters(call.helper), call.arguments, strict=True)
                here = {name for name, x in names if changes(x, changing)}
                here |= set(assigned_in(call.helper.body))
                found[id(call.helper)] = found.get(id(call.helper), here) & here
    return found


def _calls_in_loops(x: object, changing: set[str] | None) -> Iterator[tuple[HelperCall, set[str]]]:
    """Yield calls of helpers in loops, with the variables that the innermost loop changes."""
    if not isinstance(x, Node):
        return
    if isinstance(x, (For, While)):
        changing = {*assigned_in(x.body), *([x.name] if isinstance(x, For) else [])}
    if isinstance(x, HelperCall) and changing is not None:
        yield x, changing
    for name in type(x).__dataclass_fields__:
        one = getattr(x, name)
        for part in one if isinstance(one, list) else (one,):
            yield from _calls_in_loops(part, changing)
