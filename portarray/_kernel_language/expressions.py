"""The front end's expressions: from Python's syntax tree to typed values."""

from __future__ import annotations

import ast
from collections.abc import Mapping
from types import ModuleType
from typing import Any

from portarray._kernel_language import calls, operators, source, tree, types
from portarray._kernel_language.constants import (
    described,
    dtype_of,
    given,
    is_number,
    known_value,
    near,
    usable,
)
from portarray._kernel_language.operators import scalar
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
    """Types the expressions of a function."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def value(self, node: ast.expr) -> Value:
        """Return what an expression stands for."""
        return visited(self, node, REFUSED)  # type: ignore[no-any-return]

    def expr(self, node: ast.expr) -> tree.Expr:
        """Return a value that can be computed: a number or a tuple of numbers."""
        found = self.value(node)
        if isinstance(found, tree.Expr):
            return found
        what = "an array" if isinstance(found, Array) else str(found)
        raise Wrong(node, f"{ast.unparse(node)} is {what}; a number is needed here")

    def number(self, node: ast.expr) -> tree.Expr:
        """Return a number."""
        found = self.expr(node)
        if isinstance(found.type, Tuple):
            raise Wrong(node, f"{ast.unparse(node)} is a tuple; a number is needed here")
        return found

    def truth(self, node: ast.expr) -> tree.Expr:
        """Return a truth value."""
        found = self.number(node)
        if scalar(found).kind == "b":
            return found
        if isinstance(found, tree.Literal):
            return tree.Literal(node, types.TRUTH, bool(found.value))
        return operators.comparison(
            self.scope.setting, node, "!=", found, tree.Literal(node, types.weak_int(1), 0)
        )

    def constant(self, node: ast.expr) -> Any:
        """Return a value that is known when the kernel is compiled."""
        found = self.value(node)
        if isinstance(found, Constant):
            return found.value
        known = known_value(found) if isinstance(found, tree.Expr) else None
        if known is None:
            text = ast.unparse(node)
            fix = f"; @pa.kernel(static=({text!r},)) makes a parameter so" * text.isidentifier()
            raise Wrong(node, f"{text} must be known when the kernel is compiled{fix}")
        return known

    def _constant(self, node: ast.Constant) -> Value:
        return given(node, node.value)

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.scope.memory:
            return self.scope.memory[name]
        if name in self.scope.local_names:
            if name not in self.scope.assigned and not self.scope.is_given(name):
                raise Wrong(
                    node, f"{name} may be read before it has a value; give it one before this line"
                )
            if name in self.scope.types:
                return tree.Variable(node, self.scope.types[name], name)
        if name in self.scope.parameters:
            return self.scope.parameters[name]
        try:
            value = self.scope.lookup(name)
        except source.Missing as error:
            raise Wrong(node, f"{error}{near(name, self.scope.known_names())}") from None
        if is_number(value) or isinstance(value, tuple):
            self.scope.constants[name] = value
        found = given(node, value)
        if isinstance(found, Constant) and not usable(found.value):
            raise Wrong(
                node,
                f"{name} is {described(value)}; a kernel uses numbers, dtypes, tuples of numbers, "
                f"modules and helpers of the names around it. Pass arrays as arguments",
            )
        return found

    def _binop(self, node: ast.BinOp) -> tree.Expr:
        sign = _BINARY.get(type(node.op))
        if sign is None:
            raise Wrong(node, "the operator @ is not in the kernel language; write the loop")
        return operators.operation(
            self.scope.setting, node, sign, self.number(node.left), self.number(node.right)
        )

    def _unaryop(self, node: ast.UnaryOp) -> tree.Expr:
        if isinstance(node.op, ast.Not):
            return tree.Logic(node, types.TRUTH, "not", [self.truth(node.operand)])
        x = self.number(node.operand)
        sign = _UNARY[type(node.op)]
        if isinstance(x, tree.Literal) and scalar(x).weak and sign != "~x":
            value = -x.value if sign == "-x" else x.value
            return tree.Literal(node, types.of_python(value), value)
        work = scalar(x)
        if work.kind == "b" and sign != "~x":
            work = types.weak_int(1)
        if work.kind == "f" and sign == "~x":
            raise Wrong(node, f"~ takes integers and truth values, not {x.type}")
        return tree.Operation(node, work, sign, [x], work)

    def _compare(self, node: ast.Compare) -> tree.Expr:
        parts = []
        left = node.left
        for op, right in zip(node.ops, node.comparators, strict=True):
            sign = _COMPARE.get(type(op))
            if sign is None:
                raise Wrong(node, "`in` and `is` are not in the kernel language; compare with ==")
            known = self.known_comparison(node, sign, left, right)
            if known is not None:
                parts.append(known)
                left = right
                continue
            parts.append(
                operators.comparison(
                    self.scope.setting, node, sign, self.number(left), self.number(right)
                )
            )
            left = right
        return parts[0] if len(parts) == 1 else tree.Logic(node, types.TRUTH, "and", parts)

    def known_comparison(
        self, node: ast.AST, sign: str, left: ast.expr, right: ast.expr
    ) -> tree.Expr | None:
        """Return what is known of a comparison of constants, such as dtypes and texts."""
        values = [self.value(left), self.value(right)]
        if all(isinstance(one, Constant) for one in values):
            if sign not in ("==", "!="):
                raise Wrong(node, f"{ast.unparse(left)} and {ast.unparse(right)} have no order")
            first, second = (one.value for one in values)  # type: ignore[union-attr]
            same = dtype_of(first) == dtype_of(second) if dtype_of(first) else first == second
            return tree.Literal(node, types.TRUTH, same == (sign == "=="))
        if all(isinstance(one, tree.Literal) for one in values) and (
            values[0].type == values[1].type  # type: ignore[union-attr]
            or all(one.type.kind != "f" for one in values)  # type: ignore[union-attr]
        ):
            a, b = (one.value for one in values)  # type: ignore[union-attr]
            found = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
            return tree.Literal(node, types.TRUTH, found[sign])
        return None

    def _boolop(self, node: ast.BoolOp) -> tree.Expr:
        sign = "and" if isinstance(node.op, ast.And) else "or"
        return tree.Logic(node, types.TRUTH, sign, [self.truth(one) for one in node.values])

    def _ifexp(self, node: ast.IfExp) -> tree.Expr:
        return operators.select(
            self.scope.setting,
            node,
            self.truth(node.test),
            self.number(node.body),
            self.number(node.orelse),
        )

    def _tuple(self, node: ast.Tuple) -> tree.Expr:
        items = [self.number(one) for one in node.elts]
        if not items:
            raise Wrong(node, "an empty tuple is not in the kernel language")
        return tree.Items(node, Tuple(tuple(scalar(one) for one in items)), items)

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
                return tree.Items(node, Tuple(tuple(scalar(one) for one in sizes)), sizes)
            if name == "size":
                out: tree.Expr = tree.Literal(node, types.weak_int(1), 1)
                for size in sizes:
                    out = operators.operation(self.scope.setting, node, "*", out, size)
                # The number of elements of an array that exists.
                return tree.Cast(node, types.weak_int(self.scope.setting.index_bits), out)
            raise Wrong(
                node,
                f"arrays have no {name!r} in kernels; they have {', '.join(_ARRAY_ATTRIBUTES)}",
            )
        if isinstance(owner, Constant) and isinstance(owner.value, ModuleType):
            try:
                return given(node, getattr(owner.value, name))
            except AttributeError:
                hint = near(name, dir(owner.value))
                raise Wrong(node, f"{owner.value.__name__} has no {name!r}{hint}") from None
        raise Wrong(node, f"{ast.unparse(node.value)} has no {name!r} in kernels")

    def size(self, node: ast.AST, array: Array, axis: int) -> tree.Expr:
        """Return the size of an array along an axis."""
        if array.shape is not None:
            value = array.shape[axis]
            return tree.Literal(node, types.of_python(value), value)
        return tree.Size(node, types.weak_int(self.scope.setting.index_bits), array, axis)

    def _subscript(self, node: ast.Subscript) -> Value:
        owner = self.value(node.value)
        if isinstance(owner, Array):
            index = self.index(node, owner)
            type_ = types.strong(owner.dtype)
            return tree.Load(node, type_, owner, index)
        if isinstance(owner, tree.Expr) and isinstance(owner.type, Tuple):
            count = len(owner.type.items)
            if isinstance(owner, tree.Items):
                at = self.number(node.slice)
                if not isinstance(at, tree.Literal):
                    return self.chosen(node, owner.items, at)
            place = self.constant(node.slice)
            if not isinstance(place, int) or not -count <= place < count:
                raise Wrong(node, f"{place!r} is no place in a tuple of {count}")
            if isinstance(owner, tree.Items):
                return owner.items[place % count]
            return tree.Item(node, owner.type.items[place % count], owner, place % count)
        raise Wrong(node, f"{ast.unparse(node.value)} has no elements")

    def chosen(self, node: ast.AST, items: list[tree.Expr], at: tree.Expr) -> tree.Expr:
        """Return an item of a tuple of constants at a computed place; the last where none is."""
        if len(items) > _MANY_ITEMS:
            raise Wrong(node, f"tuples of more than {_MANY_ITEMS} are passed as arrays")
        if scalar(at).kind not in "iu":
            raise Wrong(node, f"an index is an integer, not {at.type}; write int(...)")
        out = items[-1]
        for place in range(len(items) - 2, -1, -1):
            literal = tree.Literal(node, types.of_python(place), place)
            out = operators.select(
                self.scope.setting,
                node,
                operators.comparison(self.scope.setting, node, "==", at, literal),
                items[place],
                out,
            )
        return out

    def index(self, node: ast.Subscript, array: Array) -> list[tree.Expr]:
        """Return the places along an array's axes."""
        return self.places(node, array, node.slice)

    def places(self, node: ast.AST, array: Array, where: ast.expr) -> list[tree.Expr]:
        """Return the places that an index, or several, stand for."""
        parts = where.elts if isinstance(where, ast.Tuple) else [where]
        found: list[tree.Expr] = []
        for part in parts:
            one = self.expr(part)
            if isinstance(one.type, Tuple):
                items = (
                    one.items
                    if isinstance(one, tree.Items)
                    else [
                        tree.Item(node, item, one, place)
                        for place, item in enumerate(one.type.items)
                    ]
                )
                found += items
            else:
                found.append(one)
        if len(found) != array.ndim:
            raise Wrong(
                node, f"{array.name} has {array.ndim} axes and is indexed by {len(found)} numbers"
            )
        for one in found:
            if scalar(one).kind not in "iu":
                raise Wrong(node, f"an index is an integer, not {one.type}; write int(...)")
            if isinstance(one, tree.Literal) and one.value < 0:
                raise Wrong(
                    node,
                    f"negative indices do not count from the end in kernels; write "
                    f"{array.name}.shape[axis] - {-one.value}",
                )
        return found

    def _call(self, node: ast.Call) -> Value:
        return calls.call(self, node)
