"""The front end's statements: from Python's syntax tree to the typed one."""

from __future__ import annotations

import ast
import copy
from collections.abc import Iterator, Mapping

import numpy as np

from portarray._kernel_language import calls, operators, tree, types
from portarray._kernel_language.expressions import Expressions
from portarray._kernel_language.scope import Scope, Wrong, visited
from portarray._kernel_language.types import Array, Constant, Scalar, Tuple
from portarray._kernel_language.words import language_word

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
    """Types the statements of a function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.reader = Expressions(scope)

    def block(self, body: list[ast.stmt], *, top: bool = False) -> list[tree.Statement]:
        """Return statements; what is wrong with one is noted, and the next ones are read."""
        out: list[tree.Statement] = []
        for node in body:
            self.scope.top = top
            try:
                found = visited(self, node, _REFUSED)
            except Wrong as wrong:
                names = [one for one in ast.walk(node) if isinstance(one, ast.Name)]
                # One mistake is told once, and not what follows from it.
                if self.scope.unknown.isdisjoint(one.id for one in names):
                    self.scope.problems.append(self.scope.source.problem(wrong.at, str(wrong)))
                for one in names:
                    if isinstance(one.ctx, ast.Store) and one.id not in self.scope.parameters:
                        self.scope.unknown.add(one.id)
                        self.scope.assigned.add(one.id)
                        self.scope.types.setdefault(one.id, types.weak_int(types.ALL_BITS))
                continue
            if found is not None:
                out.append(found)
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
            found = self.reader.value(value)
            if isinstance(found, (tree.Atomic, tree.HelperCall)):
                return tree.Evaluate(node, found)
        raise Wrong(node, f"{ast.unparse(value)} has no effect; assign it or remove it")

    def word_of(self, node: ast.AST) -> str | None:
        """Return the name of the language's function that a call calls."""
        if not isinstance(node, ast.Call):
            return None
        try:
            function = self.reader.value(node.func)
        except Wrong:
            return None
        return language_word(function.value) if isinstance(function, Constant) else None

    def _assign(self, node: ast.Assign) -> tree.Statement:
        if len(node.targets) > 1:
            parts = [self.assign(node, one, node.value) for one in node.targets]
            return tree.Block(node, parts)
        return self.assign(node, node.targets[0], node.value)

    def _annassign(self, node: ast.AnnAssign) -> tree.Statement:
        raise Wrong(node, "annotations are not in the kernel language; begin with kl.float32(...)")

    def assign(self, node: ast.stmt, target: ast.expr, value: ast.expr) -> tree.Statement:
        """Return an assignment to one target."""
        word = self.word_of(value)
        if word in ("local", "private"):
            return self.allocate(node, target, value, word)  # type: ignore[arg-type]
        if isinstance(target, ast.Subscript):
            return self.store(node, target, self.reader.number(value))
        if isinstance(target, (ast.Tuple, ast.List)):
            return self.unpack(node, target, value)
        if not isinstance(target, ast.Name):
            raise Wrong(target, f"{ast.unparse(target)} cannot be assigned to in a kernel")
        found = self.reader.value(value)
        if not isinstance(found, tree.Expr):
            what = "an array; use it by its own name" if isinstance(found, Array) else str(found)
            raise Wrong(value, f"{ast.unparse(value)} is {what}")
        self.bind(target, found)
        return tree.Assign(node, [target.id], [found])

    def bind(self, target: ast.Name, value: tree.Expr) -> None:
        """Give a local variable a value."""
        name = target.id
        if name in self.scope.memory:
            raise Wrong(target, f"{name} is memory of this kernel and cannot be assigned to anew")
        if name in self.scope.parameters:
            given = self.scope.parameters[name]
            if not isinstance(given, tree.Variable):
                what = "an array" if isinstance(given, Array) else "a constant"
                raise Wrong(
                    target, f"the argument {name} is {what}; use another name, or write {name}[...]"
                )
            self.scope.types.setdefault(name, given.type)
        before = self.scope.types.get(name)
        type_ = value.type
        try:
            joined = type_ if before is None else types.joined(before, type_)
        except types.Mismatch as error:
            raise Wrong(target, f"{name} has one dtype in a kernel: {error}") from None
        if (
            self.scope.round >= _WIDEN
            and isinstance(joined, Scalar)
            and joined.weak
            and joined.kind == "i"
            and joined != before
        ):
            joined = types.weak_int(types.ALL_BITS)
        assert isinstance(joined, (Scalar, Tuple))
        self.scope.types[name] = joined
        self.scope.assigned.add(name)
        if (
            self.scope.divergent
            or self.scope.left
            or not all(self.scope.loops)
            or not self.scope.uniform(value)
        ):
            self.scope.varying.add(name)

    def unpack(
        self, node: ast.stmt, target: ast.Tuple | ast.List, value: ast.expr
    ) -> tree.Statement:
        """Return an assignment to several targets, all values being computed first."""
        if isinstance(value, ast.Tuple):
            pairs = list(_pairs(target, value))
            if all(isinstance(one, ast.Name) for one, _ in pairs):
                values = [self.reader.expr(one) for _, one in pairs]
                for (one, _), found in zip(pairs, values, strict=True):
                    self.bind(one, found)  # type: ignore[arg-type]
                return tree.Assign(node, [one.id for one, _ in pairs], values)  # type: ignore[attr-defined]
            return self.exchange(node, pairs)
        found = self.reader.expr(value)
        if not isinstance(found.type, Tuple):
            raise Wrong(
                value, f"{ast.unparse(value)} is one number, and {len(target.elts)} are named"
            )
        items = (
            found.items
            if isinstance(found, tree.Items)
            else [tree.Item(node, one, found, n) for n, one in enumerate(found.type.items)]
        )
        if len(items) != len(target.elts):
            raise Wrong(node, f"{len(items)} values for {len(target.elts)} names")
        if not all(isinstance(one, (ast.Name, ast.Subscript)) for one in target.elts):
            raise Wrong(node, "a tuple is assigned to names and elements")
        names = [
            one
            if isinstance(one, ast.Name)
            else ast.copy_location(ast.Name(f"value_{n}_of_{node.lineno}", ast.Store()), one)
            for n, one in enumerate(target.elts)
        ]
        for name, item in zip(names, items, strict=True):
            self.bind(name, item)
        out: list[tree.Statement] = [tree.Assign(node, [one.id for one in names], list(items))]
        for name, one in zip(names, target.elts, strict=True):
            if isinstance(one, ast.Subscript):
                kept = tree.Variable(name, self.scope.types[name.id], name.id)
                out.append(self.store(node, one, kept))
        return out[0] if len(out) == 1 else tree.Block(node, out)

    def exchange(self, node: ast.stmt, pairs: list[tuple[ast.expr, ast.expr]]) -> tree.Statement:
        """Return an assignment to elements, of values that are kept in variables before."""
        kept = [
            ast.copy_location(ast.Name(f"value_{n}_of_{node.lineno}", ast.Store()), one)
            for n, (one, _) in enumerate(pairs)
        ]
        out: list[tree.Statement] = []
        for name, (_, given) in zip(kept, pairs, strict=True):
            found = self.reader.number(given)
            self.bind(name, found)
            out.append(tree.Assign(node, [name.id], [found]))
        for name, (target, _) in zip(kept, pairs, strict=True):
            value = tree.Variable(name, self.scope.types[name.id], name.id)
            if isinstance(target, ast.Subscript):
                out.append(self.store(node, target, value))
            elif isinstance(target, ast.Name):
                self.bind(target, value)
                out.append(tree.Assign(node, [target.id], [value]))
            else:
                raise Wrong(target, f"{ast.unparse(target)} cannot be assigned to in a kernel")
        return tree.Block(node, out)

    def store(self, node: ast.stmt, target: ast.Subscript, value: tree.Expr) -> tree.Statement:
        """Return an assignment to an element."""
        array = self.reader.value(target.value)
        if not isinstance(array, Array):
            raise Wrong(
                target, f"{ast.unparse(target.value)} is no array; its parts have no places"
            )
        index = self.reader.index(target, array)
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
        load = _loaded(node.target)
        binary = ast.copy_location(ast.BinOp(load, node.op, node.value), node)
        return self.assign(node, node.target, binary)

    def allocate(
        self, node: ast.stmt, target: ast.expr, call: ast.Call, word: str
    ) -> tree.Statement:
        """Return memory of a group or a work-item."""
        if not isinstance(target, ast.Name) or self.scope.helper or not self.scope.top:
            raise Wrong(node, f"kl.{word} is assigned to a name, at the top level of a kernel")
        name = target.id
        if (
            name in self.scope.memory
            or name in self.scope.assigned
            or name in self.scope.parameters
        ):
            raise Wrong(node, f"{name} has a meaning already; give the memory another name")
        given = [*call.args, *[one.value for one in call.keywords]]
        if len(given) != 2 or any(one.arg not in ("shape", "dtype") for one in call.keywords):
            raise Wrong(call, f"kl.{word} takes a shape and a dtype")
        shape, dtype = self.reader.constant(given[0]), self.reader.constant(given[1])
        shape = shape if isinstance(shape, tuple) else (shape,)
        if not all(type(n) is int and n > 0 for n in shape):
            raise Wrong(call, f"kl.{word}'s shape is {shape!r}; it is made of positive constants")
        try:
            dtype = np.dtype(dtype)
        except TypeError:
            raise Wrong(call, f"kl.{word} got {dtype!r}; it takes a dtype") from None
        operators.check_dtype(self.scope.setting, call, types.strong(dtype))
        if int(np.prod(shape, dtype=object)) * dtype.itemsize >= _LOCAL_BYTES:
            raise Wrong(call, f"kl.{word} of {shape} {dtype} is more than any device has")
        array = Array(name, dtype, len(shape), word, shape)
        self.scope.memory[name] = array
        return tree.Memory(node, array)

    def _if(self, node: ast.If) -> tree.Statement:
        condition = self.reader.truth(node.test)
        if isinstance(condition, tree.Literal):  # the other branch need not fit the types
            return tree.Block(node, self.block(node.body if condition.value else node.orelse))
        split = not self.scope.uniform(condition)
        self.scope.divergent += split
        before = set(self.scope.assigned)
        first = self.block(node.body)
        after_first, self.scope.assigned = self.scope.assigned, set(before)
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
        """Return the body of a loop."""
        # Where some work-items leave it, what it does before that is not the same for all either.
        uniform = uniform and id(nodes) not in self.scope.uneven
        self.scope.divergent += not uniform
        before = set(self.scope.assigned)
        self.scope.loops.append(uniform)
        self.scope.bodies.append(id(nodes))
        body = self.block(nodes)
        self.scope.bodies.pop()
        self.scope.loops.pop()
        self.scope.assigned = before
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
            raise Wrong(node.iter, "loops run over range(...); index arrays by its numbers")
        if not isinstance(node.target, ast.Name):
            raise Wrong(node.target, "a loop over range has one name")
        assert isinstance(call, ast.Call)
        bounds = [self.reader.number(one) for one in calls.arguments(self.reader, call)]
        if not 1 <= len(bounds) <= 3:
            raise Wrong(call, f"range takes one to three arguments, got {len(bounds)}")
        for one, at in zip(bounds, call.args, strict=True):
            if not isinstance(one.type, Scalar) or one.type.kind not in "iu":
                raise Wrong(at, f"range takes integers, not {one.type}")
        zero = tree.Literal(call, types.weak_int(1), 0)
        unit = tree.Literal(call, types.weak_int(1), 1)
        start = bounds[0] if len(bounds) > 1 else zero
        stop = bounds[1] if len(bounds) > 1 else bounds[0]
        step = bounds[2] if len(bounds) > 2 else unit
        if isinstance(step, tree.Literal) and step.value == 0:
            raise Wrong(call, "the step of range must not be 0")
        bits = max(_width(one) for one in (start, stop))
        counter = tree.Literal(node, types.weak_int(bits), 0)
        before = node.target.id in self.scope.assigned or self.scope.is_given(node.target.id)
        even = all(self.scope.uniform(one) for one in (start, stop, step))
        self.scope.divergent += not even
        self.bind(node.target, counter)
        if not even:
            self.scope.varying.add(node.target.id)
        self.scope.divergent -= not even
        body = self.loop(node.body, uniform=even)
        if not before:
            self.scope.assigned.discard(node.target.id)
        return tree.For(node, node.target.id, start, stop, step, body, unroll, before)

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
            if node.value is not None:
                raise Wrong(node, "a kernel returns no value; write into an array that it is given")
            if self.scope.divergent:
                self.scope.left = True
                self.scope.uneven.update(self.scope.bodies)
            return tree.Return(node, None)
        if node.value is None:
            raise Wrong(node, "a helper returns a value")
        value = self.reader.expr(node.value)
        try:
            joined = (
                value.type
                if self.scope.returned is None
                else types.joined(self.scope.returned, value.type)
            )
        except types.Mismatch as error:
            raise Wrong(node, f"a helper returns one dtype: {error}") from None
        assert isinstance(joined, (Scalar, Tuple))
        self.scope.returned = joined
        return tree.Return(node, value)

    def barrier(self, node: ast.Call) -> tree.Statement:
        """Return a barrier, which all work-items of a group reach together."""
        if self.scope.helper:
            raise Wrong(node, "kl.barrier() stands in kernels, not in helpers")
        calls.arguments(self.reader, node, 0)
        if self.scope.divergent or not all(self.scope.loops):
            raise Wrong(
                node,
                "kl.barrier() stands where all work-items of a group come: at the top level, or in "
                "loops and branches whose conditions are the same for all of them",
            )
        if self.scope.left:
            raise Wrong(node, "kl.barrier() stands after a return that only some work-items take")
        self.scope.result.barriers = True
        return tree.Barrier(node)

    def print_(self, node: ast.Call) -> tree.Statement:
        """Return a line of output."""
        values: list[tree.Expr | str] = []
        for one in calls.arguments(self.reader, node):
            if isinstance(one, ast.Constant) and isinstance(one.value, str):
                values.append(one.value)
            else:
                values.append(self.reader.number(one))
        return tree.Print(node, values)


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield targets and their values, of tuples in tuples too."""
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(value, ast.Tuple):
        if len(target.elts) != len(value.elts):
            raise Wrong(value, f"{len(value.elts)} values for {len(target.elts)} names")
        for one, other in zip(target.elts, value.elts, strict=True):
            yield from _pairs(one, other)
    else:
        yield target, value


def _width(x: tree.Expr) -> int:
    assert isinstance(x.type, Scalar)
    if x.type.dtype is not None:
        return min(8 * x.type.dtype.itemsize, types.ALL_BITS)
    return x.type.bits


def _loaded(target: ast.expr) -> ast.expr:
    loaded = copy.copy(target)
    loaded.ctx = ast.Load()  # type: ignore[attr-defined]
    return loaded


def _leaves(body: list[ast.stmt]) -> bool:
    """Tell whether statements end in a jump."""
    return bool(body) and isinstance(body[-1], (ast.Return, ast.Break, ast.Continue))
