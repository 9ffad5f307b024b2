"""The front end's statements: from Python's syntax tree to the typed one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping

import numpy as np

from portarray._kernel_language import calls, operators, tree, types
from portarray._kernel_language.deep import deep
from portarray._kernel_language.intrinsics import language_word
from portarray._kernel_language.scope import Scope, Wrong, visited
from portarray._kernel_language.types import Array, Constant, Scalar, Tuple

_WIDEN = 3
"""Readings after which an integer that still grows is taken for one of 64 bits."""
_LOCAL_BYTES = 2**31

_REFUSED: Mapping[type[ast.AST], str] = {
    ast.FunctionDef: "a function within a function",
    ast.AsyncFunctionDef: "an async function",
    ast.ClassDef: "a class", ast.With: "with", ast.AsyncWith: "with", ast.Try: "try",
    ast.TryStar: "try", ast.Raise: "raise", ast.Assert: "assert", ast.Import: "import",
    ast.ImportFrom: "import", ast.Global: "global", ast.Nonlocal: "nonlocal", ast.Delete: "del",
    ast.AsyncFor: "async for", ast.Match: "match",
}  # fmt: skip


class Statements:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.reader = calls.CallExpressions(scope)

    @deep
    def block(self, body: list[ast.stmt], *, top: bool = False) -> list[tree.Statement]:
        """Return statements; record invalid ones and continue."""
        out: list[tree.Statement] = []
        for node in body:
            self.scope.top = top
            try:
                statement = visited(self, node, _REFUSED)
            except Wrong as wrong:
                names = [name for name in ast.walk(node) if isinstance(name, ast.Name)]
                # A mistake is reported once, without its consequences.
                if self.scope.unknown.isdisjoint(name.id for name in names):
                    self.scope.problems.append(self.scope.source.problem(wrong.at, str(wrong)))
                for name in names:
                    if isinstance(name.ctx, ast.Store) and name.id not in self.scope.parameters:
                        self.scope.unknown.add(name.id)
                        self.scope.assigned.add(name.id)
                        self.scope.types.setdefault(name.id, types.weak_int(types.ALL_BITS))
                continue
            if statement is not None:
                out.append(statement)
        return out

    def _pass(self, node: ast.Pass) -> None:
        return None

    def _expr(self, node: ast.Expr) -> tree.Statement | None:
        value = node.value
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            return None  # a docstring
        if isinstance(value, ast.Call):
            word = self.word_of(value)
            if word == "barrier":
                return self.barrier(value)
            if word == "print":
                return self.print_(value)
            call = self.reader.value(value)
            if isinstance(call, (tree.Atomic, tree.HelperCall)):
                return tree.Evaluate(node, call)
        elif isinstance(value, (ast.IfExp, ast.BoolOp, ast.Tuple, ast.Compare)):
            result = self.reader.expr(value)
            if tree.has_effects(result):
                return tree.Evaluate(node, result)
        raise Wrong(node, f"{ast.unparse(value)} has no effect; assign it or remove it")

    def word_of(self, node: ast.AST) -> str | None:
        """Return the name of the kernel-language function that a call calls, or None."""
        if not isinstance(node, ast.Call):
            return None
        try:
            function = self.reader.value(node.func)
        except Wrong:
            return None
        return language_word(function.value) if isinstance(function, Constant) else None

    def _assign(self, node: ast.Assign) -> tree.Statement:
        if len(node.targets) == 1:
            return self.assign(node, node.targets[0], node.value)
        value = operators.shared(self.reader.expr(node.value), assigned=True)
        parts: list[tree.Statement] = [tree.Evaluate(node, value)]
        parts += [self.put(node, target, value) for target in node.targets]
        return tree.Block(node, parts)

    def _annassign(self, node: ast.AnnAssign) -> tree.Statement:
        raise Wrong(
            node, "annotations are not in the kernel language; convert with kl.float32(...)"
        )

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> tree.Statement:
        word = self.word_of(value)
        if word in ("local", "private"):
            return self.allocate(node, target, value, word)  # type: ignore[arg-type]
        if isinstance(target, ast.Subscript):
            return self.store(node, target, self.reader.numeric(value))
        if isinstance(target, (ast.Tuple, ast.List)):
            return self.unpack(node, target, value)
        if not isinstance(target, ast.Name):
            raise Wrong(target, f"{ast.unparse(target)} cannot be assigned to in a kernel")
        result = self.reader.value(value)
        if not isinstance(result, tree.Expr):
            description = (
                "an array; use it by its own name" if isinstance(result, Array) else str(result)
            )
            raise Wrong(value, f"{ast.unparse(value)} is {description}")
        self.bind(target, result)
        return tree.Assign(node, [target.id], [result])

    def bind(self, target: ast.Name, value: tree.Expr) -> None:
        """Give a local variable a value."""
        name = target.id
        if name in self.scope.memory:
            raise Wrong(target, f"{name} is memory of this kernel; it cannot be reassigned")
        if name in self.scope.parameters:
            parameter = self.scope.parameters[name]
            if not isinstance(parameter, tree.Variable):
                description = "an array" if isinstance(parameter, Array) else "a constant"
                raise Wrong(
                    target,
                    f"the argument {name} is {description}; use another name, or assign to "
                    f"{name}[...]",
                )
            self.scope.types.setdefault(name, parameter.type)
        previous = self.scope.types.get(name)
        type_ = value.type
        try:
            joined = type_ if previous is None else types.joined(previous, type_)
        except types.Mismatch as error:
            raise Wrong(target, f"{name} cannot change its dtype: {error}") from None
        if (
            self.scope.round >= _WIDEN
            and isinstance(joined, Scalar)
            and joined.weak
            and joined.kind == "i"
            and joined != previous
        ):
            joined = types.weak_int(types.ALL_BITS)
        assert isinstance(joined, (Scalar, Tuple))
        self.scope.types[name] = joined
        self.scope.assigned.add(name)
        if (
            self.scope.divergent
            or self.scope.exited
            or not all(self.scope.loops)
            or not self.scope.uniform(value)
        ):
            self.scope.varying.add(name)

    def unpack(
        self, node: ast.stmt, target: ast.Tuple | ast.List, value: ast.expr
    ) -> tree.Statement:
        """Return an assignment to several targets; all values are computed first."""
        if isinstance(value, ast.Tuple):
            pairs = list(_pairs(target, value))
            values = [self.reader.expr(expression) for _, expression in pairs]
            targets = [part for part, _ in pairs]
        else:
            unpacked = self.reader.expr(value)
            if not isinstance(unpacked.type, Tuple):
                raise Wrong(
                    value, f"{ast.unparse(value)} is one number, not a tuple of {len(target.elts)}"
                )
            values, targets = operators.items_of(unpacked)[0], target.elts
            if len(values) != len(targets):
                raise Wrong(node, f"{len(values)} values for {len(targets)} names")
        if all(isinstance(part, ast.Name) for part in targets):
            for part, item in zip(targets, values, strict=True):
                self.bind(part, item)  # type: ignore[arg-type]
            names = [part.id for part in targets]  # type: ignore[attr-defined]
            return tree.Assign(node, names, values)
        values = [operators.shared(item, assigned=True) for item in values]
        out: list[tree.Statement] = [tree.Evaluate(node, item) for item in values]
        out += [self.put(node, part, item) for part, item in zip(targets, values, strict=True)]
        return tree.Block(node, out)

    def put(self, node: ast.stmt, target: ast.expr, value: tree.Expr) -> tree.Statement:
        """Return the assignment of a value, which is computed already, to any target."""
        if isinstance(target, ast.Name):
            self.bind(target, value)
            return tree.Assign(node, [target.id], [value])
        if isinstance(target, ast.Subscript):
            if not isinstance(value.type, Scalar):
                raise Wrong(target, f"{ast.unparse(target)} is an element; the value {value.type}")
            return self.store(node, target, value)
        if not isinstance(target, (ast.Tuple, ast.List)):
            raise Wrong(target, f"{ast.unparse(target)} cannot be assigned to in a kernel")
        if not isinstance(value.type, Tuple):
            raise Wrong(target, f"{value.type} is not a tuple of {len(target.elts)}")
        items = operators.items_of(value)[0]
        if len(items) != len(target.elts):
            raise Wrong(node, f"{len(items)} values for {len(target.elts)} names")
        pairs = zip(target.elts, items, strict=True)
        return tree.Block(node, [self.put(node, part, item) for part, item in pairs])

    def store(self, node: ast.stmt, target: ast.Subscript, value: tree.Expr) -> tree.Statement:
        array = self.array(target)
        return self.stored(node, target, array, self.reader.index(target, array), value)

    def array(self, target: ast.Subscript) -> Array:
        """Return the array of which an element is assigned to."""
        array = self.reader.value(target.value)
        if not isinstance(array, Array):
            raise Wrong(
                target,
                f"{ast.unparse(target.value)} is not an array; its items cannot be assigned to",
            )
        return array

    def stored(
        self,
        node: ast.stmt,
        target: ast.Subscript,
        array: Array,
        index: list[tree.Expr],
        value: tree.Expr,
    ) -> tree.Statement:
        kind = value.type.kind if isinstance(value.type, Scalar) else ""
        if array.dtype.kind in "biu" and kind == "f":
            raise Wrong(
                target,
                f"{array.name} is {array.dtype} and the value {value.type}; convert with "
                f"kl.{array.dtype}(...)",
            )
        self.scope.result.written.add(array.name)
        return tree.Store(node, array, index, operators.converted(node, value, array.dtype))

    def _augassign(self, node: ast.AugAssign) -> tree.Statement:
        target = node.target
        if isinstance(target, ast.Subscript):
            # The index is computed once, and the element read before the other operand.
            array = self.array(target)
            index = list(map(operators.shared, self.reader.index(target, array)))
            element = tree.Load(target, types.strong(array.dtype), array, index)
            return self.stored(
                node, target, array, index, self.reader.binary(node, element, node.op, node.value)
            )
        binary = ast.copy_location(ast.BinOp(_loaded(target), node.op, node.value), node)
        return self.assign(node, target, binary)

    def allocate(
        self, node: ast.stmt, target: ast.expr, call: ast.Call, word: str
    ) -> tree.Statement:
        """Return memory of a group or a work-item."""
        if not isinstance(target, ast.Name) or self.scope.helper or not self.scope.top:
            raise Wrong(node, f"kl.{word} must be assigned to a name, at the top level of a kernel")
        name = target.id
        if (
            name in self.scope.memory
            or name in self.scope.assigned
            or name in self.scope.parameters
        ):
            raise Wrong(node, f"{name} is already in use; give the memory another name")
        operands = [*call.args, *[keyword.value for keyword in call.keywords]]
        if len(operands) != 2 or any(
            keyword.arg not in ("shape", "dtype") for keyword in call.keywords
        ):
            raise Wrong(call, f"kl.{word} takes a shape and a dtype")
        shape, dtype = self.reader.constant(operands[0]), self.reader.constant(operands[1])
        shape = shape if isinstance(shape, tuple) else (shape,)
        if not all(type(n) is int and n > 0 for n in shape):
            raise Wrong(
                call, f"the shape of kl.{word} is {shape!r}; it must consist of positive constants"
            )
        try:
            dtype = np.dtype(dtype)
        except TypeError:
            raise Wrong(
                call, f"{dtype!r} is not a dtype; kl.{word} takes a shape and a dtype"
            ) from None
        operators.check_dtype(self.scope.setting, call, types.strong(dtype))
        if int(np.prod(shape, dtype=object)) * dtype.itemsize >= _LOCAL_BYTES:
            raise Wrong(
                call, f"kl.{word} of {shape} {dtype} is larger than the memory of any device"
            )
        array = Array(name, dtype, len(shape), word, shape)
        self.scope.memory[name] = array
        return tree.Memory(node, array)

    def _if(self, node: ast.If) -> tree.Statement:
        condition = self.reader.truth(node.test)
        if isinstance(condition, tree.Literal):  # the other branch need not fit the types
            return tree.Block(node, self.block(node.body if condition.value else node.orelse))
        split = not self.scope.uniform(condition)
        self.scope.divergent += split
        assigned = set(self.scope.assigned)
        first = self.block(node.body)
        after_first, self.scope.assigned = self.scope.assigned, set(assigned)
        second = self.block(node.orelse)
        self.scope.divergent -= split
        if _leaves(node.body):
            pass  # what follows is reached by the other branch alone
        elif node.orelse and _leaves(node.orelse):
            self.scope.assigned = after_first
        else:
            self.scope.assigned &= after_first
        return tree.If(node, condition, first, second)

    def _while(self, node: ast.While) -> tree.Statement:
        if node.orelse:
            raise Wrong(node, "else after a loop is not in the kernel language")
        condition = self.reader.truth(node.test)
        body = self.loop(node.body, uniform=self.scope.uniform(condition))
        return tree.While(node, condition, body)

    def loop(self, nodes: list[ast.stmt], *, uniform: bool) -> list[tree.Statement]:
        # Where some work-items leave it, what it does before that is not the same for all either.
        uniform = uniform and id(nodes) not in self.scope.uneven
        self.scope.divergent += not uniform
        assigned = set(self.scope.assigned)
        self.scope.loops.append(uniform)
        self.scope.bodies.append(id(nodes))
        body = self.block(nodes)
        self.scope.bodies.pop()
        self.scope.loops.pop()
        self.scope.assigned = assigned
        self.scope.divergent -= not uniform
        return body

    def _for(self, node: ast.For) -> tree.Statement:
        if node.orelse:
            raise Wrong(node, "else after a loop is not in the kernel language")
        call, unroll = node.iter, False
        if self.word_of(call) == "unroll":
            assert isinstance(call, ast.Call)
            (call,) = calls.arguments(self.reader, call, 1)
            unroll = True
        function = self.reader.value(call.func) if isinstance(call, ast.Call) else None
        if not (isinstance(function, Constant) and function.value is range):
            raise Wrong(
                node.iter, "loops must run over range(...); index the array with its values"
            )
        if not isinstance(node.target, ast.Name):
            raise Wrong(node.target, "a loop over range must assign to one name")
        assert isinstance(call, ast.Call)
        bounds = [self.reader.numeric(bound) for bound in calls.arguments(self.reader, call)]
        if not 1 <= len(bounds) <= 3:
            raise Wrong(call, f"range takes one to three arguments, got {len(bounds)}")
        for bound, at in zip(bounds, call.args, strict=True):
            if not isinstance(bound.type, Scalar) or bound.type.kind not in "iu":
                raise Wrong(at, f"range takes integers, not {bound.type}")
        zero = tree.Literal(call, types.weak_int(1), 0)
        unit = tree.Literal(call, types.weak_int(1), 1)
        start = bounds[0] if len(bounds) > 1 else zero
        stop = bounds[1] if len(bounds) > 1 else bounds[0]
        step = bounds[2] if len(bounds) > 2 else unit
        if isinstance(step, tree.Literal) and step.value == 0:
            raise Wrong(call, "the step of range must not be 0")
        bits = max(_width(bound) for bound in (start, stop))
        counter = tree.Literal(node, types.weak_int(bits), 0)
        has_value = node.target.id in self.scope.assigned or self.scope.is_given(node.target.id)
        even = all(self.scope.uniform(bound) for bound in (start, stop, step))
        self.scope.divergent += not even
        self.bind(node.target, counter)
        if not even:
            self.scope.varying.add(node.target.id)
        self.scope.divergent -= not even
        body = self.loop(node.body, uniform=even)
        if not has_value:
            self.scope.assigned.discard(node.target.id)
        return tree.For(node, node.target.id, start, stop, step, body, unroll, has_value)

    def _break(self, node: ast.Break) -> tree.Statement:
        if self.scope.divergent and self.scope.loops and self.scope.loops[-1]:
            self.scope.loops[-1] = False
            self.scope.uneven.add(self.scope.bodies[-1])
        return tree.Jump(node, "break")

    def _continue(self, node: ast.Continue) -> tree.Statement:
        if self.scope.divergent and self.scope.loops and self.scope.loops[-1]:
            self.scope.loops[-1] = False
        return tree.Jump(node, "continue")

    def _return(self, node: ast.Return) -> tree.Statement:
        if not self.scope.helper:
            if not (node.value is None or ast.unparse(node.value) == "None"):
                raise Wrong(node, "a kernel cannot return a value; write into one of its arrays")
            if self.scope.divergent:
                self.scope.exited = True
                self.scope.uneven.update(self.scope.bodies)
            return tree.Return(node, None)
        if node.value is None:
            raise Wrong(node, "a helper must return a value")
        value = self.reader.expr(node.value)
        try:
            joined = (
                value.type
                if self.scope.returned is None
                else types.joined(self.scope.returned, value.type)
            )
        except types.Mismatch as error:
            raise Wrong(
                node, f"all return values of a helper must have the same dtype: {error}"
            ) from None
        assert isinstance(joined, (Scalar, Tuple))
        self.scope.returned = joined
        return tree.Return(node, value)

    def barrier(self, node: ast.Call) -> tree.Statement:
        if self.scope.helper:
            raise Wrong(node, "kl.barrier() is not allowed in helpers")
        calls.arguments(self.reader, node, 0)
        if self.scope.divergent or not all(self.scope.loops):
            raise Wrong(
                node,
                "all work-items of a group must reach kl.barrier(); call it at the top level, or "
                "in loops and branches whose conditions are the same for all of them",
            )
        if self.scope.exited:
            raise Wrong(node, "kl.barrier() after a return that only some work-items reach")
        self.scope.result.barriers = True
        return tree.Barrier(node)

    def print_(self, node: ast.Call) -> tree.Statement:
        values: list[tree.Expr | str] = []
        for argument in calls.arguments(self.reader, node):
            if isinstance(argument, ast.Constant) and isinstance(argument.value, str):
                values.append(argument.value)
            else:
                values.append(self.reader.numeric(argument))
        return tree.Print(node, values)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield targets with their values; nested tuples are flattened."""
    if isinstance(target, ast.Starred):
        raise Wrong(target, "a starred name is not in the kernel language; name each value")
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.Tuple):
        starred = any(isinstance(x, ast.Starred) for x in target.elts)
        if not starred and len(target.elts) != len(value.elts):
            raise Wrong(value, f"{len(value.elts)} values for {len(target.elts)} names")
        for inner_target, inner_value in zip(target.elts, value.elts, strict=True):
            yield from _pairs(inner_target, inner_value)
    else:
        yield target, value


def _width(x: tree.Expr) -> int:
    if x.scalar.dtype is not None:
        return min(8 * x.scalar.dtype.itemsize, types.ALL_BITS)
    return x.scalar.bits


def _loaded(target: ast.expr) -> ast.expr:
    loaded = copy.copy(target)
    loaded.ctx = ast.Load()  # type: ignore[attr-defined]
    return loaded


def _leaves(body: list[ast.stmt]) -> bool:
    """Return whether statements end in a jump."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Break, ast.Continue))
