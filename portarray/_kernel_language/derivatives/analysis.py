"""Analyzes a kernel for its adjoint: what has cotangents, and what values depend on."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from portarray._kernel_language import tree
from portarray._kernel_language.derivatives.simple_statements import (
    Add,
    Assign,
    If,
    Loop,
    Program,
    Statement,
    Store,
    arrays_in,
    expressions,
    fresh,
    variables_in,
    walk,
)


@dataclass(frozen=True, slots=True)
class Needed:
    """Variables, and written arrays, whose values the reverse needs."""

    variables: set[str]
    arrays: set[str]


def closure(body: Sequence[Statement], variables: set[str], arrays: set[str]) -> Needed:
    """Return what the values of variables and arrays depend on, and these."""
    needed = Needed(set(variables), set(arrays))

    def add(parts: Iterable[tree.Expr]) -> None:
        for part in parts:
            needed.variables.update(variables_in(part))
            needed.arrays.update(arrays_in(part))

    def visit(statements: Sequence[Statement]) -> bool:
        """Return whether statements are needed."""
        is_needed = False
        for x in statements:
            if isinstance(x, Assign):
                counts = x.name in needed.variables
            elif isinstance(x, (Store, Add)):
                counts = x.array.name in needed.arrays
            elif isinstance(x, If):
                counts = visit(x.first) | visit(x.second)
            else:
                counts = visit(x.body) or x.counter in needed.variables
                if counts and x.flag:
                    needed.variables.add(x.flag)
            if counts:
                add(expressions(x))
                is_needed = True
        return is_needed

    size = -1
    while size != len(needed.variables) + len(needed.arrays):
        size = len(needed.variables) + len(needed.arrays)
        visit(body)
    return needed


def assigned_in(x: Loop) -> set[str]:
    """Return the variables that a loop assigns to."""
    names = {s.name for s in walk(x.body) if isinstance(s, Assign)}
    return names | {s.counter for s in walk([x]) if isinstance(s, Loop) and s.counter}


class Analysis:
    """The parts of a kernel that have cotangents, and how it uses variables and arrays.

    Parameters
    ----------
    kernel : tree.Function
        The typed tree.
    program : Program
        The kernel as simple statements.
    ndim : int
        Axes of the ndrange.
    differentiated : frozenset of str
        The arrays whose cotangents are needed, as they are before the call.
    """

    def __init__(
        self, kernel: tree.Function, program: Program, ndim: int, differentiated: frozenset[str]
    ) -> None:
        self.kernel = kernel
        self.program = program
        self.ndim = ndim
        self.differentiated = differentiated
        self.names = set(program.names)
        self.statements = list(walk(program.body))
        self.points = self.assignment_counts()
        self.firsts: set[int] = set()  # statements before which a variable has no value
        self.note_firsts(program.body, set(kernel.parameters))
        floats = {x.name for x in tree.arrays_of(kernel) if x.dtype.kind not in "biu"}
        self.cotangent_arrays = {
            name: fresh(self.names, f"d_{name}")
            for name in kernel.parameters
            if name in floats and (name in differentiated or name in kernel.written)
        }
        self.active: set[str] = set()
        self.note_active()
        self.cotangents = {
            name: fresh(self.names, f"d_{name}")
            for name in program.variables
            if name in self.active and program.variables[name].kind == "f"
        }
        self.exclusive = {name: self.has_own_elements(name) for name in self.cotangent_arrays}
        self.consumed = self.consumed_arrays()

    def assignment_counts(self) -> dict[str, int]:
        counts = {
            name: 1
            for name, parameter in self.kernel.parameters.items()
            if isinstance(parameter, tree.Variable)
        }
        for x in self.statements:
            name = x.name if isinstance(x, Assign) else getattr(x, "counter", "")
            if name:
                counts[name] = counts.get(name, 0) + 1
        return counts

    def note_firsts(self, body: Sequence[Statement], assigned: set[str]) -> None:
        """Note the first assignments to variables; `assigned` have values."""
        for x in body:
            if isinstance(x, Assign):
                if x.name not in assigned:
                    self.firsts.add(id(x))
                    assigned.add(x.name)
            elif isinstance(x, If):
                second = set(assigned)
                self.note_firsts(x.first, assigned)
                self.note_firsts(x.second, second)
                assigned |= second
            elif isinstance(x, Loop):
                assigned |= assigned_in(x)
                self.note_firsts(x.body, assigned)

    def is_overwritten(self, name: str) -> bool:
        """Return whether a variable may have another value when the reverse reads it."""
        return (
            self.points.get(name, 0) > 1
            and name not in self.program.temporaries
            and name not in self.program.results
        )

    def overwrites(self, x: Assign) -> bool:
        """Return whether an assignment replaces a value that the reverse may read."""
        return self.is_overwritten(x.name) and id(x) not in self.firsts

    def note_active(self) -> None:
        """Note the variables that depend on arrays with cotangents."""
        size = -1
        while size != len(self.active):
            size = len(self.active)
            for x in self.statements:
                if (
                    isinstance(x, Assign)
                    and self.program.variables[x.name].kind == "f"
                    and any(map(self.is_active, operands_of(x.value)))
                ):
                    self.active.add(x.name)

    def is_active(self, x: tree.Expr) -> bool:
        if isinstance(x, tree.Variable):
            return x.name in self.active
        return isinstance(x, tree.Load) and x.array.name in self.cotangent_arrays

    def has_own_elements(self, name: str) -> bool:
        """Return whether each work-item uses elements of an array that no other one does."""
        definitions = {
            x.name: x.value
            for x in self.statements
            if isinstance(x, Assign) and self.points[x.name] == 1
        }

        def axis_of_index(x: tree.Expr) -> int | None:
            """Return the axis of the ndrange that an index is the position along."""
            while isinstance(x, tree.Variable) and x.name in definitions:
                x = definitions[x.name]
            if isinstance(x, tree.Position) and x.name == "index":
                return -1 if x.axis is None else x.axis
            return None

        slots: set[tuple[tuple[int, int], ...]] = set()
        for index in self.indices_of(name):
            axes = [axis_of_index(part) for part in index]
            if -1 in axes:
                slots.add(((-1, axes.index(-1)),))
            elif all(axis in axes for axis in range(self.ndim)):
                slots.add(tuple([(axis, axes.index(axis)) for axis in range(self.ndim)]))
            else:
                return False
        return len(slots) <= 1

    def indices_of(self, name: str) -> Iterable[list[tree.Expr]]:
        for x in self.statements:
            if isinstance(x, (Store, Add)) and x.array.name == name:
                yield x.index
            for part in expressions(x):
                for node in tree.walk(part):
                    if isinstance(node, tree.Load) and node.array.name == name:
                        yield node.index

    def consumed_arrays(self) -> set[str]:
        """Return the written arrays whose cotangents are set to 0 where an element is overwritten.

        Others are written at most once at each place, and their previous cotangents not needed.
        """
        in_loops = {
            id(x) for loop in self.statements if isinstance(loop, Loop) for x in walk([loop])
        }
        consumed = set()
        for name in self.kernel.written & set(self.cotangent_arrays):
            stores = [x for x in self.statements if isinstance(x, Store) and x.array.name == name]
            added = any(isinstance(x, Add) and x.array.name == name for x in self.statements)
            once = len(stores) <= 1 and not any(id(x) in in_loops for x in stores)
            if name in self.differentiated or not once or (added and stores):
                consumed.add(name)
        return consumed


def operands_of(x: tree.Expr) -> list[tree.Expr]:
    """Return the leaves of one operation; a leaf's is itself."""
    if isinstance(x, tree.Operation):
        return x.operands
    if isinstance(x, tree.Call):
        return x.arguments
    return [x.value] if isinstance(x, tree.Cast) else [x]
