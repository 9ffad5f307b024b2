"""Expressions as simple statements: one operation each, with helpers inlined."""

from __future__ import annotations

import dataclasses
from abc import ABC, abstractmethod

from portarray._kernel_language import tree, types
from portarray._kernel_language.deep import deep
from portarray._kernel_language.derivatives.program_builder import ProgramBuilder, Scope
from portarray._kernel_language.derivatives.simple_statements import (
    If,
    Statement,
    Unsupported,
    variables_in,
)
from portarray._kernel_language.types import Scalar, Tuple


class ExpressionSimplifier(ProgramBuilder, ABC):
    """A builder that appends the statements of expressions."""

    @abstractmethod
    def function(self, function: tree.Function) -> list[Statement]:
        """Return the body of a kernel or of an inlined helper."""

    def is_leaf(self, x: tree.Expr) -> bool:
        """Return whether an expression may be an operand."""
        if isinstance(x, tree.Load):
            return x.array.name not in self.kernel.written
        return isinstance(x, (tree.Literal, tree.Variable, tree.Size, tree.Position))

    def leaf(self, x: tree.Expr, out: list[Statement]) -> tree.Expr:
        """Return an expression as a leaf."""
        value = self.operation(x, out)
        if self.is_leaf(value):
            return value
        variable = self.temporary(value.scalar)
        self.assign(variable.name, value, out)
        return variable

    @deep
    def operation(self, x: tree.Expr, out: list[Statement]) -> tree.Expr:
        """Return an expression as a leaf, or one operation on leaves."""
        if isinstance(x.type, Scalar) and x.type.kind != "f":
            return self.plain(x, out)  # which refuses complex numbers
        if isinstance(x, tree.Load):
            return dataclasses.replace(x, index=[self.index(part, out) for part in x.index])
        if isinstance(x, tree.Operation):
            operands = [self.leaf(operand, out) for operand in x.operands]
            return dataclasses.replace(x, operands=operands)
        if isinstance(x, tree.Call):
            arguments = [self.leaf(argument, out) for argument in x.arguments]
            return dataclasses.replace(x, arguments=arguments)
        if isinstance(x, tree.Cast):
            return dataclasses.replace(x, value=self.leaf(x.value, out))
        if isinstance(x, tree.Select):
            return self.select(x, out)
        if isinstance(x, tree.Item):
            return self.operation(self.items(x.value, out)[x.position], out)
        if isinstance(x, tree.Sequence):
            self.sequence(x, out)
            return self.operation(x.value, out)
        return self.plain(x, out)

    def select(self, x: tree.Select, out: list[Statement]) -> tree.Expr:
        """Return the value of a choice, made by a branch."""
        condition = self.condition(self.plain(x.condition, out), out)
        result = self.temporary(x.scalar, result=True)
        first: list[Statement] = []
        second: list[Statement] = []
        for branch, value in ((first, x.first), (second, x.second)):
            converted = value
            if value.scalar != x.scalar and not value.scalar.weak:
                converted = tree.Cast(value.at, x.scalar, value)
            self.assign(result.name, self.operation(converted, branch), branch)
        out.append(If(self.location(), condition, first, second))
        return result

    def index(self, x: tree.Expr, out: list[Statement]) -> tree.Expr:
        """Return an index, which reads arrays once."""
        value = self.plain(x, out)
        simple = (tree.Literal, tree.Variable, tree.Size, tree.Position)
        if all(isinstance(node, (*simple, tree.Operation)) for node in tree.walk(value)):
            return value
        name = self.variable("at", value.scalar)
        self.assign(name, value, out)
        return tree.Variable(x.at, value.scalar, name)

    @deep
    def plain(self, x: tree.Expr, out: list[Statement]) -> tree.Expr:
        """Return an expression without a derivative in the program's names."""
        if isinstance(x.type, Scalar) and x.type.kind == "c":
            raise Unsupported(self.location(), "it computes with complex numbers")
        if isinstance(x, tree.Variable):
            return self.scope.names[x.name]
        if isinstance(x, tree.Load):
            return dataclasses.replace(x, index=[self.index(part, out) for part in x.index])
        if isinstance(x, tree.Sequence):
            self.sequence(x, out)
            return self.plain(x.value, out)
        if isinstance(x, tree.HelperCall):
            return self.inline(x, out)[0]
        if isinstance(x, tree.Atomic):
            self.check_atomic(x, is_used=True)
        if isinstance(x, tree.Item):
            return self.plain(self.items(x.value, out)[x.position], out)
        if isinstance(x, tree.Bitcast) and x.scalar.kind == "f":
            raise Unsupported(self.location(), "it calls kl.bitcast")
        if isinstance(x, tree.Select) and _has_statements(x.first, x.second):
            return self.select(x, out)
        if isinstance(x, tree.Logic) and _has_statements(*x.operands[1:]):
            return self.logic(x, out)
        changes = {}
        for name in type(x).__dataclass_fields__:
            child = getattr(x, name)
            if isinstance(child, tree.Expr):
                changes[name] = self.plain(child, out)
            elif isinstance(child, list):
                changes[name] = [self.plain(part, out) for part in child]  # type: ignore[assignment]
        return dataclasses.replace(x, **changes) if changes else x  # type: ignore[arg-type]

    def logic(self, x: tree.Logic, out: list[Statement]) -> tree.Expr:
        """Return the value of `and` or `or` whose later operands need statements."""
        result = self.temporary(types.TRUTH, result=True)
        self.assign(result.name, self.plain(x.operands[0], out), out)
        for operand in x.operands[1:]:
            test: tree.Expr = result
            if x.sign == "or":
                test = tree.Logic(x.at, types.TRUTH, "not", [result])
            condition = self.condition(test, out)
            body: list[Statement] = []
            self.assign(result.name, self.plain(operand, body), body)
            out.append(If(self.location(), condition, body, []))
        return result

    def sequence(self, x: tree.Sequence, out: list[Statement]) -> None:
        """Append the assignments before a value, one after another."""
        for name, value in zip(x.names, x.values, strict=True):
            self.append_assignments(tree.Assign(x.at, [name], [value]), out)

    def append_assignments(self, x: tree.Assign, out: list[Statement]) -> None:
        targets: list[str] = []
        values: list[tree.Expr] = []
        for name, value in zip(x.names, x.values, strict=True):
            if name in self.scope.tuples:
                targets += self.scope.tuples[name]
                values += self.items(value, out)
            else:
                variable = self.scope.names[name]
                assert isinstance(variable, tree.Variable)
                targets.append(variable.name)
                values.append(value)
        if len(targets) == 1:
            self.store_variable(targets[0], self.operation(values[0], out), out)
            return
        read = [self.leaf(value, out) for value in values]
        for n, value in enumerate(read):  # all values are computed first
            if isinstance(value, (tree.Variable, tree.Load)) and not set(targets).isdisjoint(
                variables_in(value)
            ):
                read[n] = self.temporary(value.scalar)
                self.assign(read[n].name, value, out)  # type: ignore[attr-defined]
        for target, value in zip(targets, read, strict=True):
            self.store_variable(target, value, out)

    def store_variable(self, name: str, value: tree.Expr, out: list[Statement]) -> None:
        """Assign to a variable; what reads it as well goes through a temporary."""
        if isinstance(value, tree.Variable) and value.name == name:
            return  # it stays the same, and so does its cotangent
        if name in variables_in(value):
            old = value
            value = self.temporary(old.scalar)
            self.assign(value.name, old, out)
        self.assign(name, value, out)

    def items(self, x: tree.Expr, out: list[Statement]) -> list[tree.Expr]:
        """Return the items of a tuple, as expressions of the function that is read."""
        if isinstance(x, tree.Items):
            return list(x.items)
        if isinstance(x, tree.Variable):
            return [self.as_operand(name) for name in self.scope.tuples[x.name]]
        if isinstance(x, tree.HelperCall):
            return [self.as_operand(value.name) for value in self.inline(x, out)]
        if isinstance(x, tree.Sequence):
            self.sequence(x, out)
            return self.items(x.value, out)
        raise Unsupported(self.location(), "it chooses between tuples")

    def inline(self, x: tree.HelperCall, out: list[Statement]) -> list[tree.Variable]:
        """Append the body of a helper; return the variables that hold its result."""
        helper, outer, at = x.helper, self.scope, self.at
        assert helper.source is not None
        scope = Scope(helper.source, self.variable("done", types.TRUTH))
        assigned = set(tree.assigned_in(helper.body))
        fixed = self.unchanging_names()
        for (name, type_), argument in zip(
            tree.run_time_parameters(helper).items(), x.arguments, strict=True
        ):
            if isinstance(type_, Tuple):
                values = self.items(argument, out)
                names = [self.variable(f"{name}_{n}", kind) for n, kind in enumerate(type_.items)]
                for program_name, item in zip(names, values, strict=True):
                    self.assign(program_name, self.operation(item, out), out)
                scope.tuples[name] = names
                continue
            value = self.operation(argument, out)
            is_fixed = isinstance(value, (tree.Literal, tree.Position, tree.Size)) or (
                isinstance(value, tree.Variable) and value.name in fixed
            )
            if is_fixed and name not in assigned and value.scalar == type_:
                scope.names[name] = value
                continue
            kind = helper.variables.get(name, type_)
            assert isinstance(kind, Scalar)
            program_name = self.variable(name, kind)
            self.assign(program_name, value, out)
            scope.names[name] = tree.Variable(at, kind, program_name)
        self.scope, self.at = scope, helper.source.node
        self.declare(helper)
        assert helper.result is not None
        kinds = helper.result.items if isinstance(helper.result, Tuple) else (helper.result,)
        results = [self.result(kind) for kind in kinds]
        scope.result = [result.name for result in results]
        out += self.function(helper)
        self.scope, self.at = outer, at
        return results

    def check_atomic(self, x: tree.Atomic, *, is_used: bool) -> None:
        if x.operation != "add":
            raise Unsupported(self.location(), f"it calls kl.atomic_{x.operation}")
        if is_used:
            raise Unsupported(self.location(), "it uses the value of kl.atomic_add")


def _has_statements(*operands: tree.Expr) -> bool:
    """Return whether reading expressions needs statements."""
    return any(
        isinstance(node, (tree.HelperCall, tree.Sequence, tree.Atomic))
        for operand in operands
        for node in tree.walk(operand)
    )
