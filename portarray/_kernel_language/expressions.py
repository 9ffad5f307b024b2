"""The front end's expressions: from Python's syntax tree to typed values."""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

from portarray._kernel_language import operators, source, tree, types
from portarray._kernel_language.captures import is_fixed
from portarray._kernel_language.constants import (
    described,
    dtype_of,
    from_python,
    known_value,
    near,
    usable,
)
from portarray._kernel_language.deep import deep
from portarray._kernel_language.scope import Scope, Value, Wrong, visited
from portarray._kernel_language.types import Array, Constant, Tuple

_BINARY: Mapping[type[ast.AST], str] = {
    ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%",
    ast.Pow: "**", ast.LShift: "<<", ast.RShift: ">>", ast.BitAnd: "&", ast.BitOr: "|",
    ast.BitXor: "^",
}  # fmt: skip
_COMPARE: Mapping[type[ast.AST], str] = {
    ast.Eq: "==", ast.NotEq: "!=", ast.Lt: "<", ast.LtE: "<=", ast.Gt: ">", ast.GtE: ">=",
}  # fmt: skip
_COMPARED: Mapping[str, Callable[[Any, Any], bool]] = {
    "==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le, ">": operator.gt,
    ">=": operator.ge,
}  # fmt: skip
_UNARY: Mapping[type[ast.AST], str] = {ast.USub: "-x", ast.UAdd: "+x", ast.Invert: "~x"}
REFUSED: Mapping[type[ast.AST], str] = {
    ast.Lambda: "a lambda", ast.List: "a list", ast.Dict: "a dict", ast.Set: "a set",
    ast.ListComp: "a comprehension", ast.SetComp: "a comprehension",
    ast.DictComp: "a comprehension", ast.GeneratorExp: "a generator", ast.Await: "await",
    ast.Yield: "yield", ast.YieldFrom: "yield", ast.JoinedStr: "an f-string",
    ast.FormattedValue: "an f-string", ast.Starred: "a starred expression",
    ast.NamedExpr: "an assignment in an expression (:=)", ast.Slice: "a slice",
}  # fmt: skip
_MANY_ITEMS = 64
_ARRAY_ATTRIBUTES = ("shape", "ndim", "size", "dtype")


