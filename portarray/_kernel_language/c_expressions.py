"""Prints typed expressions in C-like languages."""

from __future__ import annotations

from portarray._kernel_language import tree, types
from portarray._kernel_language.c_text import atom, closed, opened
from portarray._kernel_language.c_types import HALVES, Types, c_name
from portarray._kernel_language.deep import deep
from portarray._kernel_language.setting import MAX_AXES
from portarray._kernel_language.types import Array, Scalar, Tuple

_CHEAP = 12
"""Parts of a comparison that is computed whether its value is used or not."""


class Expressions:
    def __init__(self, function: tree.Function, types_: Types) -> None:
        self.function = function
        self.types = types_
        self.in_helper = function.result is not None
        # What each enclosing loop assigns to; of a helper that loops call, what changes in them.
        outer = types_.changing.get(id(function))
        self.changing: list[set[str]] = [] if outer is None else [outer]

    def converted(self, x: tree.Expr, to: Scalar) -> str:
        target = self.types.settled(to)
        if isinstance(x, tree.Literal):
            return self.types.literal(x.value, target)
        source = self.types.settled(x.scalar)
        text = self.text(x)
        return text if source == target else self.types.cast(text, source, target)

    @deep
    def text(self, x: tree.Expr) -> str:
        return str(getattr(self, f"_{type(x).__name__.lower()}")(x))

    def _literal(self, x: tree.Literal) -> str:
        return self.types.literal(x.value, self.types.settled(x.scalar))

    def _variable(self, x: tree.Variable) -> str:
        return self.types.name(x.name)

    def _size(self, x: tree.Size) -> str:
        return self.types.use("size", x.array, x.axis)

    def _position(self, x: tree.Position) -> str:
        ndim = self.types.setting.ndim
        if x.axis is None:
            return self.linear(x.name)
        if x.name == "index":
            return f"pa_index{x.axis}"
        if x.name == "global_size":
            return f"pa_ndrange{x.axis}"
        if ndim > MAX_AXES and x.axis < ndim - 1:
            return "0" if x.name.endswith("index") else "1"
        axis, d = (x.axis, ndim - 1 - x.axis) if ndim <= MAX_AXES else (0, 0)
        kind = self.types.offset
        if self.types.wide and x.name == "group_index":
            return f"(({kind})PA_GROUP_INDEX({d}) + pa_origin{axis} / PA_GROUP_SIZE({d}))"
        if self.types.wide and x.name == "group_count":
            size = f"({kind})PA_GROUP_SIZE({d})"
            return f"(({self.types.length(axis)} + {size} - 1) / {size})"
        return f"({kind})PA_{x.name.upper()}({d})"

    def linear(self, name: str) -> str:
        ndim, kind = self.types.setting.ndim, self.types.offset
        if name == "index":
            parts = [f"pa_index{axis}" for axis in range(ndim)]
            sizes = [f"pa_ndrange{axis}" for axis in range(ndim)]
        elif ndim > MAX_AXES:
            return f"({kind})PA_LOCAL_INDEX(0)"
        else:
            parts = [f"({kind})PA_LOCAL_INDEX({ndim - 1 - axis})" for axis in range(ndim)]
            sizes = [f"({kind})PA_GROUP_SIZE({ndim - 1 - axis})" for axis in range(ndim)]
        out = parts[0]
        for part, size in zip(parts[1:], sizes[1:], strict=True):
            out = f"({out} * {size} + {part})"
        return out

    def _load(self, x: tree.Load) -> str:
        return self.loaded(x.array, self.element(x.array, x.index))

    def loaded(self, array: Array, offset: str) -> str:
        name = self.types.name(array.name)
        if array.dtype.name in HALVES:
            return f"pa_load_{c_name(array.dtype)}({name} + {offset})"
        if array.dtype.kind == "b":
            return f"({name}[{offset}] != 0)"
        return f"{name}[{offset}]"

    def element(self, array: Array, index: list[tree.Expr]) -> str:
        """Return an element's offset in memory, in elements."""
        if not index:
            return "0"
        parts = [self.index(stride) for stride in index]
        # CPUs' compilers see in products of 64 bits, which do not wrap around, which elements are
        # neighbours.
        wide = "(i64)" if self.types.dialect.long_places and not self.types.wide else ""
        if array.strided:
            strides = [self.types.use("stride", array, axis) for axis in range(array.ndim)]
            return " + ".join(
                f"{wide}{n} * {stride}" for n, stride in zip(parts, strides, strict=True)
            )
        out = parts[0]
        if wide and len(parts) > 1:
            out = f"({wide}{out})"
        for axis, part in enumerate(parts[1:], start=1):
            shape = array.shape
            size = str(shape[axis]) if shape is not None else self.types.use("size", array, axis)
            out = f"({out}) * {size} + {part}" if not atom(out) else f"{out} * {size} + {part}"
        return out

    def index(self, x: tree.Expr) -> str:
        """Return an index in the width of indices, or of 64 bits.

        Sums, differences and products modulo 2**32 are right where the whole is in bounds. Values
        that are kept in 64 bits stay so: Intel's CPU compiler takes the places of neighbouring
        work-items for neighbours where their 64-bit distance, cut to 32 bits, changes in a loop.
        """
        if isinstance(x, tree.Literal):
            return str(x.value)
        if not self.types.wide and x.scalar.weak and x.scalar.bits > 31 and self.is_narrow(x):
            assert isinstance(x, tree.Operation)
            first, second = (self.index(operand) for operand in x.operands)
            return f"(i32)((u32){closed(first)} {x.sign} (u32){closed(second)})"
        stored = self.types.settled(x.scalar).dtype
        assert stored is not None
        target = types.INT64 if self.types.wide or stored.itemsize == 8 else types.INT32
        value = closed(self.text(x))
        return value if stored == target else f"(i{8 * target.itemsize}){value}"

    def is_narrow(self, x: tree.Expr) -> bool:
        """Return whether an integer is computed from values of at most 32 bits."""
        if isinstance(x, tree.Operation) and x.sign in ("+", "-", "*") and len(x.operands) == 2:
            return all(self.is_narrow(operand) for operand in x.operands)
        dtype = self.types.settled(x.scalar).dtype
        return isinstance(x, tree.Literal) or (dtype is not None and dtype.itemsize <= 4)

    def _operation(self, x: tree.Operation) -> str:
        operands = x.operands
        work = self.types.settled(x.work)
        if x.sign in ("<<", ">>"):
            return self.shifted(x, work)
        converted = [self.converted(operand, x.work) for operand in operands]
        name = c_name(work.strong_dtype)
        if len(converted) == 1:
            return self.unary(x.sign, converted[0], x.work, work)
        if work.kind == "i" and not x.work.weak and (unary := _as_unary(x.sign, *operands)):
            sign, n = unary
            return self.unary(sign, converted[n], x.work, work)
        a, b = converted
        if work.strong_dtype.name in HALVES:
            return self.rounded(self.floating(x, a, b, "f32"), work)
        if work.kind == "f":
            return self.floating(x, a, b, name)
        if x.sign in ("&", "|", "^"):
            return f"({a} {x.sign} {b})" if work.kind != "b" else f"(bool)({a} {x.sign} {b})"
        if work.kind == "c":
            word = {"+": "add", "-": "sub", "*": "mul", "/": "div"}[x.sign]
            return f"pa_{word}_{name}({a}, {b})"
        if x.sign in ("//", "%", "**"):
            word = {"//": "floordiv", "%": "mod", "**": "pow"}[x.sign]
            bits = max(32, 8 * work.strong_dtype.itemsize)
            if word == "floordiv" and work.kind == "i" and not x.work.weak:
                a = f"PA_OPAQUE(i{bits}, {a})"
            out = f"pa_{word}_{work.kind}{bits}({a}, {b})"
            return out if bits == 8 * work.strong_dtype.itemsize else f"({name}){out}"
        return self.wrapped(f"{a} {x.sign} {b}", (a, b), x.sign, x.work, work)

    def wrapped(
        self, plain: str, operands: tuple[str, ...], sign: str, type_: Scalar, work: Scalar
    ) -> str:
        """Return integer arithmetic that wraps around if its dtype is explicit."""
        name = c_name(work.strong_dtype)
        if type_.weak or name in ("u32", "u64"):
            return f"({plain})"
        if work.strong_dtype.itemsize < 4:
            return f"({name})({plain})"
        unsigned = name.replace("i", "u")
        parts = [f"({unsigned}){closed(operand)}" for operand in operands]
        inner = f" {sign} ".join(parts) if len(parts) > 1 else f"{sign}{parts[0]}"
        return f"({name})({inner})"

    def unary(self, sign: str, a: str, type_: Scalar, work: Scalar) -> str:
        if sign == "+x":
            return a
        if sign == "~x":
            name = c_name(work.strong_dtype)
            return f"(!{closed(a)})" if work.kind == "b" else f"PA_INVERT({name}, {a})"
        if work.kind == "f":
            return f"(-{closed(a)})"
        if work.kind == "c":
            return f"pa_neg_{c_name(work.strong_dtype)}({a})"
        if work.kind == "i" and not type_.weak:
            name = c_name(work.strong_dtype)
            return f"PA_NEGATE({name}, {name.replace('i', 'u')}, {a})"
        return self.wrapped(f"-{closed(a)}", (a,), "-", type_, work)

    def floating(self, x: tree.Operation, a: str, b: str, name: str) -> str:
        if x.sign in ("//", "%"):
            return f"pa_{'floordiv' if x.sign == '//' else 'mod'}_{name}({a}, {b})"
        if x.sign == "**":
            power = x.operands[1]
            squared = isinstance(power, tree.Literal) and power.value == 2
            if squared and _may_repeat(x.operands[0], a):
                return f"({a} * {a})"
            return f"pow({a}, {b})"
        return f"({a} {x.sign} {b})"

    def shifted(self, x: tree.Operation, work: Scalar) -> str:
        value, count = x.operands
        bits = 8 * work.strong_dtype.itemsize
        a = self.converted(value, x.work)
        name = c_name(work.strong_dtype)
        if isinstance(count, tree.Literal) and 0 <= count.value < bits:
            if x.sign == ">>" or work.kind == "u":
                return f"(({name})({a} {x.sign} {count.value}))"
            unsigned = name.replace("i", "u")
            return f"(({name})(({unsigned}){closed(a)} << {count.value}))"
        word = "shl" if x.sign == "<<" else "shr"
        return f"pa_{word}_{name}({a}, {self.converted(count, types.strong(types.INT64))})"

    def rounded(self, text: str, work: Scalar) -> str:
        return f"pa_round_{c_name(work.strong_dtype)}_f32({text})"

    def _compare(self, x: tree.Compare) -> str:
        a, b = self.converted(x.first, x.work), self.converted(x.second, x.work)
        if x.work.kind == "c":
            kind = self.types.c_type(x.work)
            equal = f"pa_eq_{kind}({a}, {b})"
            return equal if x.sign == "==" else f"(!{equal})"
        return f"({a} {x.sign} {b})"

    def _logic(self, x: tree.Logic) -> str:
        if x.sign == "not":
            return f"(!{closed(self.text(x.operands[0]))})"
        sign = " && " if x.sign == "and" else " || "
        # Cheap and safe operands are evaluated without branches: vectorizing compilers turn
        # branches into masks, which take a third of a stencil's time.
        if all(map(_may_be_computed, x.operands)):
            sign = sign.replace("&&", "&").replace("||", "|")
        return f"({sign.join(self.text(operand) for operand in x.operands)})"

    def _select(self, x: tree.Select) -> str:
        # A chain of them has brackets around the whole: compilers limit their nesting.
        parts = []
        last: tree.Expr = x
        while isinstance(last, tree.Select) and last.scalar == x.scalar:
            first = self.converted(last.first, x.scalar)
            parts.append(f"{self.branch(last.condition)} ? {first} : ")
            last = last.second
        return f"({''.join(parts)}{self.converted(last, x.scalar)})"

    def branch(self, x: tree.Expr) -> str:
        """Return a condition's text, kept in its loop where it stays the same in it.

        In a helper that is called in a loop too: compilers put its text there.
        Compilers would take it out of the loop and make two loops; Intel's for CPUs then takes it
        for the same in all work-items.
        """
        if not self.changing:
            return self.text(x)
        if isinstance(x, tree.Logic):
            if x.sign == "not":
                return f"(!{closed(self.branch(x.operands[0]))})"
            sign = " && " if x.sign == "and" else " || "
            return f"({sign.join(self.branch(node) for node in x.operands)})"
        if tree.changes(x, self.changing[-1]):
            return self.text(x)
        # A helper's arguments may be a work-item's own, a kernel's are not.
        private = {*self.function.variables, *(self.function.parameters if self.in_helper else ())}
        varies = any(
            isinstance(node, (tree.Load, tree.HelperCall))
            or (isinstance(node, tree.Position) and node.name in ("index", "local_index"))
            or (isinstance(node, tree.Variable) and node.name in private)
            for node in tree.walk(x)
        )
        text = self.text(x)
        if not varies:
            return text
        return f"PA_KEEP({text if isinstance(x, tree.Sequence) else opened(text)})"

    def _call(self, x: tree.Call) -> str:
        work = self.types.settled(x.work)
        arguments = [self.converted(argument, x.work) for argument in x.arguments]
        form = x.row.whole if work.kind in "iub" and x.row.whole else x.row.c
        form = x.row.complex if work.kind == "c" else form
        if x.row.name == "abs" and work.kind == "i":  # of the lowest one: itself, as NumPy's
            kind = self.types.c_type(work)
            unsigned = kind.replace("i", "u")
            form = f"({{0}} < 0 ? PA_NEGATE({kind}, {unsigned}, {{0}}) : {{0}})"
        if x.row.name == "square" and work.kind in "iu" and all(map(atom, arguments)):
            return self.wrapped(f"{arguments[0]} * {arguments[0]}", (arguments[0],) * 2, "*",
                                x.work, work)  # fmt: skip
        # Arguments that are written twice are computed once.
        repeated = [n for n in range(len(arguments)) if form.count("{%d}" % n) > 1]  # noqa: UP031
        if any(not _may_repeat(x.arguments[n], arguments[n]) for n in repeated):
            return self.through_function(x, form, work, len(arguments), arguments)
        kinds = {"T": self.types.c_type(work), "R": self.types.c_type(x.scalar)}
        return self.finished(x, form.format(*arguments, **kinds), work)

    def finished(self, x: tree.Call, text: str, work: Scalar) -> str:
        if x.row.result == "int":
            return f"({c_name(self.types.settled(x.scalar).dtype)}){closed(text)}"  # type: ignore[arg-type]
        if work.strong_dtype.name in HALVES and x.row.result in ("same", "part"):
            return self.rounded(text, work)
        return text

    def through_function(
        self, x: tree.Call, form: str, work: Scalar, count: int, arguments: list[str]
    ) -> str:
        kind = self.types.c_type(work)
        result = kind if x.row.result == "int" else self.types.c_type(x.scalar)
        name = f"pa_{x.row.name}_{kind}"
        parameters = ", ".join(f"{kind} x{n}" for n in range(count))
        body = form.format(*(f"x{n}" for n in range(count)), T=kind)
        self.types.small[name] = f"PA_FUNCTION {result} {name}({parameters}) {{ return {body}; }}"
        return self.finished(x, f"{name}({', '.join(arguments)})", work)

    def _cast(self, x: tree.Cast) -> str:
        return self.converted(x.value, x.scalar)

    def _bitcast(self, x: tree.Bitcast) -> str:
        kinds = self.types.c_type(x.value.scalar), self.types.c_type(x.scalar)
        source, to = c_name(x.value.scalar.dtype), c_name(x.scalar.dtype)  # type: ignore[arg-type]
        put = f"pa_store_{source}(&both.a, x)" if source in ("f16", "bf16") else "both.a = x"
        get = f"pa_load_{to}(&both.b)" if to in ("f16", "bf16") else "both.b"
        name = f"pa_bits_of_{source}_as_{to}"
        body = f"union {{ {source} a; {to} b; }} both; {put}; return {get};"
        self.types.small[name] = f"PA_FUNCTION {kinds[1]} {name}({kinds[0]} x) {{ {body} }}"
        return f"{name}({self.text(x.value)})"

    def _items(self, x: tree.Items) -> str:
        kinds = tuple(self.types.c_type(item.type) for item in x.items)
        return f"make_{self.types.struct(kinds)}({', '.join(self.text(item) for item in x.items)})"

    def _item(self, x: tree.Item) -> str:
        return f"{self.text(x.value)}.i{x.position}"

    def _sequence(self, x: tree.Sequence) -> str:
        assignments = [
            f"{self.types.name(name)} = {self.stored(value, self.function.variables[name])}"
            for name, value in zip(x.names, x.values, strict=True)
        ]
        return f"({', '.join([*assignments, self.text(x.value)])})"

    def _atomic(self, x: tree.Atomic) -> str:
        array = x.array
        space = "local" if array.space == "local" else "global"
        operands = ", ".join(self.converted(value, types.strong(array.dtype)) for value in x.values)
        pointer = f"{self.types.name(array.name)} + {self.element(array, x.index)}"
        return f"pa_atomic_{x.operation}_{c_name(array.dtype)}_{space}({pointer}, {operands})"

    def _helpercall(self, x: tree.HelperCall) -> str:
        names = list(tree.run_time_parameters(x.helper))
        arguments = []
        for name, value in zip(names, x.arguments, strict=True):
            type_ = x.helper.parameters[name].type
            arguments.append(
                self.converted(value, type_) if isinstance(type_, Scalar) else self.text(value)
            )
        arguments += self.types.inherited(x.helper)
        return f"{self.types.generated('helper', x.helper.name)}({', '.join(arguments)})"

    def stored(self, value: tree.Expr, type_: Scalar | Tuple) -> str:
        """Return a value converted to a variable's type."""
        if isinstance(type_, Scalar):
            return self.converted(value, type_)
        if isinstance(value, tree.Items):
            kinds = tuple(self.types.c_type(item) for item in type_.items)
            items = [
                self.converted(item, kind)
                for item, kind in zip(value.items, type_.items, strict=True)
            ]
            return f"make_{self.types.struct(kinds)}({', '.join(items)})"
        return self.text(value)


