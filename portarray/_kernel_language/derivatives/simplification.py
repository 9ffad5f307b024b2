"""Kernels as simple statements: one operation each, helpers inlined, jumps as branches."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from portarray._kernel_language import tree, types
from portarray._kernel_language.deep import deep
from portarray._kernel_language.derivatives.simple_statements import (
    Add,
    Assign,
    If,
    Loop,
    Program,
    Statement,
    Store,
    Unsupported,
    arrays_in,
    range_of,
    walk,
)
from portarray._kernel_language.derivatives.simplified_expressions import ExpressionSimplifier
from portarray._kernel_language.types import Tuple


def simplify(kernel: tree.Function) -> Program:
    """Return a kernel as simple statements.

    Raises
    ------
    Unsupported
        At a barrier, local memory, or an atomic function whose derivative is not defined.
    """
    simplifier = _StatementSimplifier(kernel)
    simplifier.program.body = simplifier.function(kernel)
    simplifier.split_results(simplifier.program.body)
    return simplifier.program


class _StatementSimplifier(ExpressionSimplifier):
    def function(self, function: tree.Function) -> list[Statement]:
        """Return the body of a kernel or of an inlined helper."""
        out, flags = self.block(function.body)
        if flags:
            start = tree.Literal(self.at, types.TRUTH, False)
            out.insert(0, Assign(self.location(), self.scope.done, start))
        return out

    @deep
    def block(self, body: Sequence[tree.Statement]) -> tuple[list[Statement], set[str]]:
        """Return simple statements, and the flags that they may set."""
        out: list[Statement] = []
        flags: set[str] = set()
        body = list(tree.flat(body))
        for n, statement in enumerate(body):
            self.at = statement.at
            remaining = body[n + 1 :]
            if isinstance(statement, tree.If) and remaining:
                # What follows a branch that leaves is in the other branch.
                if _ends_in_jump(statement.first):
                    second = [*statement.second, *remaining]
                    statement, remaining = dataclasses.replace(statement, second=second), []
                elif _ends_in_jump(statement.second):
                    first = [*statement.first, *remaining]
                    statement, remaining = dataclasses.replace(statement, first=first), []
            set_here = self.statement(statement, out)
            flags |= set_here
            if not remaining or isinstance(statement, (tree.Jump, tree.Return)):
                return out, flags
            if set_here:
                self.at = statement.at
                tests: list[tree.Expr] = [
                    tree.Logic(self.at, types.TRUTH, "not", [self.flag(name)])
                    for name in sorted(set_here)
                ]
                test = (
                    tests[0] if len(tests) == 1 else tree.Logic(self.at, types.TRUTH, "and", tests)
                )
                condition = self.condition(test, out)
                location = self.location()
                guarded, more = self.block(remaining)
                out.append(If(location, condition, guarded, []))
                return out, flags | more
        return out, flags

    def statement(self, x: tree.Statement, out: list[Statement]) -> set[str]:
        """Append a statement; return the flags that it may set."""
        if isinstance(x, tree.Assign):
            self.append_assignments(x, out)
        elif isinstance(x, tree.Store):
            index = [self.index(part, out) for part in x.index]
            if self.append_addition(x, index, out):
                return set()
            value = self.leaf(x.value, out)
            out.append(Store(self.location(), x.array, index, value))
        elif isinstance(x, tree.If):
            condition = self.condition(self.plain(x.condition, out), out)
            location = self.location()
            first, flags = self.block(x.first)
            second, more = self.block(x.second)
            out.append(If(location, condition, first, second))
            return flags | more
        elif isinstance(x, tree.For):
            return self.range_loop(x, out)
        elif isinstance(x, tree.While):
            return self.while_loop(x, out)
        elif isinstance(x, tree.Jump):
            return self.jump(x.word, out)
        elif isinstance(x, tree.Return):
            return self.append_return(x, out)
        elif isinstance(x, tree.Evaluate):
            self.append_effect(x.value, out)
        elif isinstance(x, tree.Barrier):
            raise Unsupported(self.location(), "it calls kl.barrier()")
        elif isinstance(x, tree.Memory):  # before anything that uses it
            raise Unsupported(self.location(), f"it uses kl.{x.array.space} memory")
        return set()

    def append_addition(self, x: tree.Store, index: list[tree.Expr], out: list[Statement]) -> bool:
        """Append the addition of a number to an element; return whether the statement is one.

        The cotangent of the element stays the same.
        """
        value, dtype = x.value, x.array.dtype
        if not (
            isinstance(value, tree.Operation)
            and value.sign == "+"
            and len(value.operands) == 2
            and dtype.kind not in "biu"
            and value.work.dtype == dtype
        ):
            return False
        first, second = value.operands
        if not isinstance(first, tree.Load) or first.array.name != x.array.name:
            return False
        if any(x.array.name in arrays_in(part) for part in (*first.index, *x.index)):
            return False
        element = [self.plain(part, []) for part in first.index]
        if not element or not all(map(_is_same_index, element, index)):
            return False
        addend = self.leaf(second, out)
        out.append(Add(self.location(), x.array, index, addend, atomic=False))
        return True

    def range_loop(self, x: tree.For, out: list[Statement]) -> set[str]:
        bounds = tuple([self.bound(bound, out) for bound in (x.start, x.stop, x.step)])
        if (counters := range_of(bounds)) is not None and not counters:
            return set()
        counter = self.scope.names[x.name]
        assert isinstance(counter, tree.Variable)
        location = self.location()
        body, go, flags = self.loop(x.body)
        if go:
            self.assign(go, tree.Literal(x.at, types.TRUTH, True), out)
        out.append(Loop(location, body, counter.name, bounds, go))
        return flags

    def while_loop(self, x: tree.While, out: list[Statement]) -> set[str]:
        location = self.location()
        # The test is the first statement of the loop, as a branch that a break is in.
        leave = [tree.Jump(x.at, "break")]
        body, go, flags = self.loop([tree.If(x.at, x.condition, [], [*leave]), *x.body])
        self.at = x.at
        if go:
            self.assign(go, tree.Literal(x.at, types.TRUTH, True), out)
        else:  # while True, which only a return leaves
            raise Unsupported(location, "its loop does not end")
        out.append(Loop(location, body, flag=go))
        return flags

    def loop(self, statements: Sequence[tree.Statement]) -> tuple[list[Statement], str, set[str]]:
        """Return the body of a loop, the flag by which it goes on, and flags set for the outside.

        The flag is empty if nothing leaves the loop.
        """
        go, skip = self.variable("go", types.TRUTH), self.variable("skip", types.TRUTH)
        at, location = self.at, self.location()
        self.program.results.update((go, skip))  # they are set before each use
        self.scope.loops.append((go, skip))
        body, flags = self.block(statements)
        self.scope.loops.pop()
        self.at = at
        if skip in flags:
            body.insert(0, Assign(location, skip, tree.Literal(at, types.TRUTH, False)))
        leaves = any(isinstance(x, Assign) and x.name == go for x in walk(body))
        return body, go if leaves else "", flags - {go, skip}

    def bound(self, x: tree.Expr, out: list[Statement]) -> tree.Expr:
        """Return a bound of a loop, which does not change in it."""
        value = self.plain(x, out)
        if isinstance(value, (tree.Literal, tree.Size, tree.Position)):
            return value
        name = self.variable("bound", value.scalar)
        self.assign(name, value, out)
        return tree.Variable(x.at, value.scalar, name)

    def jump(self, word: str, out: list[Statement]) -> set[str]:
        go, skip = self.scope.loops[-1]
        self.assign(skip, tree.Literal(self.at, types.TRUTH, True), out)
        if word == "break":
            self.assign(go, tree.Literal(self.at, types.TRUTH, False), out)
        return {skip}

    def append_return(self, x: tree.Return, out: list[Statement]) -> set[str]:
        if x.value is not None:
            values = self.items(x.value, out) if isinstance(x.value.type, Tuple) else [x.value]
            for name, value in zip(self.scope.result, values, strict=True):
                self.assign(name, self.operation(value, out), out)
        self.assign(self.scope.done, tree.Literal(self.at, types.TRUTH, True), out)
        for go, _ in self.scope.loops:
            self.assign(go, tree.Literal(self.at, types.TRUTH, False), out)
        return {self.scope.done}

    def append_effect(self, x: tree.Expr, out: list[Statement]) -> None:
        """Append an expression whose value is not used."""
        if isinstance(x, tree.Atomic):
            self.check_atomic(x, is_used=False)
            if x.array.dtype.kind not in "biu":
                index = [self.index(part, out) for part in x.index]
                value = self.leaf(x.values[0], out)
                out.append(Add(self.location(), x.array, index, value))
        elif isinstance(x, tree.HelperCall):
            self.inline(x, out)
        else:
            self.plain(x, out)


def _ends_in_jump(body: Sequence[tree.Statement]) -> bool:
    """Return whether statements always end in a jump."""
    flat = list(tree.flat(body))
    if not flat:
        return False
    last = flat[-1]
    if isinstance(last, tree.If):
        return _ends_in_jump(last.first) and _ends_in_jump(last.second)
    return isinstance(last, (tree.Jump, tree.Return))


def _is_same_index(x: tree.Expr, y: tree.Expr) -> bool:
    """Return whether two indices of variables and numbers are written in the same way."""
    if type(x) is not type(y) or x.type != y.type:
        return False
    if isinstance(x, tree.Operation) and isinstance(y, tree.Operation):
        return x.sign == y.sign and all(map(_is_same_index, x.operands, y.operands))
    if isinstance(x, tree.Variable) and isinstance(y, tree.Variable):
        return x.name == y.name
    if isinstance(x, tree.Literal) and isinstance(y, tree.Literal):
        return bool(x.value == y.value)
    if isinstance(x, tree.Position) and isinstance(y, tree.Position):
        return (x.name, x.axis) == (y.name, y.axis)
    return False