class Expressions:
    def __init__(self, scope: Scope) -> None:
        self.scope = scope
        self.setting = scope.setting

    @deep
    def value(self, node: ast.expr) -> Value:
        return visited(self, node, REFUSED)  # type: ignore[no-any-return]

    def expr(self, node: ast.expr) -> tree.Expr:
        """Return a number or a tuple of numbers."""
        value = self.value(node)
        if isinstance(value, tree.Expr):
            return value
        description = "an array" if isinstance(value, Array) else str(value)
        raise Wrong(node, f"{ast.unparse(node)} is {description}, not a number")

    def numeric(self, node: ast.expr) -> tree.Expr:
        return self.require_number(node, self.value(node))

    def require_number(self, node: ast.expr, value: Value) -> tree.Expr:
        """Return the value of a syntax node; raise if it is not a number."""
        if not isinstance(value, tree.Expr):
            description = "an array" if isinstance(value, Array) else str(value)
            raise Wrong(node, f"{ast.unparse(node)} is {description}, not a number")
        if isinstance(value.type, Tuple):
            raise Wrong(node, f"{ast.unparse(node)} is a tuple, not a number")
        return value

    def truth(self, node: ast.expr) -> tree.Expr:
        """Return a number as a bool."""
        if isinstance(node, ast.BoolOp):
            sign = "and" if isinstance(node.op, ast.And) else "or"
            operands = list(self.deciding(node, self.truth))
            if len(operands) == 1:
                return operands[0]
            return tree.Logic(node, types.TRUTH, sign, operands)
        value = self.value(node)
        if isinstance(value, Constant) and isinstance(value.value, (str, tuple, type(None))):
            return tree.Literal(node, types.TRUTH, bool(value.value))
        return operators.truth(self.setting, node, self.require_number(node, value))

    def deciding(
        self, node: ast.BoolOp, read: Callable[[ast.expr], tree.Expr]
    ) -> Iterator[tree.Expr]:
        """Yield operands up to the first that decides at compile time; skip those that cannot."""
        for n, operand in enumerate(node.values):
            value = read(operand)
            last = n == len(node.values) - 1
            if isinstance(value, tree.Literal) and not last:
                if bool(value.value) == isinstance(node.op, ast.And):
                    continue
                yield value
                return
            yield value

    def constant(self, node: ast.expr) -> Any:
        """Return a value known at compile time."""
        value = self.value(node)
        if isinstance(value, Constant):
            return value.value
        constant = known_value(value) if isinstance(value, tree.Expr) else None
        if constant is None:
            text = ast.unparse(node)
            fix = f"; @pa.kernel(static=({text!r},)) makes it a constant" * text.isidentifier()
            raise Wrong(node, f"{text} must be known when the kernel is compiled{fix}")
        return constant

    def _constant(self, node: ast.Constant) -> Value:
        return from_python(node, node.value)

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.scope.memory:
            return self.scope.memory[name]
        if name in self.scope.local_names:
            if name not in self.scope.assigned and not self.scope.is_given(name):
                raise Wrong(
                    node, f"{name} may be read before it has a value; assign it before this line"
                )
            if name in self.scope.types:
                return tree.Variable(node, self.scope.types[name], name)
        if name in self.scope.parameters:
            return self.scope.parameters[name]
        try:
            value = self.scope.lookup(name)
        except source.Missing as error:
            raise Wrong(node, f"{error}{near(name, self.scope.known_names())}") from None
        self.scope.capture((name,), value)
        meaning = from_python(node, value)
        if isinstance(meaning, Constant) and not usable(meaning.value):
            raise Wrong(
                node,
                f"{name} is {described(value)}; outside names must be numbers, dtypes, tuples of "
                f"numbers, modules or helpers; pass arrays as arguments",
            )
        return meaning

    def _binop(self, node: ast.BinOp) -> tree.Expr:
        return self.binary(node, node.left, node.op, node.right)

    def binary(
        self, node: ast.AST, first: ast.expr | tree.Expr, op: ast.operator, second: ast.expr
    ) -> tree.Expr:
        """Return the result of an operator; the first operand may have been read already."""
        sign = _BINARY.get(type(op))
        if sign is None:
            raise Wrong(node, "the operator @ is not in the kernel language; write a loop")
        x = self.numeric(first) if isinstance(first, ast.expr) else first
        return operators.operation(self.setting, node, sign, x, self.numeric(second))

    def _unaryop(self, node: ast.UnaryOp) -> tree.Expr:
        if isinstance(node.op, ast.Not):
            return tree.Logic(node, types.TRUTH, "not", [self.truth(node.operand)])
        x = self.numeric(node.operand)
        sign = _UNARY[type(node.op)]
        if isinstance(x, tree.Literal) and x.scalar.weak and sign != "~x":
            value = -x.value if sign == "-x" else x.value
            return tree.Literal(node, types.of_python(value), value)
        work = x.scalar
        if work.kind == "b" and sign != "~x":
            work = types.weak_int(1)
        if work.kind in "fc" and sign == "~x":
            raise Wrong(node, f"~ takes integers and truth values, not {x.type}")
        return tree.Operation(node, work, sign, [x], work)

    def _compare(self, node: ast.Compare) -> tree.Expr:
        parts = []
        values = [self.value(operand) for operand in (node.left, *node.comparators)]
        # All but the first and the last are operands of two comparisons.
        values[1:-1] = [
            operators.shared(x) if isinstance(x, tree.Expr) else x for x in values[1:-1]
        ]
        for n, op in enumerate(node.ops):
            pair = values[n], values[n + 1]
            sign = _COMPARE.get(type(op))
            if sign is None:
                parts.append(self.identity(node, op, *pair))
                continue
            constant = self.known_comparison(node, sign, *pair)
            if constant is not None:
                parts.append(constant)
                continue
            operands = node.left if n == 0 else node.comparators[n - 1], node.comparators[n]
            x, y = (
                self.require_number(at, value) for at, value in zip(operands, pair, strict=True)
            )
            parts.append(operators.comparison(self.setting, node, sign, x, y))
        return parts[0] if len(parts) == 1 else tree.Logic(node, types.TRUTH, "and", parts)

    def identity(self, node: ast.AST, op: ast.cmpop, x: Value, y: Value) -> tree.Expr:
        """Return whether a value is None, which is known at compile time."""
        against_none = isinstance(y, Constant) and y.value is None
        if not (against_none and isinstance(op, (ast.Is, ast.IsNot))):
            raise Wrong(
                node,
                "`in` and `is` are not in the kernel language, except `is None`; compare with ==",
            )
        same = isinstance(x, Constant) and x.value is None
        result = tree.Literal(node, types.TRUTH, same == isinstance(op, ast.Is))
        return operators.after([x] if isinstance(x, tree.Expr) else [], result)

    def known_comparison(self, node: ast.AST, sign: str, x: Value, y: Value) -> tree.Expr | None:
        """Return the result of comparing constants, or None if it is not known at compile time."""
        if isinstance(x, Constant) and isinstance(y, Constant):
            if sign not in ("==", "!="):
                raise Wrong(node, f"{x} and {y} have no order; compare with == or !=")
            dtype = dtype_of(x.value)
            same = x.value == y.value if dtype is None else dtype == dtype_of(y.value)
            return tree.Literal(node, types.TRUTH, same == (sign == "=="))
        for constant, value in ((x, y), (y, x)):
            if (
                isinstance(constant, Constant)
                and isinstance(constant.value, (str, type(None)))
                and isinstance(value, (tree.Expr, Array))
                and sign in ("==", "!=")
            ):  # which no number equals
                result = tree.Literal(node, types.TRUTH, sign == "!=")
                return operators.after([value] if isinstance(value, tree.Expr) else [], result)
        if (
            isinstance(x, tree.Literal)
            and isinstance(y, tree.Literal)
            and (sign in ("==", "!=") or "c" not in (x.scalar.kind, y.scalar.kind))
            and (x.type == y.type or (x.scalar.kind != "f" and y.scalar.kind != "f"))
        ):
            return tree.Literal(node, types.TRUTH, _COMPARED[sign](x.value, y.value))
        return None

    def _boolop(self, node: ast.BoolOp) -> tree.Expr:
        """Return the first operand that decides, as Python does; of truth values, their logic."""
        operands = list(self.deciding(node, self.numeric))
        sign = "and" if isinstance(node.op, ast.And) else "or"
        if len(operands) > 1 and all(operand.scalar.kind == "b" for operand in operands):
            return tree.Logic(node, types.TRUTH, sign, operands)
        out = operands[-1]
        for operand in reversed(operands[:-1]):
            shared = operators.shared(operand)
            test = operators.truth(self.setting, node, shared)
            first, second = (out, shared) if sign == "and" else (shared, out)
            out = operators.select(self.setting, node, test, first, second)
        return out

    def _ifexp(self, node: ast.IfExp) -> tree.Expr:
        test = self.truth(node.test)
        if isinstance(test, tree.Literal):  # the other value need not fit the types
            return self.numeric(node.body if test.value else node.orelse)
        return operators.select(
            self.setting, node, test, self.numeric(node.body), self.numeric(node.orelse)
        )

    def _tuple(self, node: ast.Tuple) -> tree.Expr:
        items = [self.numeric(item) for item in node.elts]
        if not items:
            raise Wrong(node, "an empty tuple is not in the kernel language")
        return tree.Items(node, Tuple(tuple(item.scalar for item in items)), items)

    def _attribute(self, node: ast.Attribute) -> Value:
        owner = self.value(node.value)
        name = node.attr
        if isinstance(owner, Array):
            if name == "dtype":
                return Constant(owner.dtype)
            if name == "ndim":
                return tree.Literal(node, types.weak_int(4), owner.ndim)
            sizes = [self.size(node, owner, axis) for axis in range(owner.ndim)]
            if name == "shape":
                return tree.Items(node, Tuple(tuple(length.scalar for length in sizes)), sizes)
            if name == "size":
                out: tree.Expr = tree.Literal(node, types.weak_int(1), 1)
                for size in sizes:
                    out = operators.operation(self.setting, node, "*", out, size)
                # The number of elements of an array that exists.
                return tree.Cast(node, types.weak_int(self.setting.index_bits), out)
            raise Wrong(
                node,
                f"unsupported array attribute {name!r}; supported: {', '.join(_ARRAY_ATTRIBUTES)}",
            )
        if isinstance(owner, Constant) and isinstance(owner.value, ModuleType):
            try:
                value = getattr(owner.value, name)
            except AttributeError:
                hint = near(name, dir(owner.value))
                raise Wrong(node, f"{owner.value.__name__} has no {name!r}{hint}") from None
            path = self.outside_path(node)
            if path is not None and not is_fixed(owner.value):
                self.scope.capture(path, value)
            return from_python(node, value)
        if isinstance(owner, tree.Expr) and name in ("real", "imag"):
            return operators.row(self.setting, node, name, [self.require_number(node.value, owner)])
        raise Wrong(node, f"{ast.unparse(node.value)} has no attribute {name!r} in kernels")

    def outside_path(self, node: ast.expr) -> tuple[str, ...] | None:
        """Return the names of an attribute of an outside name, such as of a module."""
        names = []
        while isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        if not isinstance(node, ast.Name) or node.id in self.scope.parameters:
            return None
        return node.id, *reversed(names)

    def size(self, node: ast.AST, array: Array, axis: int) -> tree.Expr:
        if array.shape is not None:
            value = array.shape[axis]
            return tree.Literal(node, types.of_python(value), value)
        return tree.Size(node, types.weak_int(self.setting.index_bits), array, axis)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        if isinstance(owner, Array):
            index = self.index(node, owner)
            type_ = types.strong(owner.dtype)
            return tree.Load(node, type_, owner, index)
        if isinstance(owner, tree.Expr) and isinstance(owner.type, Tuple):
            count = len(owner.type.items)
            at = self.numeric(node.slice)
            if not isinstance(at, tree.Literal):
                return self.chosen(node, owner, at)
            position = at.value
            if type(position) is not int or not -count <= position < count:
                raise Wrong(node, f"{position!r} is out of range for a tuple of {count} items")
            if isinstance(owner, tree.Items) and not tree.has_effects(owner):
                return owner.items[position % count]
            return tree.Item(node, owner.type.items[position % count], owner, position % count)
        raise Wrong(node, f"{ast.unparse(node.value)} cannot be indexed")

    def chosen(self, node: ast.AST, owner: tree.Expr, index: tree.Expr) -> tree.Expr:
        """Return an item of a tuple at a computed index; the last if out of range."""
        items, evaluated = operators.items_of(owner)
        if len(items) > _MANY_ITEMS:
            raise Wrong(
                node, f"a tuple of more than {_MANY_ITEMS} items must be passed as an array"
            )
        if index.scalar.kind not in "iu":
            raise Wrong(node, f"an index is an integer, not {index.type}; write int(...)")
        at = operators.shared(index)
        out = items[-1]
        for position in range(len(items) - 2, -1, -1):
            signed = not isinstance(index, tree.Position) and index.scalar.kind == "i"
            tests = [
                operators.comparison(
                    self.setting, node, "==", at, tree.Literal(node, types.of_python(n), n)
                )
                for n in ((position, position - len(items)) if signed else (position,))
            ]
            test = tests[0] if len(tests) == 1 else tree.Logic(node, types.TRUTH, "or", tests)
            out = operators.select(self.setting, node, test, items[position], out)
        return operators.after([*evaluated, at], out)

    def index(self, node: ast.Subscript, array: Array) -> list[tree.Expr]:
        return self.places(node, array, node.slice)

    def places(self, node: ast.AST, array: Array, where: ast.expr) -> list[tree.Expr]:
        """Return the indices along each axis; tuples are unpacked."""
        parts = where.elts if isinstance(where, ast.Tuple) else [where]
        indices: list[tree.Expr] = []
        for part in parts:
            index = self.expr(part)
            if isinstance(index.type, Tuple):
                indices += operators.items_of(index)[0]
            else:
                indices.append(index)
        if len(indices) != array.ndim:
            raise Wrong(
                node, f"{array.name} has {array.ndim} axes but is indexed by {len(indices)} numbers"
            )
        for index in indices:
            if index.scalar.kind not in "iu":
                raise Wrong(node, f"an index is an integer, not {index.type}; write int(...)")
            if isinstance(index, tree.Literal) and index.value < 0:
                raise Wrong(
                    node,
                    f"a negative index does not count from the end in kernels; write "
                    f"{array.name}.shape[axis] - {-index.value}",
                )
        return indices
