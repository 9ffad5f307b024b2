"""The oracle of kernels: prints typed trees as Python, which runs for one work-item after another.

The printed functions have the file, the lines and the names of the user's: debuggers step through
the kernel, and tracebacks show it. Each conversion is a call of its own, so that NumPy's scalars
compute what the C of ``printer.py`` does (see ``arithmetic.py``).
"""

from __future__ import annotations

import ast
import types as pythons
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray import _codegen
from portarray._kernel_language import arithmetic, tree, types
from portarray._kernel_language.deep import deep
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.source import Source
from portarray._kernel_language.types import Array, DType, Number, Scalar, Tuple

ITEM = ".item"
"""The parameter of printed functions that holds the work-item."""

_OPERATORS: Mapping[str, type[ast.operator]] = {
    "+": ast.Add, "-": ast.Sub, "*": ast.Mult, "/": ast.Div, "//": ast.FloorDiv, "%": ast.Mod,
    "**": ast.Pow, "&": ast.BitAnd, "|": ast.BitOr, "^": ast.BitXor,
}  # fmt: skip
_COMPARISONS: Mapping[str, type[ast.cmpop]] = {
    "==": ast.Eq, "!=": ast.NotEq, "<": ast.Lt, "<=": ast.LtE, ">": ast.Gt, ">=": ast.GtE,
}  # fmt: skip
_LINEAR = {"index": "linear_index", "local_index": "local_linear_index"}


@dataclass(frozen=True, slots=True)
class Interpreted:
    """A kernel compiled to Python."""

    tree: tree.Function
    function: Callable[..., Any]
    codes: Mapping[pythons.CodeType, frozenset[str]]  # functions, and the user's names in them
    memories: tuple[Array, ...]  # of groups and work-items, in the order of their numbers
    convert: Mapping[str, Callable[[Any], Any]]  # the scalar arguments


def interpret(
    kernel: tree.Function, setting: Setting, source_of: Callable[[tree.Function], Source], *,
    checked: bool,
) -> Interpreted:  # fmt: skip
    """Return a kernel as Python.

    Parameters
    ----------
    source_of
        What tells the source of the kernel and of its helpers.
    checked
        Whether division by zero is an error.
    """
    shared = _Shared(setting, tree.weak_dtype(kernel, setting.default), checked)
    function = None
    for part in [*tree.helpers_of(kernel), kernel]:
        printer = _FunctionPrinter(part, source_of(part), shared)
        function = printer.compiled()
        shared.names[f".run_{part.name}"] = function
    assert function is not None
    convert = {}
    for name, parameter in kernel.parameters.items():
        if isinstance(parameter, tree.Variable):
            first = shared.converter(parameter.type)
            stored = kernel.variables.get(name, parameter.type)
            second = shared.converter(stored) if stored != parameter.type else None
            convert[name] = _both(first, second)
    return Interpreted(
        kernel, function, shared.codes, tuple(shared.memories), convert
    )  # fmt: skip


