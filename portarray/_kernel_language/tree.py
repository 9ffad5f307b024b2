"""The typed tree of a kernel: what the front end makes and the printers read."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np

from portarray._kernel_language.functions import Row
from portarray._kernel_language.source import Source
from portarray._kernel_language.types import DOUBLES, Array, DType, Number, Scalar, Tuple


@dataclass(slots=True)
class Node:
    """A node; `at` is the user's syntax node."""

    at: ast.AST


@dataclass(slots=True)
class Expr(Node):
    type: Scalar | Tuple

    @property
    def scalar(self) -> Scalar:
        """The type of a number."""
        assert isinstance(self.type, Scalar)
        return self.type


@dataclass(slots=True)
class Literal(Expr):
    """A number known at compile time."""

    value: Number


@dataclass(slots=True)
class Variable(Expr):
    """A local variable, or a scalar parameter."""

    name: str


@dataclass(slots=True)
class Size(Expr):
    array: Array
    axis: int


@dataclass(slots=True)
class Position(Expr):
    """A work-item's position: one of ``intrinsics.PLACES`` along an axis, or linear (None)."""

    name: str
    axis: int | None


@dataclass(slots=True)
class Load(Expr):
    array: Array
    index: list[Expr]


@dataclass(slots=True)
class Operation(Expr):
    """An operator; its operands are converted to one type first."""

    sign: str  # of Python, such as "+" or "//"; "-x" and "~x" of one operand
    operands: list[Expr]
    work: Scalar


@dataclass(slots=True)
class Compare(Expr):
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
    """A function of the table; its arguments are converted to one type first."""

    row: Row
    arguments: list[Expr]
    work: Scalar


@dataclass(slots=True)
class Cast(Expr):
    value: Expr


@dataclass(slots=True)
class Bitcast(Expr):
    """The bits of a number, as another dtype of the same size."""

    value: Expr


@dataclass(slots=True)
class Items(Expr):
    items: list[Expr]


@dataclass(slots=True)
class Item(Expr):
    """An item of a tuple in a variable."""

    value: Expr
    position: int


@dataclass(slots=True)
class Shared(Expr):
    """A value that several expressions contain, and that is computed once.

    Printers see a variable instead: `evaluation_order` assigns it where it is first used. With
    `assigned` the variables in the value may change between its uses.
    """

    value: Expr
    assigned: bool = False


@dataclass(slots=True)
class Sequence(Expr):
    """A value after assignments to temporary variables."""

    names: list[str]
    values: list[Expr]
    value: Expr


@dataclass(slots=True)
class Atomic(Expr):
    """An atomic change of an element; its value is the old one."""

    operation: str
    array: Array
    index: list[Expr]
    values: list[Expr]


@dataclass(slots=True)
class HelperCall(Expr):
    helper: Function
    arguments: list[Expr]


@dataclass(slots=True)
class Assign(Node):
    """Assignments to variables; all values are computed first."""

    names: list[str]
    values: list[Expr]


@dataclass(slots=True)
class Store(Node):
    array: Array
    index: list[Expr]
    value: Expr


@dataclass(slots=True)
class Block(Node):
    body: list[Statement]


@dataclass(slots=True)
class If(Node):
    condition: Expr
    first: list[Statement]
    second: list[Statement]


@dataclass(slots=True)
class While(Node):
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
    word: str  # "break" or "continue"


@dataclass(slots=True)
class Return(Node):
    """The end of a kernel for a work-item, or a helper's value."""

    value: Expr | None


@dataclass(slots=True)
class Barrier(Node):
    """A barrier for the work-items of a group."""


@dataclass(slots=True)
class Memory(Node):
    array: Array


@dataclass(slots=True)
class Print(Node):
    """A line of output, in debug mode."""

    values: list[Expr | str]


@dataclass(slots=True)
class Evaluate(Node):
    value: Expr


Statement: TypeAlias = (
    Assign | Store | Block | If | While | For | Jump | Return | Barrier | Memory | Print | Evaluate
)


@dataclass(slots=True)
class Function:
    """A kernel or a helper, for arguments of some types."""

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
        name: parameter.type
        for name, parameter in function.parameters.items()
        if isinstance(parameter, Variable)
    }


def walk(x: object) -> Iterator[object]:  # numpydoc ignore=YD01
    """Yield a node and everything below it, shared values once."""
    stack = [x]
    shared: set[int] = set()
    while stack:
        node = stack.pop()
        if isinstance(node, Shared):
            if id(node) in shared:
                continue
            shared.add(id(node))
        yield node
        if isinstance(node, Node):
            stack += [part for part in reversed(parts(node)) if isinstance(part, Node)]


