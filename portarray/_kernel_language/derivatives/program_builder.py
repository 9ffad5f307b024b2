"""The program that a kernel becomes, and the names in it."""

from __future__ import annotations

import ast
import dataclasses

from portarray._kernel_language import tree, types
from portarray._kernel_language.derivatives.simple_statements import (
    Assign,
    If,
    Location,
    Loop,
    Program,
    Statement,
    fresh,
    walk,
)
from portarray._kernel_language.source import Source
from portarray._kernel_language.types import Scalar, Tuple


class Scope:
    """The names of one inlined function, and how it is left."""

    def __init__(self, source: Source, done: str) -> None:
        self.source = source
        self.names: dict[str, tree.Expr] = {}  # variables of the function, as leaves
        self.tuples: dict[str, list[str]] = {}
        self.done = done  # the flag that is set by a return
        self.result: list[str] = []
        self.loops: list[tuple[str, str]] = []  # flags: whether to go on, and to skip what follows


class ProgramBuilder:
    """A program of simple statements, whose variables get new names.

    Parameters
    ----------
    kernel : tree.Function
        The kernel of which it is made.
    """

    def __init__(self, kernel: tree.Function) -> None:
        assert kernel.source is not None
        self.kernel = kernel
        self.program = program = Program([])
        program.names.update(kernel.parameters, ("kl", "math", "np", "range", "int", "float"))
        program.names.update(("abs", "min", "max", "round", "bool", kernel.name))
        program.names.update(array.name for array in tree.arrays_of(kernel))
        self.scope = Scope(kernel.source, self.variable("done", types.TRUTH))
        self.at: ast.AST = kernel.source.node
        self._assignment_counts = _count_assignments(kernel)
        for name, parameter in kernel.parameters.items():
            if isinstance(parameter, tree.Variable):
                type_ = kernel.variables.get(name, parameter.type)
                assert isinstance(type_, Scalar)
                self.program.variables[name] = type_
                self.scope.names[name] = tree.Variable(parameter.at, type_, name)
        self.declare(kernel)

    def location(self) -> Location:
        return Location(self.scope.source, self.at)

    def declare(self, function: tree.Function) -> None:
        """Give a function's variables names of the program."""
        for name, type_ in function.variables.items():
            if name in self.scope.names:
                continue
            word = f"t{name[1:]}" if name.startswith(".") else name
            if isinstance(type_, Tuple):
                names = [self.variable(f"{word}_{n}", item) for n, item in enumerate(type_.items)]
                self.scope.tuples[name] = names
            else:
                program_name = self.variable(word, type_)
                self.scope.names[name] = tree.Variable(self.at, type_, program_name)

    def variable(self, name: str, type_: Scalar) -> str:
        program_name = fresh(self.program.names, name)
        self.program.variables[program_name] = type_
        return program_name

    def temporary(self, type_: Scalar, *, result: bool = False) -> tree.Variable:
        name = self.variable("t", type_)
        self.program.temporaries.add(name)
        if result:
            self.program.results.add(name)
        return tree.Variable(self.at, type_, name)

    def result(self, type_: Scalar) -> tree.Variable:
        """Return a variable for a helper's value, which may be used more than once."""
        name = self.variable("value", type_)
        self.program.results.add(name)
        return tree.Variable(self.at, type_, name)

    def flag(self, name: str) -> tree.Variable:
        return tree.Variable(self.at, types.TRUTH, name)

    def assign(self, name: str, value: tree.Expr, out: list[Statement]) -> None:
        out.append(Assign(self.location(), name, value))

    def condition(self, test: tree.Expr, out: list[Statement]) -> tree.Expr:
        """Return a test as a variable that nothing else assigns to."""
        name = self.variable("c", types.TRUTH)
        self.assign(name, test, out)
        return self.flag(name)

    def as_operand(self, name: str) -> tree.Expr:
        """Return a variable of the program as one of the function that is read."""
        variable = tree.Variable(self.at, self.program.variables[name], name)
        self.scope.names[f".own {name}"] = variable
        return dataclasses.replace(variable, name=f".own {name}")

    def unchanging_names(self) -> set[str]:
        """Return the program's names of the kernel's variables that are assigned once."""
        return {
            variable.name
            for name, variable in self.scope.names.items()
            if isinstance(variable, tree.Variable) and self._assignment_counts.get(name, 2) <= 1
        }

    def split_results(self, body: list[Statement]) -> None:
        """Keep results of which the derivative is made in variables that are not overwritten."""
        counts: dict[str, int] = {}
        for x in walk(body):
            if isinstance(x, Assign):
                counts[x.name] = counts.get(x.name, x.name in self.kernel.parameters) + 1
        lists = [body]
        for x in walk(body):
            if isinstance(x, If):
                lists += [x.first, x.second]
            elif isinstance(x, Loop):
                lists.append(x.body)
        for statements in lists:
            for n in range(len(statements) - 1, -1, -1):
                x = statements[n]
                if (
                    isinstance(x, Assign)
                    and isinstance(x.value, (tree.Operation, tree.Call))
                    and x.value.scalar.kind == "f"
                    and counts[x.name] > 1
                    and x.name not in self.program.results
                ):
                    self.at = x.location.at
                    result = self.temporary(x.value.scalar)
                    statements.insert(n, Assign(x.location, result.name, x.value))
                    x.value = result


def _count_assignments(kernel: tree.Function) -> dict[str, int]:
    """Return how many statements assign to each variable of a kernel and its helpers."""
    counts: dict[str, int] = {}
    for function in (kernel, *tree.helpers_of(kernel)):
        for name in tree.run_time_parameters(function):
            counts.setdefault(name, 0)
        for name in tree.assigned_in(function.body):
            counts[name] = counts.get(name, 0) + 1 + (name in function.parameters)
    return counts