def _both(first: Callable[[Any], Any], second: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return first if second is None else lambda x: second(first(x))


class _Shared:
    """State that the functions of a kernel share."""

    def __init__(self, setting: Setting, weak: DType, checked: bool) -> None:
        self.weak = weak
        self.double = np.dtype(np.float64) in setting.dtypes
        self.checked = checked
        self.names: dict[str, Any] = {}
        self.codes: dict[pythons.CodeType, frozenset[str]] = {}
        self.memories: list[Array] = []

    def stored_dtype(self, type_: Scalar) -> DType | None:
        """Return the dtype in which a number is stored; None for Python integers."""
        is_int = type_.dtype is None and type_.kind == "i"
        return None if is_int else types.settled(type_, self.weak).dtype

    def converter(self, type_: Scalar | Tuple) -> Callable[[Any], Any]:
        assert isinstance(type_, Scalar)
        dtype = self.stored_dtype(type_)
        return arithmetic.whole if dtype is None else arithmetic.to(dtype, double=self.double)

    def use(self, name: str, value: Any) -> ast.expr:
        """Return a name bound to an object."""
        self.names[name] = value
        return ast.Name(name, ast.Load())


class _FunctionPrinter:
    def __init__(self, function: tree.Function, source: Source, shared: _Shared) -> None:
        self.function = function
        self.source = source
        self.shared = shared
        self.arrays = {
            parameter.name: name
            for name, parameter in function.parameters.items()
            if isinstance(parameter, Array)
        }

    def compiled(self) -> Callable[..., Any]:
        definition = self.source.node
        names = [
            name
            for name, parameter in self.function.parameters.items()
            if isinstance(parameter, (Array, tree.Variable))
        ]
        body = [*self.declarations(), *self.block(self.function.body)] or [ast.Pass()]
        printed = ast.FunctionDef(
            name=definition.name,
            args=ast.arguments(
                [], [ast.arg(name) for name in (*names, ITEM)], None, [], [], None, []
            ),
            body=body,
            decorator_list=[],
            returns=None,
            type_comment=None,
        )
        if hasattr(definition, "type_params"):
            printed.type_params = []  # type: ignore[attr-defined, unused-ignore]
        self.placed(printed, definition)
        function = _codegen.define_tree(printed, self.source.filename, self.shared.names)
        names_of = frozenset(self.source.function.__code__.co_varnames)
        self.shared.codes[function.__code__] = names_of
        return function

    def placed(self, node: Any, at: ast.AST) -> Any:
        """Set a node's position to that of another in the user's file."""
        if not hasattr(at, "lineno") or (
            isinstance(at, ast.FunctionDef) and isinstance(node, ast.expr)
        ):
            return node  # a parameter: the surrounding nodes have positions
        first_line = self.source.first - 1
        node.lineno = at.lineno + first_line
        node.col_offset = at.col_offset  # type: ignore[attr-defined]
        end = getattr(at, "end_lineno", None)
        node.end_lineno = at.lineno + first_line if end is None else end + first_line
        node.end_col_offset = getattr(at, "end_col_offset", None) or 0
        return node

    def call(self, name: str, value: Any, *arguments: ast.expr) -> ast.expr:
        """Return a call of an internal function."""
        return ast.Call(self.shared.use(f".{name}", value), list(arguments), [])

    def item(self, name: str) -> ast.expr:
        return ast.Attribute(ast.Name(ITEM, ast.Load()), name, ast.Load())

    def converted(self, x: tree.Expr, to: Scalar) -> ast.expr:
        if isinstance(x, tree.Literal):
            return self.placed(self.constant(x.value, to), x.at)  # type: ignore[no-any-return]
        return self.cast(self.text(x), x.scalar, to)

    def cast(self, value: ast.expr, source: Scalar, to: Scalar) -> ast.expr:
        target = self.shared.stored_dtype(to)
        if self.shared.stored_dtype(source) == target and source.kind == to.kind:
            return value
        name = "whole" if target is None else target.name
        return self.call(f"to_{name}", self.shared.converter(to), value)

    def constant(self, value: Number, type_: Scalar) -> ast.expr:
        dtype = self.shared.stored_dtype(type_)
        if dtype is None:
            return ast.Constant(int(value))
        if dtype.kind == "b":
            return ast.Constant(bool(value))
        converted = self.shared.converter(type_)(value)
        return self.shared.use(f".{dtype.name}_{value!r}", converted)

    @deep
    def text(self, x: tree.Expr) -> ast.expr:
        node: ast.expr = getattr(self, f"_{type(x).__name__.lower()}")(x)
        self.placed(node, x.at)
        return node

    def _literal(self, x: tree.Literal) -> ast.expr:
        return self.constant(x.value, x.scalar)

    def _variable(self, x: tree.Variable) -> ast.expr:
        return ast.Name(x.name, ast.Load())

    def array(self, array: Array) -> ast.expr:
        return ast.Name(self.arrays.get(array.name, array.name), ast.Load())

    def _size(self, x: tree.Size) -> ast.expr:
        shape = ast.Attribute(self.array(x.array), "shape", ast.Load())
        return ast.Subscript(shape, ast.Constant(x.axis), ast.Load())

    def _position(self, x: tree.Position) -> ast.expr:
        if x.axis is None:
            return self.item(_LINEAR[x.name])
        return ast.Subscript(self.item(x.name), ast.Constant(x.axis), ast.Load())

    def index(self, indices: Iterable[tree.Expr]) -> ast.expr:
        parts = [self.text(part) for part in indices]
        return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())

    def _load(self, x: tree.Load) -> ast.expr:
        return ast.Subscript(self.array(x.array), self.index(x.index), ast.Load())

    def _operation(self, x: tree.Operation) -> ast.expr:
        parts = [self.converted(operand, x.work) for operand in x.operands]
        work = self.shared.stored_dtype(x.work)
        if len(parts) == 1:
            return self.unary(x, parts[0])
        a, b = parts
        if x.sign in ("<<", ">>"):
            bits = 64 if work is None else 8 * work.itemsize
            name = f"{'left' if x.sign == '<<' else 'right'}_shift_{work or 'int'}"
            return self.call(name, arithmetic.shift(x.sign, bits, work), a, b)
        if work is not None and work.kind not in "iub":
            out = self.floating(x, a, b)
            return self.cast(out, types.WEAK_FLOAT, x.work) if work.itemsize == 2 else out
        if x.sign == "**":
            return self.call("power", arithmetic.power, a, b)
        if x.sign in ("//", "%") and (work is None or self.shared.checked):
            word = "floor_divide" if x.sign == "//" else "modulo"
            name = f"checked_{word}" if self.shared.checked else word
            return self.call(name, getattr(arithmetic, name), a, b)
        out = ast.BinOp(a, _OPERATORS[x.sign](), b)
        if work is None and x.scalar.bits >= types.ALL_BITS and x.sign in ("+", "-", "*"):
            return self.call("wide", arithmetic.wide, out)
        return out

    def floating(self, x: tree.Operation, a: ast.expr, b: ast.expr) -> ast.expr:
        if x.sign == "**":
            return self.call("float_power", arithmetic.float_power, a, b)
        if x.work.kind == "c" and x.sign in arithmetic.COMPLEX_OPERATORS:
            name, function = arithmetic.COMPLEX_OPERATORS[x.sign]
            return self.call(name, function, a, b)
        return ast.BinOp(a, _OPERATORS[x.sign](), b)

    def unary(self, x: tree.Operation, a: ast.expr) -> ast.expr:
        if x.sign == "+x":
            return a
        if x.sign == "~x":
            return ast.UnaryOp(ast.Not() if x.work.kind == "b" else ast.Invert(), a)
        return ast.UnaryOp(ast.USub(), a)

    def _compare(self, x: tree.Compare) -> ast.expr:
        a, b = self.converted(x.first, x.work), self.converted(x.second, x.work)
        return ast.Compare(a, [_COMPARISONS[x.sign]()], [b])

    def _logic(self, x: tree.Logic) -> ast.expr:
        if x.sign == "not":
            return ast.UnaryOp(ast.Not(), self.text(x.operands[0]))
        word = ast.And() if x.sign == "and" else ast.Or()
        return ast.BoolOp(word, [self.text(operand) for operand in x.operands])

    def _select(self, x: tree.Select) -> ast.expr:
        a, b = self.converted(x.first, x.scalar), self.converted(x.second, x.scalar)
        return ast.IfExp(self.text(x.condition), a, b)

    def _call(self, x: tree.Call) -> ast.expr:
        row, work = x.row, self.shared.stored_dtype(x.work)
        parts = [self.converted(argument, x.work) for argument in x.arguments]
        floating = work is not None and work.kind not in "iub"
        functions = arithmetic.FLOATS if floating else arithmetic.WHOLE
        word = f"{'float' if floating else 'int'}_{row.name}"
        if x.work.kind == "c":
            functions, word = arithmetic.COMPLEX, f"complex_{row.name}"
        out = self.call(word, functions.get(row.name, row.numpy), *parts)
        same = row.result in ("same", "part")
        if floating and work is not None and work.itemsize == 2 and same:
            return self.cast(out, types.WEAK_FLOAT, x.work)
        if row.result == "int" or (work is None and same):
            return self.call("wide", arithmetic.wide, out)
        return out

    def _cast(self, x: tree.Cast) -> ast.expr:
        return self.converted(x.value, x.scalar)

    def _bitcast(self, x: tree.Bitcast) -> ast.expr:
        source, to = x.value.scalar.dtype, x.scalar.dtype
        assert source is not None
        assert to is not None
        name = f"bits_of_{source.name}_as_{to.name}"
        return self.call(name, arithmetic.bits_as(source, to), self.text(x.value))

    def _items(self, x: tree.Items) -> ast.expr:
        return ast.Tuple([self.text(item) for item in x.items], ast.Load())

    def _item(self, x: tree.Item) -> ast.expr:
        return ast.Subscript(self.text(x.value), ast.Constant(x.position), ast.Load())

    def _sequence(self, x: tree.Sequence) -> ast.expr:
        assignments: list[ast.expr] = [
            ast.NamedExpr(
                ast.Name(name, ast.Store()), self.stored(value, self.function.variables[name])
            )
            for name, value in zip(x.names, x.values, strict=True)
        ]
        parts = ast.Tuple([*assignments, self.text(x.value)], ast.Load())
        return ast.Subscript(parts, ast.Constant(-1), ast.Load())

    def _atomic(self, x: tree.Atomic) -> ast.expr:
        change = ast.Attribute(self.array(x.array), "change", ast.Load())
        operands = [self.converted(value, types.strong(x.array.dtype)) for value in x.values]
        return ast.Call(change, [ast.Constant(x.operation), self.index(x.index), *operands], [])

    def _helpercall(self, x: tree.HelperCall) -> ast.expr:
        values = iter(x.arguments)
        parts: list[ast.expr] = []
        for parameter in x.helper.parameters.values():
            if isinstance(parameter, Array):
                parts.append(self.array(parameter))
            elif isinstance(parameter, tree.Variable):
                parts.append(self.stored(next(values), parameter.type))
        name = ast.Name(f".run_{x.helper.name}", ast.Load())
        return ast.Call(name, [*parts, ast.Name(ITEM, ast.Load())], [])

    def stored(self, x: tree.Expr, type_: Scalar | Tuple) -> ast.expr:
        """Return a value converted to a variable's type."""
        if isinstance(type_, Scalar):
            return self.converted(x, type_)
        if isinstance(x, tree.Items):
            pairs = zip(x.items, type_.items, strict=True)
            return ast.Tuple([self.converted(item, kind) for item, kind in pairs], ast.Load())
        if x.type == type_:
            return self.text(x)
        assert isinstance(x.type, Tuple)
        items = [tree.Item(x.at, item_type, x, n) for n, item_type in enumerate(x.type.items)]
        return self.stored(tree.Items(x.at, x.type, list(items)), type_)

    def declarations(self) -> list[ast.stmt]:
        """Return conversions of the parameters that a helper reassigns."""
        out: list[ast.stmt] = []
        for name, type_ in self.function.variables.items():
            parameter = self.function.parameters.get(name)
            if self.function.result is None or not isinstance(parameter, tree.Variable):
                continue
            if parameter.type != type_:
                target = ast.Name(name, ast.Store())
                out.append(ast.Assign([target], self.stored(parameter, type_)))
        return out

    @deep
    def block(self, body: Iterable[tree.Statement]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for statement in body:
            if isinstance(statement, tree.Block):
                out += self.block(statement.body)
                continue
            node = getattr(self, f"_do_{type(statement).__name__.lower()}")(statement)
            out.append(self.placed(node, statement.at))
        return out

    def body(self, body: Iterable[tree.Statement]) -> list[ast.stmt]:
        return self.block(body) or [ast.Pass()]

    def _do_assign(self, x: tree.Assign) -> ast.stmt:
        values = [
            self.stored(value, self.function.variables[name])
            for name, value in zip(x.names, x.values, strict=True)
        ]
        names: list[ast.expr] = [ast.Name(name, ast.Store()) for name in x.names]
        if len(names) == 1:
            return ast.Assign(names, values[0])
        return ast.Assign([ast.Tuple(names, ast.Store())], ast.Tuple(values, ast.Load()))

    def _do_store(self, x: tree.Store) -> ast.stmt:
        target = ast.Subscript(self.array(x.array), self.index(x.index), ast.Store())
        self.placed(target, x.at)
        return ast.Assign([target], self.converted(x.value, types.strong(x.array.dtype)))

    def _do_if(self, x: tree.If) -> ast.stmt:
        return ast.If(self.text(x.condition), self.body(x.first), self.block(x.second))

    def _do_while(self, x: tree.While) -> ast.stmt:
        return ast.While(self.text(x.condition), self.body(x.body), [])

    def _do_for(self, x: tree.For) -> ast.stmt:
        type_ = self.function.variables[x.name]
        assert isinstance(type_, Scalar)
        bounds = [self.converted(bound, type_) for bound in (x.start, x.stop, x.step)]
        numbers = self.call("range", arithmetic.steps, *bounds)
        dtype = self.shared.stored_dtype(type_)
        if dtype is not None:
            convert = self.shared.use(f".to_{dtype.name}", self.shared.converter(type_))
            numbers = self.call("converted_range", arithmetic.converted_range, convert, numbers)
        return ast.For(ast.Name(x.name, ast.Store()), numbers, self.body(x.body), [])

    def _do_jump(self, x: tree.Jump) -> ast.stmt:
        return ast.Break() if x.word == "break" else ast.Continue()

    def _do_return(self, x: tree.Return) -> ast.stmt:
        if x.value is None:
            return ast.Return(None)
        assert self.function.result is not None
        return ast.Return(self.stored(x.value, self.function.result))

    def _do_barrier(self, x: tree.Barrier) -> ast.stmt:
        return ast.Expr(ast.Yield(ast.Constant(self.source.line(x.at))))

    def _do_memory(self, x: tree.Memory) -> ast.stmt:
        self.shared.memories.append(x.array)
        slot = ast.Constant(len(self.shared.memories) - 1)
        allocated = ast.Call(self.item("memory"), [slot], [])
        return ast.Assign([ast.Name(x.array.name, ast.Store())], allocated)

    def _do_print(self, x: tree.Print) -> ast.stmt:
        values = [ast.Constant(v) if isinstance(v, str) else self.text(v) for v in x.values]
        return ast.Expr(ast.Call(self.item("print"), values, []))

    def _do_evaluate(self, x: tree.Evaluate) -> ast.stmt:
        return ast.Expr(self.text(x.value))
