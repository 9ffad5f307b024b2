"""The front end's expressions: from Python's syntax tree to typed values."""

from __future__ import annotations

import ast
import difflib
import functools
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import FunctionType, ModuleType
from typing import Any, TypeAlias

import numpy as np

from portarray._kernel_language import functions, source, tree, types
from portarray._kernel_language.errors import Problem
from portarray._kernel_language.functions import ROWS
from portarray._kernel_language.types import Array, Constant, DType, Scalar, Tuple

Value: TypeAlias = "tree.Expr | Array | Constant"


class Wrong(Exception):  # noqa: N818  (it becomes a Problem)
    """What is wrong with an expression; its statement is left out and checking goes on."""

    def __init__(self, at: ast.AST, message: str) -> None:
        super().__init__(message)
        self.at = at


@dataclass(frozen=True, slots=True)
class Setting:
    """What a kernel is compiled for besides the types of its arguments."""

    default: DType
    dtypes: frozenset[DType]
    ndim: int
    index_bits: int = types.INDEX_BITS
    atomics64: bool = True
    device: str = ""


LANGUAGE = "portarray.kernel_language"
"""The module whose functions mean something in kernels, by their names."""


class Helper:
    """A function that kernels call; made by ``pa.kernel.function``."""

    def __init__(self, function: FunctionType) -> None:
        self.function = function
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any) -> Any:
        """Call the function as plain Python."""
        return self.function(*args)


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
PLACES = ("index", "local_index", "group_index", "group_size", "group_count", "global_size")
_LINEAR = {"linear_index": "index", "local_linear_index": "local_index"}
_ATOMICS = {
    "atomic_add": "add", "atomic_min": "min", "atomic_max": "max", "atomic_exchange": "exchange",
    "atomic_compare_exchange": "compare_exchange",
}  # fmt: skip
_MANY_ITEMS = 64
_ARRAY_ATTRIBUTES = ("shape", "ndim", "size", "dtype")


