"""Kernels as simple statements: one operation each, helpers inlined, jumps as branches."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Sequence

from portarray._kernel_language import tree, types
from portarray._kernel_language.deep import deep
from portarray._kernel_language.derivatives.simple_statements import (
    Add,
    Assign,
    If,
    Location,
    Loop,
    Program,
    Statement,
    Store,
    Unsupported,
    arrays_in,
    fresh,
    range_of,
    variables_in,
    walk,
)
from portarray._kernel_language.source import Source
from portarray._kernel_language.types import Scalar, Tuple


def simplify(kernel: tree.Function) -> Program:
    """Return a kernel as simple statements.

    Raises
    ------
    Unsupported
        At a barrier, local memory, or an atomic function whose derivative is not defined.
    """
    return _Simplifier(kernel).program


def is_leaf(x: tree.Expr, written: set[str]) -> bool:
    """Return whether an expression may be an operand."""
    if isinstance(x, tree.Load):
        return x.array.name not in written
    return isinstance(x, (tree.Literal, tree.Variable, tree.Size, tree.Position))


class _Scope:
    """The names of one inlined function, and how it is left."""

    def __init__(self, source: Source, done: str) -> None:
        self.source = source
        self.names: dict[str, tree.Expr] = {}  # variables of the function, as leaves
        self.tuples: dict[str, list[str]] = {}
        self.done = done  # the flag that is set by a return
        self.result: list[str] = []
        self.loops: list[tuple[str, str]] = []  # flags: whether to go on, and to skip what follows


class _Simplifier:
    def __init__(self, kernel: tree.Function) -> None:
        assert kernel.source is not None
        self.kernel = kernel
        self.written = kernel.written
        self.program = program = Program([])
        program.names.update(kernel.parameters, ("kl", "math", "np", "range", "int", "float"))
        program.names.update(("abs", "min", "max", "round", "bool", kernel.name))
        program.names.update(array.name for array in tree.arrays_of(kernel))
        self.scope = _Scope(kernel.source, self.variable("done", types.TRUTH))
        self.at: ast.AST = kernel.source.node
        self.stable_counts = _assignments(kernel)
        for name, parameter in kernel.parameters.items():
            if isinstance(parameter, tree.Variable):
                type_ = kernel.variables.get(name, parameter.type)
                assert isinstance(type_, Scalar)
                self.program.variables[name] = type_
                self.scope.names[name] = tree.Variable(parameter.at, type_, name)
        self.declare(kernel)
        program.body = self.function(kernel)
        self.split_results(program.body)

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

    # --- names ------------------------------------------------------------------------------

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

    def assign(self, name: str, value: tree.Expr, out: list[Statement]) -> None:
        out.append(Assign(self.location(), name, value))

    # --- statements -------------------------------------------------------------------------

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
                if _leaves(statement.first):
                    second = [*statement.second, *remaining]
                    statement, remaining = dataclasses.replace(statement, second=second), []
                elif _leaves(statement.second):
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

    def flag(self, name: str) -> tree.Variable:
        return tree.Variable(self.at, types.TRUTH, name)

    def condition(self, test: tree.Expr, out: list[Statement]) -> tree.Expr:
        """Return a test as a variable that nothing else assigns to."""
        name = self.variable("c", types.TRUTH)
        self.assign(name, test, out)
        return self.flag(name)

    def statement(self, x: tree.Statement, out: list[Statement]) -> set[str]:
        """Append a statement; return the flags that it may set."""
        if isinstance(x, tree.Assign):
            self.assignments(x, out)
        elif isinstance(x, tree.Store):
            index = [self.index(part, out) for part in x.index]
            if self.added(x, index, out):
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
            return self.returned(x, out)
        elif isinstance(x, tree.Evaluate):
            self.evaluated(x.value, out)
        elif isinstance(x, tree.Barrier):
            raise Unsupported(self.location(), "it calls kl.barrier()")
        elif isinstance(x, tree.Memory):  # before anything that uses it
            raise Unsupported(self.location(), f"it uses kl.{x.array.space} memory")
        return set()

    def added(self, x: tree.Store, index: list[tree.Expr], out: list[Statement]) -> bool:
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
        if not element or not all(map(_same, element, index)):
            return False
        addend = self.leaf(second, out)
        out.append(Add(self.location(), x.array, index, addend, atomic=False))
        return True

    def assignments(self, x: tree.Assign, out: list[Statement]) -> None:
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
        if name in variables_in(value) and not isinstance(value, tree.Variable):
            old = value
            value = self.temporary(old.scalar)
            self.assign(value.name, old, out)
        self.assign(name, value, out)

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

    def returned(self, x: tree.Return, out: list[Statement]) -> set[str]:
        if x.value is not None:
            values = self.items(x.value, out) if isinstance(x.value.type, Tuple) else [x.value]
            for name, value in zip(self.scope.result, values, strict=True):
                self.assign(name, self.operation(value, out), out)
        self.assign(self.scope.done, tree.Literal(self.at, types.TRUTH, True), out)
        for go, _ in self.scope.loops:
            self.assign(go, tree.Literal(self.at, types.TRUTH, False), out)
        return {self.scope.done}

    def evaluated(self, x: tree.Expr, out: list[Statement]) -> None:
        """Append an expression whose value is not used."""
        if isinstance(x, tree.Atomic):
            self.check_atomic(x, is_used=False)
            if x.array.dtype.kind not in "biu":
                index = [self.index(part, out) for part in x.index]
                value = self.leaf(x.values[0], out)
                out.append(Add(self.location(), x.array, index, value))
        elif isinstance(x, tree.HelperCall):
            self.inlined(x, out)
        else:
            self.plain(x, out)

    def check_atomic(self, x: tree.Atomic, *, is_used: bool) -> None:
        if x.operation != "add":
            raise Unsupported(self.location(), f"it calls kl.atomic_{x.operation}")
        if is_used:
            raise Unsupported(self.location(), "it uses the value of kl.atomic_add")

    # --- expressions ------------------------------------------------------------------------

    def leaf(self, x: tree.Expr, out: list[Statement]) -> tree.Expr:
        """Return an expression as a leaf."""
        value = self.operation(x, out)
        if is_leaf(value, self.written):
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
            return self.chosen(x, out)
        if isinstance(x, tree.Item):
            return self.operation(self.items(x.value, out)[x.position], out)
        if isinstance(x, tree.Sequence):
            self.sequence(x, out)
            return self.operation(x.value, out)
        return self.plain(x, out)

    def chosen(self, x: tree.Select, out: list[Statement]) -> tree.Expr:
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
            return self.inlined(x, out)[0]
        if isinstance(x, tree.Atomic):
            self.check_atomic(x, is_used=True)
        if isinstance(x, tree.Item):
            return self.plain(self.items(x.value, out)[x.position], out)
        if isinstance(x, tree.Bitcast) and x.scalar.kind == "f":
            raise Unsupported(self.location(), "it calls kl.bitcast")
        if isinstance(x, tree.Select) and _has_statements(x.first, x.second):
            return self.chosen(x, out)
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
            self.assignments(tree.Assign(x.at, [name], [value]), out)

    def items(self, x: tree.Expr, out: list[Statement]) -> list[tree.Expr]:
        """Return the items of a tuple, as expressions of the function that is read."""
        if isinstance(x, tree.Items):
            return list(x.items)
        if isinstance(x, tree.Variable):
            return [self.as_operand(name) for name in self.scope.tuples[x.name]]
        if isinstance(x, tree.HelperCall):
            return [self.as_operand(value.name) for value in self.inlined(x, out)]
        if isinstance(x, tree.Sequence):
            self.sequence(x, out)
            return self.items(x.value, out)
        raise Unsupported(self.location(), "it chooses between tuples")

    def as_operand(self, name: str) -> tree.Expr:
        """Return a variable of the program as one of the function that is read."""
        variable = tree.Variable(self.at, self.program.variables[name], name)
        self.scope.names[f".own {name}"] = variable
        return dataclasses.replace(variable, name=f".own {name}")

    def inlined(self, x: tree.HelperCall, out: list[Statement]) -> list[tree.Variable]:
        """Append the body of a helper; return the variables that hold its result."""
        helper, outer, at = x.helper, self.scope, self.at
        assert helper.source is not None
        scope = _Scope(helper.source, self.variable("done", types.TRUTH))
        assigned = set(tree.assigned_in(helper.body))
        fixed = self.fixed()
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

    def result(self, type_: Scalar) -> tree.Variable:
        """Return a variable for a helper's value, which may be used more than once."""
        name = self.variable("value", type_)
        self.program.results.add(name)
        return tree.Variable(self.at, type_, name)

    def fixed(self) -> set[str]:
        """Return the program's names of the kernel's variables that are assigned once."""
        return {
            variable.name
            for name, variable in self.scope.names.items()
            if isinstance(variable, tree.Variable) and self.stable_counts.get(name, 2) <= 1
        }


