"""Makes the order of evaluation explicit: each value once, from left to right as in Python.

C leaves the order of operands to the compiler. What must be computed before something else, and
what several expressions share, gets a temporary variable. So do the parts of deep expressions, as
compilers limit the nesting of brackets. All other expressions stay as they are.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

from portarray._kernel_language import tree
from portarray._kernel_language.deep import deep

S = TypeVar("S", bound=tree.Node)

_HEIGHT = 40
"""Levels of an expression without temporaries; each has up to three brackets, clang takes 256."""
_SMALL = 12
"""Parts of an expression that is written twice instead of being assigned to a temporary."""
_CHEAP_SIGNS = ("+", "-", "*", "-x")


@dataclass(frozen=True, slots=True)
class _Facts:
    has_effects: bool  # whether it writes memory
    is_stable: bool  # whether writes to memory leave its value unchanged
    has_shared: bool
    height: int


def evaluate_in_order(function: tree.Function) -> None:
    """Rewrite the body of a kernel or helper."""
    function.body = _Orderer(function).block(function.body)


class _Orderer:
    def __init__(self, function: tree.Function) -> None:
        self.function = function
        self.facts_by_id: dict[int, tuple[tree.Expr, _Facts]] = {}
        self.shared: dict[int, tree.Expr] = {}  # what shared values became
        self.count = 0

    @deep
    def block(self, body: Sequence[tree.Statement]) -> list[tree.Statement]:
        out: list[tree.Statement] = []
        for statement in body:
            out += self.statement(statement)
        return out

    def statement(self, x: tree.Statement) -> list[tree.Statement]:
        """Return a statement after the assignments that it needs."""
        out: list[tree.Statement] = []
        if isinstance(x, tree.Assign):
            out.append(dataclasses.replace(x, values=self.eager(x.values, out)))
        elif isinstance(x, tree.Store):
            value, *index = self.eager([x.value, *x.index], out)
            out.append(dataclasses.replace(x, index=index, value=value))
        elif isinstance(x, tree.If):
            condition = self.flat(x.condition, out)
            out.append(tree.If(x.at, condition, self.block(x.first), self.block(x.second)))
        elif isinstance(x, tree.While):
            out.append(tree.While(x.at, self.sequence(x.condition), self.block(x.body)))
        elif isinstance(x, tree.For):
            start, stop, step = self.eager([x.start, x.stop, x.step], out)
            body = self.block(x.body)
            out.append(dataclasses.replace(x, start=start, stop=stop, step=step, body=body))
        elif isinstance(x, tree.Block):
            out.append(tree.Block(x.at, self.block(x.body)))
        elif isinstance(x, tree.Return) and x.value is not None:
            out.append(tree.Return(x.at, self.flat(x.value, out)))
        elif isinstance(x, tree.Evaluate):
            value = self.flat(x.value, out)
            if self.facts(value).has_effects:
                out.append(tree.Evaluate(x.at, value))
        elif isinstance(x, tree.Print):
            shown = [value for value in x.values if isinstance(value, tree.Expr)]
            effects = {n for n, value in enumerate(shown) if self.facts(value).has_effects}
            values = iter(self.eager(shown, out, always=effects))
            out.append(
                tree.Print(x.at, [v if isinstance(v, str) else next(values) for v in x.values])
            )
        else:
            out.append(x)
        return out

    def eager(
        self,
        operands: Sequence[tree.Expr],
        out: list[tree.Statement],
        always: set[int] | None = None,
    ) -> list[tree.Expr]:
        """Return operands of which all are evaluated, from left to right.

        Where one of them writes, those before it, and it itself before others, are assigned to
        temporaries; those at the positions `always` are in any case.
        """
        facts = [self.facts(operand) for operand in operands]
        unstable = [n for n, fact in enumerate(facts) if not fact.is_stable]
        first: set[int] = set(always or ())
        if any(fact.has_effects for fact in facts):
            first.update(unstable[:-1])
        values = []
        for n, operand in enumerate(operands):
            value = self.flat(operand, out)
            fact = self.facts(value)
            if (n in first and not fact.is_stable) or fact.height >= _HEIGHT:
                value = self.temporary(value, out)
            values.append(value)
        return values

    @deep
    def flat(self, x: tree.Expr, out: list[tree.Statement]) -> tree.Expr:
        """Return an expression whose order does not matter, after the assignments it needs."""
        facts = self.facts(x)
        if not (facts.has_effects or facts.has_shared or facts.height >= _HEIGHT):
            return x
        if isinstance(x, tree.Shared):
            return self.once(x, out)
        if isinstance(x, tree.Select):
            condition = self.flat(x.condition, out)
            first, second = self.sequence(x.first), self.sequence(x.second)
            return dataclasses.replace(x, condition=condition, first=first, second=second)
        if isinstance(x, tree.Logic) and x.sign != "not":
            head, *others = x.operands
            operands = [self.flat(head, out), *(self.sequence(operand) for operand in others)]
            return dataclasses.replace(x, operands=operands)
        if isinstance(x, tree.Item) and isinstance(x.value, tree.Items):
            items = x.value.items
            dropped = {n for n, item in enumerate(items) if self.facts(item).has_effects}
            return self.eager(items, out, dropped - {x.position})[x.position]
        dropped = set()
        if isinstance(x, tree.Call) and x.work.kind in "iub" and x.row.whole.isalpha():
            # A constant, such as isnan of integers: the argument is still evaluated.
            dropped = set(range(len(x.arguments)))
        return _with_operands(x, self.eager(_operands(x), out, dropped))

    def sequence(self, x: tree.Expr) -> tree.Expr:
        """Return an expression that contains the assignments it needs."""
        out: list[tree.Statement] = []
        value = self.flat(x, out)
        if not out:
            return value
        assignments = [a for a in out if isinstance(a, tree.Assign)]
        names = [assignment.names[0] for assignment in assignments]
        values = [assignment.values[0] for assignment in assignments]
        return tree.Sequence(x.at, x.type, names, values, value)

    def once(self, x: tree.Shared, out: list[tree.Statement]) -> tree.Expr:
        value = self.shared.get(id(x))
        if value is None:
            value = self.flat(x.value, out)
            if x.assigned or not _is_small(value):
                value = self.temporary(value, out)
            self.shared[id(x)] = value
        return value

    def temporary(self, value: tree.Expr, out: list[tree.Statement]) -> tree.Expr:
        """Return a variable with a value."""
        if isinstance(value, tree.Literal):
            return value
        self.count += 1
        name = f".{self.count}"
        self.function.variables[name] = value.type
        out.append(tree.Assign(value.at, [name], [value]))
        return tree.Variable(value.at, value.type, name)

    def facts(self, x: tree.Expr) -> _Facts:
        """Return the facts of an expression, from those of its parts."""
        facts_by_id = self.facts_by_id
        stack = [x]
        while stack:
            node = stack[-1]
            if id(node) in facts_by_id:
                stack.pop()
                continue
            operands = _operands(node)
            missing = [operand for operand in operands if id(operand) not in facts_by_id]
            if missing:
                stack += missing
                continue
            stack.pop()
            parts = [facts_by_id[id(operand)][1] for operand in operands]
            writes = tree.writes(node)
            facts_by_id[id(node)] = (
                node,
                _Facts(
                    writes or any(part.has_effects for part in parts),
                    not (writes or isinstance(node, (tree.Load, tree.HelperCall)))
                    and all(part.is_stable for part in parts),
                    isinstance(node, tree.Shared) or any(part.has_shared for part in parts),
                    1 + max((part.height for part in parts), default=0),
                ),
            )
        return facts_by_id[id(x)][1]


def _operands(x: tree.Expr) -> list[tree.Expr]:
    return [part for part in tree.parts(x) if isinstance(part, tree.Expr)]


def _with_operands(x: tree.Expr, operands: list[tree.Expr]) -> tree.Expr:
    """Return an expression with other operands, in the order of its fields."""
    remaining = iter(operands)
    changes: dict[str, object] = {}
    for name in type(x).__dataclass_fields__:
        child = getattr(x, name)
        if isinstance(child, tree.Expr):
            changes[name] = next(remaining)
        elif isinstance(child, list):
            changes[name] = [next(remaining) for _ in child]
    return dataclasses.replace(x, **changes)  # type: ignore[arg-type]


def _is_small(x: tree.Expr) -> bool:
    """Return whether an expression of variables may be written twice."""
    nodes = list(tree.walk(x))
    return len(nodes) <= _SMALL and all(
        isinstance(node, (tree.Variable, tree.Literal, tree.Size, tree.Position))
        or (isinstance(node, tree.Operation) and node.sign in _CHEAP_SIGNS)
        for node in nodes
    )