class Expressions:
    """Types expressions; the base of :class:`~portarray._kernel_language.frontend.Checker`."""

    source: source.Source
    setting: Setting
    lookup: Callable[[str], Any]
    parameters: dict[str, Value]
    types: dict[str, Scalar | Tuple]
    memory: dict[str, Array]
    local_names: set[str]
    assigned: set[str]
    problems: list[Problem]
    constants: dict[str, Any]
    result: tree.Function
    varying: set[str]

    # --- entry points -----------------------------------------------------------------------

    def value(self, node: ast.expr) -> Value:
        """Return what an expression stands for."""
        refused = REFUSED.get(type(node))
        if refused is not None:
            raise Wrong(node, f"{refused} is not in the kernel language")
        visit = getattr(self, f"_{type(node).__name__.lower()}", None)
        if visit is None:
            raise Wrong(node, f"{type(node).__name__} is not in the kernel language")
        return visit(node)  # type: ignore[no-any-return]

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
        if _scalar(found).kind == "b":
            return found
        if isinstance(found, tree.Literal):
            return tree.Literal(node, types.TRUTH, bool(found.value))
        return self.comparison(node, "!=", found, tree.Literal(node, types.weak_int(1), 0))

    def constant(self, node: ast.expr) -> Any:
        """Return a value that is known when the kernel is compiled."""
        found = self.value(node)
        if isinstance(found, Constant):
            return found.value
        known = _known(found) if isinstance(found, tree.Expr) else None
        if known is None:
            raise Wrong(node, f"{ast.unparse(node)} must be known when the kernel is compiled")
        return known

    # --- names and constants ----------------------------------------------------------------

    def _constant(self, node: ast.Constant) -> Value:
        return self.given(node, node.value)

    def given(self, node: ast.AST, value: Any) -> Value:
        """Return what a Python object means in a kernel."""
        if isinstance(value, np.bool_):
            value = bool(value)
        if isinstance(value, np.generic) and value.dtype.kind in "iuf":
            literal = tree.Literal(node, types.of_python(value.item()), value.item())
            return tree.Cast(node, types.strong(value.dtype), literal)
        if isinstance(value, (bool, int, float)) and not isinstance(value, np.generic):
            if isinstance(value, int) and value.bit_length() > 64:
                raise Wrong(node, f"{value} does not fit 64 bits")
            return tree.Literal(node, types.of_python(value), value)
        if isinstance(value, tuple) and value and all(_is_number(one) for one in value):
            items = [tree.Literal(node, types.of_python(one), one) for one in value]
            return tree.Items(node, Tuple(tuple(_scalar(i) for i in items)), list(items))
        if isinstance(value, complex):
            raise Wrong(node, "complex numbers are not in the kernel language yet")
        return Constant(value)

    def _name(self, node: ast.Name) -> Value:
        name = node.id
        if name in self.memory:
            return self.memory[name]
        if name in self.local_names:
            if name not in self.assigned and not self.is_given(name):
                raise Wrong(
                    node, f"{name} may be read before it has a value; give it one before this line"
                )
            if name in self.types:
                return tree.Variable(node, self.types[name], name)
        if name in self.parameters:
            return self.parameters[name]
        try:
            value = self.lookup(name)
        except source.Missing as error:
            raise Wrong(node, f"{error}{_near(name, self.known_names())}") from None
        if _is_number(value) or isinstance(value, tuple):
            self.constants[name] = value
        found = self.given(node, value)
        if isinstance(found, Constant) and not _usable(found.value):
            raise Wrong(
                node,
                f"{name} is {_described(value)}; a kernel uses numbers, dtypes, tuples of numbers, "
                f"modules and helpers of the names around it. Pass arrays as arguments",
            )
        return found

    def is_given(self, name: str) -> bool:
        """Tell whether a name that is assigned to is that of a parameter."""
        return isinstance(self.parameters.get(name), tree.Expr)

    def known_names(self) -> list[str]:
        """Return names that a misspelled one may mean."""
        return [*self.local_names, *self.parameters]

    # --- operators --------------------------------------------------------------------------

    def _binop(self, node: ast.BinOp) -> tree.Expr:
        sign = _BINARY.get(type(node.op))
        if sign is None:
            raise Wrong(node, "the operator @ is not in the kernel language; write the loop")
        return self.operation(node, sign, self.number(node.left), self.number(node.right))

    def operation(self, node: ast.AST, sign: str, x: tree.Expr, y: tree.Expr) -> tree.Expr:
        """Return an operator's value."""
        work = self.common(node, x, y)
        kind = work.kind
        if sign in ("<<", ">>", "&", "|", "^"):
            if kind == "f" or (kind == "b" and sign in ("<<", ">>")):
                raise Wrong(node, f"{sign} takes integers, not {x.type} and {y.type}")
        elif kind == "b":
            work = types.weak_int(1)  # True + True is 2
        if sign == "/" and work.kind in "iu":
            work = types.WEAK_FLOAT if work.weak else types.strong(self.setting.default)
        self.check_literals(node, work, x, y)
        result = work
        if work.weak and work.kind == "i":
            result = types.weak_int(_bits(sign, _scalar(x), _scalar(y), y))
            if result.bits > work.bits:
                work = result  # computed as wide as the value may be
            if sign == "**" and not (isinstance(y, tree.Literal) and y.value >= 0):
                work = result = types.WEAK_FLOAT if _negative(y) else types.weak_int(63)
        known = _folded(sign, x, y)
        if known is not None and known.bit_length() > types.ALL_BITS:
            raise Wrong(node, f"{known} does not fit 64 bits")
        if known is not None:
            return tree.Literal(node, types.of_python(known), known)
        return tree.Operation(node, result, sign, [x, y], work)

    def common(self, node: ast.AST, *operands: tree.Expr) -> Scalar:
        """Return the type that operands are computed in."""
        found = _scalar(operands[0])
        try:
            for one in operands[1:]:
                found = types.promoted(found, _scalar(one), self.setting.default)
        except types.Mismatch as error:
            raise Wrong(node, str(error)) from None
        self.check_dtype(node, found)
        return found

    def check_dtype(self, node: ast.AST, type_: Scalar) -> None:
        """Refuse a dtype that the device has not."""
        if type_.dtype is not None and type_.dtype not in self.setting.dtypes:
            raise Wrong(node, f"{self.setting.device or 'the device'} has no {type_.dtype}")

    def check_literals(self, node: ast.AST, work: Scalar, *operands: tree.Expr) -> None:
        """Refuse literals that the dtype of the others does not hold."""
        if work.dtype is None or work.dtype.kind not in "iu":
            return
        limits = np.iinfo(work.dtype)
        for one in operands:
            if isinstance(one, tree.Literal) and not limits.min <= one.value <= limits.max:
                raise Wrong(
                    node, f"{one.value} does not fit {work.dtype}, that of the other operand"
                )

    def _unaryop(self, node: ast.UnaryOp) -> tree.Expr:
        if isinstance(node.op, ast.Not):
            return tree.Logic(node, types.TRUTH, "not", [self.truth(node.operand)])
        x = self.number(node.operand)
        sign = _UNARY[type(node.op)]
        if isinstance(x, tree.Literal) and not isinstance(x.value, bool) and sign != "~x":
            value = -x.value if sign == "-x" else x.value
            return tree.Literal(node, types.of_python(value), value)
        work = _scalar(x)
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
            parts.append(self.comparison(node, sign, self.number(left), self.number(right)))
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
            same = _dtype_of(first) == _dtype_of(second) if _dtype_of(first) else first == second
            return tree.Literal(node, types.TRUTH, same == (sign == "=="))
        if all(isinstance(one, tree.Literal) for one in values):
            a, b = (one.value for one in values)  # type: ignore[union-attr]
            found = {"==": a == b, "!=": a != b, "<": a < b, "<=": a <= b, ">": a > b, ">=": a >= b}
            return tree.Literal(node, types.TRUTH, found[sign])
        return None

    def comparison(self, node: ast.AST, sign: str, x: tree.Expr, y: tree.Expr) -> tree.Expr:
        """Return a comparison's truth."""
        work = self.common(node, x, y)
        self.check_literals(node, work, x, y)
        return tree.Compare(node, types.TRUTH, sign, x, y, work)

    def _boolop(self, node: ast.BoolOp) -> tree.Expr:
        sign = "and" if isinstance(node.op, ast.And) else "or"
        return tree.Logic(node, types.TRUTH, sign, [self.truth(one) for one in node.values])

    def _ifexp(self, node: ast.IfExp) -> tree.Expr:
        return self.select(
            node, self.truth(node.test), self.number(node.body), self.number(node.orelse)
        )

    def select(self, node: ast.AST, condition: tree.Expr, x: tree.Expr, y: tree.Expr) -> tree.Expr:
        """Return one of two numbers."""
        return tree.Select(node, self.common(node, x, y), condition, x, y)

    def _tuple(self, node: ast.Tuple) -> tree.Expr:
        items = [self.number(one) for one in node.elts]
        if not items:
            raise Wrong(node, "an empty tuple is not in the kernel language")
        return tree.Items(node, Tuple(tuple(_scalar(one) for one in items)), items)

    # --- arrays -----------------------------------------------------------------------------

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
                return tree.Items(node, Tuple(tuple(_scalar(one) for one in sizes)), sizes)
            if name == "size":
                out: tree.Expr = tree.Literal(node, types.weak_int(1), 1)
                for size in sizes:
                    out = self.operation(node, "*", out, size)
                # The number of elements of an array that exists.
                return tree.Cast(node, types.weak_int(self.setting.index_bits), out)
            raise Wrong(
                node,
                f"arrays have no {name!r} in kernels; they have {', '.join(_ARRAY_ATTRIBUTES)}",
            )
        if isinstance(owner, Constant) and isinstance(owner.value, ModuleType):
            try:
                return self.given(node, getattr(owner.value, name))
            except AttributeError:
                near = _near(name, dir(owner.value))
                raise Wrong(node, f"{owner.value.__name__} has no {name!r}{near}") from None
        raise Wrong(node, f"{ast.unparse(node.value)} has no {name!r} in kernels")

    def size(self, node: ast.AST, array: Array, axis: int) -> tree.Expr:
        """Return the size of an array along an axis."""
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
        if _scalar(at).kind not in "iu":
            raise Wrong(node, f"an index is an integer, not {at.type}; write int(...)")
        out = items[-1]
        for place in range(len(items) - 2, -1, -1):
            literal = tree.Literal(node, types.of_python(place), place)
            out = self.select(node, self.comparison(node, "==", at, literal), items[place], out)
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
            if _scalar(one).kind not in "iu":
                raise Wrong(node, f"an index is an integer, not {one.type}; write int(...)")
            if isinstance(one, tree.Literal) and one.value < 0:
                raise Wrong(
                    node,
                    f"negative indices do not count from the end in kernels; write "
                    f"{array.name}.shape[axis] - {-one.value}",
                )
        return found

    # --- calls ------------------------------------------------------------------------------

    def _call(self, node: ast.Call) -> Value:
        if isinstance(node.func, ast.Attribute):
            owner = self.value(node.func.value)
            if isinstance(owner, (Array, tree.Expr)):
                raise Wrong(
                    node, f"methods such as .{node.func.attr}() are not in the kernel language"
                )
        function = self.value(node.func)
        if not isinstance(function, Constant):
            raise Wrong(node, f"{ast.unparse(node.func)} is no function")
        target = function.value
        word = language_word(target)
        if word is not None:
            return self._language(node, word)
        if isinstance(target, Helper):
            return self.helper_call(node, target, self.arguments(node))
        dtype = _dtype_of(target)
        if dtype is not None:
            return self.cast(node, dtype, *self.arguments(node, 1))
        return self._function(node, target)

    def arguments(self, node: ast.Call, count: int | None = None) -> list[ast.expr]:
        """Return the arguments of a call, which are positional."""
        name = ast.unparse(node.func)
        if node.keywords:
            raise Wrong(node, f"{name} takes no keyword arguments in kernels")
        if count is not None and len(node.args) != count:
            raise Wrong(node, f"{name} takes {count} arguments, got {len(node.args)}")
        return list(node.args)

    def cast(self, node: ast.AST, dtype: DType, argument: ast.expr) -> tree.Expr:
        """Return a conversion."""
        self.check_dtype(node, types.strong(dtype))
        value = self.number(argument)
        if isinstance(value, tree.Literal) and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not math.isfinite(value.value) or not limits.min <= int(value.value) <= limits.max:
                raise Wrong(node, f"{value.value} does not fit {dtype}")
        return tree.Cast(node, types.strong(dtype), value)

    def _function(self, node: ast.Call, target: Any) -> tree.Expr:
        name = getattr(target, "__name__", "")
        module = getattr(target, "__module__", "") or ""
        told = ast.unparse(node.func)
        if target in (int, float, bool):
            return self._python_cast(node, target)
        if target is len:
            (argument,) = self.arguments(node, 1)
            array = self.value(argument)
            if isinstance(array, tree.Expr) and isinstance(array.type, Tuple):
                count = len(array.type.items)
                return tree.Literal(node, types.of_python(count), count)
            if not isinstance(array, Array) or not array.ndim:
                raise Wrong(node, "len takes an array with axes, or a tuple")
            return self.size(node, array, 0)
        table: Mapping[str, str] | None = None
        if module == "builtins":
            table = functions.BUILTINS
        elif module == "math":
            table = functions.MATH
        elif module.partition(".")[0] == "portarray" or isinstance(target, np.ufunc):
            table = functions.NAMESPACE
            if name in functions.OPERATORS or name in functions.COMPARISONS:
                return self._named_operator(node, name)
            if name == "where":
                test, x, y = self.arguments(node, 3)
                return self.select(node, self.truth(test), self.number(x), self.number(y))
            if name == "clip":
                x, low, high = self.arguments(node, 3)
                lower = self.row(node, "maximum", [self.number(x), self.number(low)])
                return self.row(node, "minimum", [lower, self.number(high)])
            if name.startswith("logical_"):
                words = {"logical_and": "and", "logical_or": "or", "logical_not": "not"}
                parts = [self.truth(one) for one in self.arguments(node)]
                if name == "logical_xor":
                    return self.comparison(node, "!=", *parts)
                return tree.Logic(node, types.TRUTH, words[name], parts)
        if table is None or name not in table:
            if target is print:
                raise Wrong(node, "print is not in the kernel language; kl.print is, in debug mode")
            if isinstance(target, FunctionType) and not module.startswith("portarray"):
                raise Wrong(
                    node, f"{told} is no helper of kernels; mark it with @pa.kernel.function"
                )
            known = [*functions.MATH, *functions.NAMESPACE, *functions.BUILTINS]
            raise Wrong(node, f"{told} is not in the kernel language{_near(name or told, known)}")
        values = [self.number(one) for one in self.arguments(node)]
        row = table[name]
        if row in ("min", "max") and len(values) > 2:
            out = values[0]
            for one in values[1:]:
                out = self.row(node, row, [out, one])
            return out
        return self.row(node, row, values)

    def _named_operator(self, node: ast.Call, name: str) -> tree.Expr:
        values = [self.number(one) for one in self.arguments(node)]
        sign = functions.OPERATORS.get(name) or functions.COMPARISONS[name]
        if len(values) != (1 if "x" in sign else 2):
            raise Wrong(node, f"{name} got {len(values)} arguments")
        if name in functions.COMPARISONS:
            return self.comparison(node, sign, *values)
        if "x" in sign:
            return tree.Operation(node, _scalar(values[0]), sign, values, _scalar(values[0]))
        return self.operation(node, sign, *values)

    def row(self, node: ast.AST, name: str, values: list[tree.Expr]) -> tree.Expr:
        """Return a call of a function of the table."""
        row = ROWS[name]
        if len(values) != row.count:
            raise Wrong(node, f"{name} takes {row.count} arguments, got {len(values)}")
        work = self.common(node, *values)
        if work.kind == "b":
            work = types.weak_int(1)
        if work.kind in "iu" and not row.whole:
            work = types.WEAK_FLOAT if work.weak else types.strong(self.setting.default)
        self.check_literals(node, work, *values)
        result: Scalar = work
        if row.result == "bool":
            result = types.TRUTH
        elif row.result == "int":
            result = types.weak_int(work.bits if work.weak and work.kind == "i" else 63)
        return tree.Call(node, result, row, values, work)

    def _python_cast(self, node: ast.Call, target: type) -> tree.Expr:
        (argument,) = self.arguments(node, 1)
        value = self.number(argument)
        if target is bool:
            if _scalar(value).kind == "b":
                return value
            return self.comparison(node, "!=", value, tree.Literal(node, types.weak_int(1), 0))
        if target is int:
            return self.row(node, "whole", [value])
        return tree.Cast(node, types.WEAK_FLOAT, value)

    def _language(self, node: ast.Call, word: str) -> Value:
        if word in PLACES or word in _LINEAR:
            return self._place(node, word)
        if word in _ATOMICS:
            return self._atomic(node, word)
        if word in ("local", "private"):
            raise Wrong(
                node, f"kl.{word} stands alone on the right side of an assignment to a new name"
            )
        if word in ("barrier", "print"):
            raise Wrong(node, f"kl.{word}(...) is a statement of its own, without a value")
        raise Wrong(node, f"kl.{word} stands only in `for i in kl.{word}(range(...))`")

    def _place(self, node: ast.Call, word: str) -> tree.Expr:
        bits = self.setting.index_bits
        if word in _LINEAR:
            self.arguments(node, 0)
            return tree.Place(node, types.weak_int(bits), _LINEAR[word], None)
        given = self.arguments(node)
        ndim = self.setting.ndim
        if len(given) > 1:
            raise Wrong(node, f"kl.{word} takes an axis or nothing, got {len(given)} arguments")
        if given:
            axis = self.constant(given[0])
            if not isinstance(axis, int) or not -ndim <= axis < ndim:
                raise Wrong(node, f"{axis!r} is no axis of an ndrange of {ndim}")
            return tree.Place(node, types.weak_int(bits), word, axis % ndim)
        items: list[tree.Expr] = [
            tree.Place(node, types.weak_int(bits), word, axis) for axis in range(ndim)
        ]
        if ndim == 1:
            return items[0]
        return tree.Items(node, Tuple(tuple(_scalar(one) for one in items)), items)

    def _atomic(self, node: ast.Call, word: str) -> tree.Expr:
        operation = _ATOMICS[word]
        count = 4 if operation == "compare_exchange" else 3
        first, where, *rest = self.arguments(node, count)
        array = self.value(first)
        if not isinstance(array, Array) or array.space == "private":
            raise Wrong(node, f"kl.{word} takes a parameter or local memory first")
        allowed = ["int32", "uint32", "float32"]
        if self.setting.atomics64:
            allowed += ["int64", "uint64", "float64"]
        if str(array.dtype) not in allowed:
            raise Wrong(
                node, f"kl.{word} takes {', '.join(allowed)} here; {array.name} is {array.dtype}"
            )
        index = self.places(node, array, where)
        values = [self.converted(node, self.number(one), array.dtype) for one in rest]
        self.result.written.add(array.name)
        return tree.Atomic(node, types.strong(array.dtype), operation, array, index, values)

    def converted(self, node: ast.AST, value: tree.Expr, dtype: DType) -> tree.Expr:
        """Return a value as it is stored in an array of a dtype."""
        own = _scalar(value)
        if own.dtype == dtype:
            return value
        if isinstance(value, tree.Literal) and dtype.kind in "iu":
            limits = np.iinfo(dtype)
            if not math.isfinite(value.value) or not limits.min <= int(value.value) <= limits.max:
                raise Wrong(node, f"{value.value} does not fit {dtype}")
        return tree.Cast(node, types.strong(dtype), value)

    def helper_call(self, node: ast.Call, target: Any, given: list[ast.expr]) -> tree.Expr:
        """Return a call of a helper function."""
        raise NotImplementedError