def flat(body: Iterable[Statement]) -> Iterator[Statement]:  # numpydoc ignore=YD01
    """Yield statements, those of blocks instead of the blocks."""
    for statement in body:
        if isinstance(statement, Block):
            yield from flat(statement.body)
        else:
            yield statement


def parts(x: Node) -> list[object]:
    """Return the values of a node's fields, lists as their items."""
    out: list[object] = []
    for name in type(x).__dataclass_fields__:
        child = getattr(x, name)
        if isinstance(child, list):
            out += child
        else:
            out.append(child)
    return out


def writes(x: object) -> bool:
    """Return whether an expression's own operation writes memory."""
    return isinstance(x, Atomic) or (isinstance(x, HelperCall) and bool(x.helper.written))


def has_effects(x: Expr) -> bool:
    """Return whether evaluating an expression writes memory."""
    return any(map(writes, walk(x)))


def arrays_of(function: Function) -> list[Array]:
    """Return the arrays that a function and its helpers use."""
    arrays: dict[str, Array] = {}
    for parameter in function.parameters.values():
        if isinstance(parameter, Array):
            arrays[parameter.name] = parameter
    for statement in function.body:
        for node in walk(statement):
            array = getattr(node, "array", None)
            if isinstance(array, Array):
                arrays[array.name] = array
            if isinstance(node, HelperCall):
                arrays |= {a.name: a for a in arrays_of(node.helper)}
    return list(arrays.values())


def helpers_of(function: Function) -> list[Function]:
    """Return a function's helpers, including nested ones, callees first."""
    helpers: dict[int, Function] = {}
    for helper in function.helpers:
        for inner in (*helpers_of(helper), helper):
            helpers.setdefault(id(inner), inner)
    return list(helpers.values())


def weak_dtype(kernel: Function, default: DType) -> DType:
    """Return the dtype of weak floats: the default one, or float64 where a kernel uses it.

    In float64 or complex128 arrays and values.
    """
    double = np.dtype(np.float64)
    for function in (kernel, *helpers_of(kernel)):
        if any(array.dtype in DOUBLES for array in arrays_of(function)):
            return double
        for statement in function.body:
            for node in walk(statement):
                # A weak number's dtype is None, which NumPy takes for equal to float64.
                type_ = node.type if isinstance(node, Expr) else None
                if isinstance(type_, Scalar) and not type_.weak and type_.dtype in DOUBLES:
                    return double
    return default


def memories(body: Iterable[Statement]) -> Iterator[Array]:
    """Yield the arrays that statements allocate."""
    for statement in body:
        if isinstance(statement, Memory):
            yield statement.array
        elif isinstance(statement, Block):
            yield from memories(statement.body)


def assigned_in(body: Iterable[Statement]) -> Iterator[str]:
    """Yield the variables that statements assign to."""
    for statement in body:
        for node in walk(statement):
            if isinstance(node, (Assign, Sequence)):
                yield from node.names
            elif isinstance(node, For):
                yield node.name


def changes(x: Expr, names: set[str]) -> bool:
    """Return whether a value may change when these variables do."""
    return any(
        isinstance(node, Atomic) or (isinstance(node, Variable) and node.name in names)
        for node in walk(x)
    )


def changing_in_helpers(kernel: Function) -> dict[int, set[str]]:
    """Return the variables that change from call to call, of helpers that are called in loops.

    By the helpers' identities. Arguments that stay the same in one of the loops are not among them.
    """
    changing_by_helper: dict[int, set[str]] = {}
    for caller in (kernel, *reversed(helpers_of(kernel))):  # callers first
        for statement in caller.body:
            for call, changing in _calls_in_loops(statement, changing_by_helper.get(id(caller))):
                names = zip(run_time_parameters(call.helper), call.arguments, strict=True)
                here = {name for name, x in names if changes(x, changing)}
                here |= set(assigned_in(call.helper.body))
                changing_by_helper[id(call.helper)] = (
                    changing_by_helper.get(id(call.helper), here) & here
                )
    return changing_by_helper


def _calls_in_loops(x: object, changing: set[str] | None) -> Iterator[tuple[HelperCall, set[str]]]:
    """Yield calls of helpers in loops, with the variables that the innermost loop changes."""
    stack = [(x, changing)]
    while stack:
        node, changing = stack.pop()
        if not isinstance(node, Node):
            continue
        if isinstance(node, (For, While)):
            changing = {*assigned_in(node.body), *([node.name] if isinstance(node, For) else [])}
        if isinstance(node, HelperCall) and changing is not None:
            yield node, changing
        stack += [(part, changing) for part in reversed(parts(node))]