def _assignments(kernel: tree.Function) -> dict[str, int]:
    """Return how many statements assign to each variable of a kernel and its helpers."""
    counts: dict[str, int] = {}
    for function in (kernel, *tree.helpers_of(kernel)):
        for name in tree.run_time_parameters(function):
            counts.setdefault(name, 0)
        for name in tree.assigned_in(function.body):
            counts[name] = counts.get(name, 0) + 1 + (name in function.parameters)
    return counts


def _leaves(body: Sequence[tree.Statement]) -> bool:
    """Return whether statements always end in a jump."""
    flat = list(tree.flat(body))
    if not flat:
        return False
    last = flat[-1]
    if isinstance(last, tree.If):
        return _leaves(last.first) and _leaves(last.second)
    return isinstance(last, (tree.Jump, tree.Return))


def _same(x: tree.Expr, y: tree.Expr) -> bool:
    """Return whether two indices of variables and numbers are written in the same way."""
    if type(x) is not type(y) or x.type != y.type:
        return False
    if isinstance(x, tree.Operation) and isinstance(y, tree.Operation):
        return x.sign == y.sign and all(map(_same, x.operands, y.operands))
    if isinstance(x, tree.Variable) and isinstance(y, tree.Variable):
        return x.name == y.name
    if isinstance(x, tree.Literal) and isinstance(y, tree.Literal):
        return bool(x.value == y.value)
    if isinstance(x, tree.Position) and isinstance(y, tree.Position):
        return (x.name, x.axis) == (y.name, y.axis)
    return False


def _has_statements(*operands: tree.Expr) -> bool:
    """Return whether reading expressions needs statements."""
    return any(
        isinstance(node, (tree.HelperCall, tree.Sequence, tree.Atomic))
        for operand in operands
        for node in tree.walk(operand)
    )
