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

from portarray._kernel_language import arithmetic, tree, types
from portarray._kernel_language.setting import Setting
from portarray._kernel_language.source import Source
from portarray._kernel_language.types import Array, DType, Scalar, Tuple

ITEM = "__item"
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
    """A kernel that Python runs."""

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
    shared = _Shared(setting, checked)
    function = None
    for one in [*tree.helpers_of(kernel), kernel]:
        printer = _Function(one, source_of(one), shared)
        function = printer.compiled()
        shared.names[f"__run_{one.name}"] = function
    assert function is not None
    convert = {}
    for name, given in kernel.parameters.items():
        if isinstance(given, tree.Variable):
            first = shared.converter(given.type)
            kept = kernel.variables.get(name, given.type)
            second = shared.converter(kept) if kept != given.type else None
            convert[name] = _both(first, second)
    return Interpreted(
        kernel, function, shared.codes, tuple(shared.memories), convert
    )  # fmt: skip


def _both(first: Callable[[Any], Any], second: Callable[[Any], Any] | None) -> Callable[[Any], Any]:
    return first if second is None else lambda x: second(first(x))


class _Shared:
    """What the functions of a kernel have in common."""

    def __init__(self, setting: Setting, checked: bool) -> None:
        self.setting = setting
        self.default = types.strong(setting.default)
        self.double = np.dtype(np.float64) in setting.dtypes
        self.checked = checked
        self.names: dict[str, Any] = {}
        self.codes: dict[pythons.CodeType, frozenset[str]] = {}
        self.memories: list[Array] = []

    def kept(self, type_: Scalar) -> DType | None:
        """Return the dtype in which a number is kept; None for Python's integers."""
        if type_.dtype is None:
            return self.setting.default if type_.kind == "f" else None
        return type_.dtype

    def converter(self, type_: Scalar | Tuple) -> Callable[[Any], Any]:
        """Return what converts a number to a type."""
        assert isinstance(type_, Scalar)
        dtype = self.kept(type_)
        return arithmetic.whole if dtype is None else arithmetic.to(dtype, double=self.double)

    def use(self, name: str, value: Any) -> ast.expr:
        """Return a name that stands for an object."""
        self.names[name] = value
        return ast.Name(name, ast.Load())