def _as_unary(sign: str, x: tree.Expr, y: tree.Expr) -> tuple[str, int] | None:
    """Return the operator that one with a constant stands for, and the position of its operand."""
    a, b = _constant(x), _constant(y)
    if (sign == "-" and a == 0) or (sign in ("*", "//") and b == -1):
        return "-x", int(sign == "-")
    if (sign in ("-", "^") and a == -1) or (sign == "^" and b == -1):
        return "~x", int(a == -1)
    return ("-x", 1) if sign == "*" and a == -1 else None


def _constant(x: tree.Expr) -> int | None:
    while isinstance(x, tree.Cast):
        x = x.value
    return x.value if isinstance(x, tree.Literal) and type(x.value) is int else None


def _may_repeat(x: tree.Expr, text: str) -> bool:
    """Return whether an expression's text may be in a program twice."""
    return atom(text) and not any(
        tree.writes(node) or isinstance(node, tree.Sequence) for node in tree.walk(x)
    )


def _may_be_computed(x: tree.Expr) -> bool:
    """Return whether comparisons are cheap and safe to evaluate even if unused."""
    if isinstance(x, tree.Logic):
        return all(map(_may_be_computed, x.operands))
    if not isinstance(x, tree.Compare):
        return False
    parts = list(tree.walk(x))
    return len(parts) <= _CHEAP and all(
        isinstance(part, (tree.Compare, tree.Variable, tree.Literal, tree.Size, tree.Position))
        or (isinstance(part, tree.Operation) and part.sign in ("+", "-", "*", "-x"))
        or (isinstance(part, tree.Cast) and _is_whole(part.value))
        for part in parts
    )


def _is_whole(x: tree.Expr) -> bool:
    return isinstance(x.type, Scalar) and x.type.kind in "biu"