def language_word(value: Any) -> str | None:
    """Return the name of one of the language's own functions."""
    own = isinstance(value, FunctionType) and value.__module__ == LANGUAGE
    return value.__name__ if own else None


def _scalar(x: tree.Expr) -> Scalar:
    assert isinstance(x.type, Scalar)
    return x.type


def _is_number(value: Any) -> bool:
    return isinstance(value, (bool, int, float, np.number, np.bool_))


def _dtype_of(value: Any) -> DType | None:
    """Return the dtype that a constant is, as ``pa.float32`` or ``numpy.float32``."""
    if value in (int, float, bool, complex) or isinstance(value, str):
        return None
    if isinstance(value, np.dtype):
        return value
    if isinstance(value, type) and issubclass(value, np.generic):
        return np.dtype(value)
    return None


def _usable(value: Any) -> bool:
    return (
        isinstance(value, (ModuleType, np.dtype, str, np.ufunc))
        or value is None
        or callable(value)
        or isinstance(value, Helper)
    )


def _described(value: Any) -> str:
    kind = type(value)
    article = "an" if kind.__name__[:1].lower() in "aeiou" else "a"
    return f"{article} {kind.__module__}.{kind.__name__}".replace("builtins.", "")


def _near(name: str, known: Any) -> str:
    found = difflib.get_close_matches(name, list(known), n=1, cutoff=0.7)
    return f"; did you mean {found[0]!r}?" if found else ""