class _Function:
    """Prints one function."""

    def __init__(self, function: tree.Function, source: Source, shared: _Shared) -> None:
        self.function = function
        self.source = source
        self.shared = shared
        self.arrays = {
            given.name: name
            for name, given in function.parameters.items()
            if isinstance(given, Array)
        }

    def compiled(self) -> Callable[..., Any]:
        """Return the function."""
        own = self.source.node
        names = [
            name
            for name, given in self.function.parameters.items()
            if isinstance(given, (Array, tree.Variable))
        ]
        body = [*self.declarations(), *self.block(self.function.body)] or [ast.Pass()]
        printed = ast.FunctionDef(
            name=own.name,
            args=ast.arguments(
                [], [ast.arg(name) for name in (*names, ITEM)], None, [], [], None, []
            ),
            body=body,
            decorator_list=[],
            returns=None,
            type_comment=None,
        )
        if hasattr(own, "type_params"):
            printed.type_params = []  # type: ignore[attr-defined, unused-ignore]
        self.placed(printed, own)
        module = ast.Module([printed], [])
        ast.fix_missing_locations(module)
        found: dict[str, Any] = {}
        exec(compile(module, self.source.filename, "exec"), self.shared.names, found)  # noqa: S102
        function: Callable[..., Any] = found[own.name]
        names_of = frozenset(self.source.function.__code__.co_varnames)
        self.shared.codes[function.__code__] = names_of
        return function

    def placed(self, node: Any, at: ast.AST) -> Any:
        """Return a node at the place of another in the user's file."""
        if not hasattr(at, "lineno") or (
            isinstance(at, ast.FunctionDef) and isinstance(node, ast.expr)
        ):
            return node  # a parameter: where it is used is told by the nodes around it
        before, indent = self.source.first - 1, self.source.indent
        node.lineno = at.lineno + before
        node.col_offset = at.col_offset + indent  # type: ignore[attr-defined]
        end = getattr(at, "end_lineno", None)
        node.end_lineno = at.lineno + before if end is None else end + before
        node.end_col_offset = (getattr(at, "end_col_offset", None) or 0) + indent
        return node

    def call(self, name: str, value: Any, *arguments: ast.expr) -> ast.expr:
        """Return a call of one of the interpreter's own functions."""
        return ast.Call(self.shared.use(f"__{name}", value), list(arguments), [])

    def item(self, name: str) -> ast.expr:
        return ast.Attribute(ast.Name(ITEM, ast.Load()), name, ast.Load())

    # --- expressions ------------------------------------------------------------------------

    def converted(self, x: tree.Expr, to: Scalar) -> ast.expr:
        """Return a value in another type."""
        assert isinstance(x.type, Scalar)
        if isinstance(x, tree.Literal):
            return self.placed(self.number(x.value, to), x.at)  # type: ignore[no-any-return]
        return self.cast(self.text(x), x.type, to)

    def cast(self, value: ast.expr, own: Scalar, to: Scalar) -> ast.expr:
        target = self.shared.kept(to)
        if self.shared.kept(own) == target and own.kind == to.kind:
            return value
        name = "whole" if target is None else target.name
        return self.call(f"to_{name}", self.shared.converter(to), value)

    def number(self, value: bool | int | float, type_: Scalar) -> ast.expr:
        """Return a number that is known."""
        dtype = self.shared.kept(type_)
        if dtype is None:
            return ast.Constant(int(value))
        if dtype.kind == "b":
            return ast.Constant(bool(value))
        made = self.shared.converter(type_)(value)
        return self.shared.use(f"__{dtype.name}_{value!r}", made)

    def text(self, x: tree.Expr) -> ast.expr:
        """Return a value, in its own type."""
        node: ast.expr = getattr(self, f"_{type(x).__name__.lower()}")(x)
        self.placed(node, x.at)
        return node

    def _literal(self, x: tree.Literal) -> ast.expr:
        assert isinstance(x.type, Scalar)
        return self.number(x.value, x.type)

    def _variable(self, x: tree.Variable) -> ast.expr:
        return ast.Name(x.name, ast.Load())

    def array(self, array: Array) -> ast.expr:
        return ast.Name(self.arrays.get(array.name, array.name), ast.Load())

    def _size(self, x: tree.Size) -> ast.expr:
        shape = ast.Attribute(self.array(x.array), "shape", ast.Load())
        return ast.Subscript(shape, ast.Constant(x.axis), ast.Load())

    def _place(self, x: tree.Place) -> ast.expr:
        if x.axis is None:
            return self.item(_LINEAR[x.what])
        return ast.Subscript(self.item(x.what), ast.Constant(x.axis), ast.Load())

    def index(self, index: Iterable[tree.Expr]) -> ast.expr:
        parts = [self.text(one) for one in index]
        return parts[0] if len(parts) == 1 else ast.Tuple(parts, ast.Load())

    def _load(self, x: tree.Load) -> ast.expr:
        return ast.Subscript(self.array(x.array), self.index(x.index), ast.Load())

    def _operation(self, x: tree.Operation) -> ast.expr:
        parts = [self.converted(one, x.work) for one in x.operands]
        work = self.shared.kept(x.work)
        if len(parts) == 1:
            return self.unary(x, parts[0])
        a, b = parts
        if x.sign in ("<<", ">>"):
            bits = 64 if work is None else 8 * work.itemsize
            name = f"{'left' if x.sign == '<<' else 'right'}_shift_{work or 'int'}"
            return self.call(name, arithmetic.shift(x.sign, bits, work), a, b)
        if work is not None and work.kind not in "iub":
            out = self.floating(x.sign, a, b)
            return self.cast(out, types.WEAK_FLOAT, x.work) if work.itemsize == 2 else out
        if x.sign == "**":
            return self.call("power", arithmetic.power, a, b)
        if x.sign in ("//", "%") and (work is None or self.shared.checked):
            word = "floor_divide" if x.sign == "//" else "modulo"
            name = f"checked_{word}" if self.shared.checked else word
            return self.call(name, getattr(arithmetic, name), a, b)
        out = ast.BinOp(a, _OPERATORS[x.sign](), b)
        assert isinstance(x.type, Scalar)
        if work is None and x.type.bits >= types.ALL_BITS and x.sign in ("+", "-", "*"):
            return self.call("wide", arithmetic.wide, out)
        return out

    def floating(self, sign: str, a: ast.expr, b: ast.expr) -> ast.expr:
        if sign == "**":
            return self.call("float_power", arithmetic.float_power, a, b)
        return ast.BinOp(a, _OPERATORS[sign](), b)

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
        return ast.BoolOp(word, [self.text(one) for one in x.operands])

    def _select(self, x: tree.Select) -> ast.expr:
        assert isinstance(x.type, Scalar)
        a, b = self.converted(x.first, x.type), self.converted(x.second, x.type)
        return ast.IfExp(self.text(x.condition), a, b)

    def _call(self, x: tree.Call) -> ast.expr:
        row, work = x.row, self.shared.kept(x.work)
        parts = [self.converted(one, x.work) for one in x.arguments]
        floating = work is not None and work.kind not in "iub"
        own = arithmetic.FLOATS if floating else arithmetic.WHOLE
        word = f"{'float' if floating else 'int'}_{row.name}"
        out = self.call(word, own.get(row.name, row.numpy), *parts)
        if floating and work is not None and work.itemsize == 2 and row.result == "same":
            return self.cast(out, types.WEAK_FLOAT, x.work)
        if row.result == "int" or (work is None and row.result == "same"):
            return self.call("wide", arithmetic.wide, out)
        return out

    def _cast(self, x: tree.Cast) -> ast.expr:
        assert isinstance(x.type, Scalar)
        return self.converted(x.value, x.type)

    def _bitcast(self, x: tree.Bitcast) -> ast.expr:
        assert isinstance(x.type, Scalar)
        assert isinstance(x.value.type, Scalar)
        own, to = x.value.type.dtype, x.type.dtype
        assert own is not None
        assert to is not None
        name = f"bits_of_{own.name}_as_{to.name}"
        return self.call(name, arithmetic.bits_as(own, to), self.text(x.value))

    def _items(self, x: tree.Items) -> ast.expr:
        return ast.Tuple([self.text(one) for one in x.items], ast.Load())

    def _item(self, x: tree.Item) -> ast.expr:
        return ast.Subscript(self.text(x.value), ast.Constant(x.place), ast.Load())

    def _atomic(self, x: tree.Atomic) -> ast.expr:
        change = ast.Attribute(self.array(x.array), "change", ast.Load())
        values = [self.converted(one, types.strong(x.array.dtype)) for one in x.values]
        return ast.Call(change, [ast.Constant(x.operation), self.index(x.index), *values], [])

    def _helpercall(self, x: tree.HelperCall) -> ast.expr:
        values = iter(x.arguments)
        parts: list[ast.expr] = []
        for given in x.helper.parameters.values():
            if isinstance(given, Array):
                parts.append(self.array(given))
            elif isinstance(given, tree.Variable):
                parts.append(self.kept(next(values), given.type))
        name = ast.Name(f"__run_{x.helper.name}", ast.Load())
        return ast.Call(name, [*parts, ast.Name(ITEM, ast.Load())], [])

    def kept(self, x: tree.Expr, type_: Scalar | Tuple) -> ast.expr:
        """Return a value as a variable of a type keeps it."""
        if isinstance(type_, Scalar):
            return self.converted(x, type_)
        if isinstance(x, tree.Items):
            pairs = zip(x.items, type_.items, strict=True)
            return ast.Tuple([self.converted(one, kind) for one, kind in pairs], ast.Load())
        if x.type == type_:
            return self.text(x)
        assert isinstance(x.type, Tuple)
        items = [tree.Item(x.at, own, x, n) for n, own in enumerate(x.type.items)]
        return self.kept(tree.Items(x.at, x.type, list(items)), type_)

    # --- statements -------------------------------------------------------------------------

    def declarations(self) -> list[ast.stmt]:
        """Return the conversions of parameters of a helper that it assigns to."""
        out: list[ast.stmt] = []
        for name, type_ in self.function.variables.items():
            given = self.function.parameters.get(name)
            if self.function.result is None or not isinstance(given, tree.Variable):
                continue
            if given.type != type_:
                target = ast.Name(name, ast.Store())
                out.append(ast.Assign([target], self.kept(given, type_)))
        return out

    def block(self, body: Iterable[tree.Statement]) -> list[ast.stmt]:
        """Return statements."""
        out: list[ast.stmt] = []
        for one in body:
            if isinstance(one, tree.Block):
                out += self.block(one.body)
                continue
            node = getattr(self, f"_do_{type(one).__name__.lower()}")(one)
            out.append(self.placed(node, one.at))
        return out

    def body(self, body: Iterable[tree.Statement]) -> list[ast.stmt]:
        return self.block(body) or [ast.Pass()]

    def _do_assign(self, x: tree.Assign) -> ast.stmt:
        values = [
            self.kept(value, self.function.variables[name])
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
        bounds = [self.converted(one, type_) for one in (x.start, x.stop, x.step)]
        numbers = self.call("range", arithmetic.steps, *bounds)
        dtype = self.shared.kept(type_)
        if dtype is not None:
            convert = self.shared.use(f"__to_{dtype.name}", self.shared.converter(type_))
            numbers = self.call("each", arithmetic.each, convert, numbers)
        return ast.For(ast.Name(x.name, ast.Store()), numbers, self.body(x.body), [])

    def _do_jump(self, x: tree.Jump) -> ast.stmt:
        return ast.Break() if x.word == "break" else ast.Continue()

    def _do_return(self, x: tree.Return) -> ast.stmt:
        if x.value is None:
            return ast.Return(None)
        assert self.function.result is not None
        return ast.Return(self.kept(x.value, self.function.result))

    def _do_barrier(self, x: tree.Barrier) -> ast.stmt:
        return ast.Expr(ast.Yield(ast.Constant(self.source.line(x.at))))

    def _do_memory(self, x: tree.Memory) -> ast.stmt:
        self.shared.memories.append(x.array)
        number = ast.Constant(len(self.shared.memories) - 1)
        made = ast.Call(self.item("memory"), [number], [])
        return ast.Assign([ast.Name(x.array.name, ast.Store())], made)

    def _do_print(self, x: tree.Print) -> ast.stmt:
        values = [ast.Constant(v) if isinstance(v, str) else self.text(v) for v in x.values]
        return ast.Expr(ast.Call(self.item("print"), values, []))

    def _do_evaluate(self, x: tree.Evaluate) -> ast.stmt:
        return ast.Expr(self.text(x.value))