def _known(x: tree.Expr) -> Any:
    if isinstance(x, tree.Literal):
        return x.value
    if isinstance(x, tree.Items):
        values = [_known(one) for one in x.items]
        return None if None in values else tuple(values)
    return None


def _negative(y: tree.Expr) -> bool:
    return isinstance(y, tree.Literal) and y.value < 0


def _folded(sign: str, x: tree.Expr, y: tree.Expr) -> int | None:
    """Return the value of an operator on literal integers, for shapes."""
    if not (isinstance(x, tree.Literal) and isinstance(y, tree.Literal)):
        return None
    a, b = x.value, y.value
    if type(a) is not int or type(b) is not int or sign not in ("+", "-", "*", "//", "%", "**"):
        return None
    if sign == "**":
        return a**b if 0 <= b < types.ALL_BITS * 2 else None
    if sign in ("//", "%") and not b:
        return None
    found = {"+": a + b, "-": a - b, "*": a * b}.get(sign)
    if found is None:
        found = a // b if sign == "//" else a % b
    return found


def _bits(sign: str, x: Scalar, y: Scalar, right: tree.Expr) -> int:
    """Return how many bits the absolute value of an integer result takes at most."""
    a, b = max(x.bits, 1), max(y.bits, 1)
    if sign in ("+", "-"):
        return max(a, b) + 1
    if sign == "*":
        return a + b
    if sign == "//":
        return a + 1
    if sign == "%":
        return b
    if sign in ("&", "|", "^", ">>"):
        return max(a, b) if sign != ">>" else a
    if isinstance(right, tree.Literal) and type(right.value) is int and right.value < 64:
        return a + right.value if sign == "<<" else a * max(right.value, 1)
    return types.ALL_BITS
