"""Prints typed expressions in C-like languages."""

from __future__ import annotations

from portarray._kernel_language import tree, types
from portarray._kernel_language.c_text import atom, closed, opened
from portarray._kernel_language.c_types import HALVES, Types, c_name
from portarray._kernel_language.setting import MAX_AXES
from portarray._kernel_language.types import Array, Scalar, Tuple

_CHEAP = 12
"""Parts of a comparison that is computed whether its value is used or not."""


class Expressions:
    """Prints the expressions of a function."""

    def __init__(self, function: tree.Function, types_: Types) -> None:
        self.function = function
        self.types = types_
        self.in_helper = function.result is not None
        # What each enclosing loop assigns to; of a helper that loops call, what changes in them.
        outer = types_.changing.get(id(function))
        self.changing: list[set[str]] = [] if outer is None else [outer]

    def converted(self, x: tree.Expr, to: Scalar) -> str:
        """Return a value's text in another type."""
        assert isinstance(x.type, Scalar)
        target = self.types.settled(to)
        if isinstance(x, tree.Literal):
            return self.types.literal(x.value, target)
        own = self.types.settled(x.type)
        text = self.text(x)
        return text if own == target else self.types.cast(text, own, target)

    def text(self, x: tree.Expr) -> str:
        """Return a value's text, in its own type."""
        return str(getattr(self, f"_{type(x).__name__.lower()}")(x))

    def _literal(self, x: tree.Literal) -> str:
        assert isinstance(x.type, Scalar)
        return self.types.literal(x.value, self.types.settled(x.type))

    def _variable(self, x: tree.Variable) -> str:
        return self.types.name(x.name)

    def _size(self, x: tree.Size) -> str:
        return self.types.use("size", x.array, x.axis)

    def _place(self, x: tree.Place) -> str:
        ndim = self.types.setting.ndim
        if x.axis is None:
            return self.linear(x.what)
        if x.what == "index":
            return f"pa_index{x.axis}"
        if x.what == "global_size":
            return f"pa_ndrange{x.axis}"
        macro = f"PA_{x.what.upper()}"
        if ndim > MAX_AXES:
            if x.axis < ndim - 1:
                return "0" if x.what.endswith("index") else "1"
            return f"({self.types.offset}){macro}(0)"
        return f"({self.types.offset}){macro}({ndim - 1 - x.axis})"

    def linear(self, what: str) -> str:
        ndim, kind = self.types.setting.ndim, self.types.offset
        if what == "index":
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

    def loaded(self, array: Array, place: str) -> str:
        name = self.types.name(array.name)
        if array.dtype.name in HALVES:
            return f"pa_load_{c_name(array.dtype)}({name} + {place})"
        if array.dtype.kind == "b":
            return f"({name}[{place}] != 0)"
        return f"{name}[{place}]"

    def element(self, array: Array, index: list[tree.Expr]) -> str:
        """Return an element's place in memory, counted in elements."""
        if not index:
            return "0"
        parts = [self.index(one) for one in index]
        # CPUs' compilers see in products of 64 bits, which do not wrap around, which elements are
        # neighbours.
        wide = "(i64)" if self.types.dialect.long_places and not self.types.wide else ""
        if array.strided:
            strides = [self.types.use("stride", array, axis) for axis in range(array.ndim)]
            return " + ".join(f"{wide}{n} * {one}" for n, one in zip(parts, strides, strict=True))
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
        assert isinstance(x.type, Scalar)
        if isinstance(x, tree.Literal):
            return str(x.value)
        if not self.types.wide and x.type.weak and x.type.bits > 31 and self.is_narrow(x):
            assert isinstance(x, tree.Operation)
            first, second = (self.index(one) for one in x.operands)
            return f"(i32)((u32){closed(first)} {x.sign} (u32){closed(second)})"
        kept = self.types.settled(x.type).dtype
        assert kept is not None
        wanted = types.INT64 if self.types.wide or kept.itemsize == 8 else types.INT32
        value = closed(self.text(x))
        return value if kept == wanted else f"(i{8 * wanted.itemsize}){value}"

    def is_narrow(self, x: tree.Expr) -> bool:
        """Tell whether an integer is made of values of at most 32 bits."""
        if isinstance(x, tree.Operation) and x.sign in ("+", "-", "*") and len(x.operands) == 2:
            return all(self.is_narrow(one) for one in x.operands)
        assert isinstance(x.type, Scalar)
        kept = self.types.settled(x.type).dtype
        return isinstance(x, tree.Literal) or (kept is not None and kept.itemsize <= 4)

    def _operation(self, x: tree.Operation) -> str:
        operands = x.operands
        work = self.types.settled(x.work)
        if x.sign in ("<<", ">>"):
            return self.shifted(x, work)
        texts = [self.converted(one, x.work) for one in operands]
        assert work.dtype is not None
        name = c_name(work.dtype)
        if len(texts) == 1:
            return self.unary(x.sign, texts[0], x.work, work)
        a, b = texts
        if work.dtype.name in HALVES:
            return self.rounded(self.floating(x, a, b, "f32"), work)
        if work.kind == "f":
            return self.floating(x, a, b, name)
        if x.sign in ("&", "|", "^"):
            return f"({a} {x.sign} {b})" if work.kind != "b" else f"(bool)({a} {x.sign} {b})"
        if x.sign in ("//", "%", "**"):
            word = {"//": "floordiv", "%": "mod", "**": "pow"}[x.sign]
            bits = max(32, 8 * work.dtype.itemsize)
            out = f"pa_{word}_{work.kind}{bits}({a}, {b})"
            return out if bits == 8 * work.dtype.itemsize else f"({name}){out}"
        return self.wrapped(f"{a} {x.sign} {b}", (a, b), x.sign, x.work, work)

    def wrapped(
        self, plain: str, operands: tuple[str, ...], sign: str, type_: Scalar, work: Scalar
    ) -> str:
        """Return integer arithmetic that wraps around where a dtype was asked for."""
        assert work.dtype is not None
        name = c_name(work.dtype)
        if type_.weak or name in ("u32", "u64"):
            return f"({plain})"
        if work.dtype.itemsize < 4:
            return f"({name})({plain})"
        unsigned = name.replace("i", "u")
        parts = [f"({unsigned}){closed(one)}" for one in operands]
        inner = f" {sign} ".join(parts) if len(parts) > 1 else f"{sign}{parts[0]}"
        return f"({name})({inner})"

    def unary(self, sign: str, a: str, type_: Scalar, work: Scalar) -> str:
        assert work.dtype is not None
        if sign == "+x":
            return a
        if sign == "~x":
            name = c_name(work.dtype)
            return f"(!{closed(a)})" if work.kind == "b" else f"(({name})~{closed(a)})"
        if work.kind == "f":
            return f"(-{closed(a)})"
        return self.wrapped(f"-{closed(a)}", (a,), "-", type_, work)

    def floating(self, x: tree.Operation, a: str, b: str, name: str) -> str:
        if x.sign in ("//", "%"):
            return f"pa_{'floordiv' if x.sign == '//' else 'mod'}_{name}({a}, {b})"
        if x.sign == "**":
            power = x.operands[1]
            if isinstance(power, tree.Literal) and power.value == 2 and atom(a):
                return f"({a} * {a})"
            return f"pow({a}, {b})"
        return f"({a} {x.sign} {b})"

    def shifted(self, x: tree.Operation, work: Scalar) -> str:
        assert work.dtype is not None
        value, count = x.operands
        bits = 8 * work.dtype.itemsize
        a = self.converted(value, x.work)
        name = c_name(work.dtype)
        if isinstance(count, tree.Literal) and 0 <= count.value < bits:
            if x.sign == ">>" or work.kind == "u":
                return f"(({name})({a} {x.sign} {count.value}))"
            unsigned = name.replace("i", "u")
            return f"(({name})(({unsigned}){closed(a)} << {count.value}))"
        word = "shl" if x.sign == "<<" else "shr"
        return f"pa_{word}_{name}({a}, {self.converted(count, types.strong(types.INT64))})"

    def rounded(self, text: str, work: Scalar) -> str:
        assert work.dtype is not None
        return f"pa_round_{c_name(work.dtype)}_f32({text})"

    def _compare(self, x: tree.Compare) -> str:
        a, b = self.converted(x.first, x.work), self.converted(x.second, x.work)
        return f"({a} {x.sign} {b})"

    def _logic(self, x: tree.Logic) -> str:
        if x.sign == "not":
            return f"(!{closed(self.text(x.operands[0]))})"
        sign = " && " if x.sign == "and" else " || "
        # Where every operand may be computed, no branch stands between them: compilers that put
        # work-items into vectors make masks of branches, which takes a third of a stencil's time.
        if all(map(_may_be_computed, x.operands)):
            sign = sign.replace("&&", "&").replace("||", "|")
        return f"({sign.join(self.text(one) for one in x.operands)})"

    def _select(self, x: tree.Select) -> str:
        assert isinstance(x.type, Scalar)
        a, b = self.converted(x.first, x.type), self.converted(x.second, x.type)
        return f"({self.branch(x.condition)} ? {a} : {b})"

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
            return f"({sign.join(self.branch(one) for one in x.operands)})"
        if tree.changes(x, self.changing[-1]):
            return self.text(x)
        # A helper's arguments may be a work-item's own, a kernel's are not.
        kept = {*self.function.variables, *(self.function.parameters if self.in_helper else ())}
        own = any(
            isinstance(one, (tree.Load, tree.HelperCall))
            or (isinstance(one, tree.Place) and one.what in ("index", "local_index"))
            or (isinstance(one, tree.Variable) and one.name in kept)
            for one in tree.walk(x)
        )
        return f"PA_KEEP({opened(self.text(x))})" if own else self.text(x)

    def _call(self, x: tree.Call) -> str:
        work = self.types.settled(x.work)
        arguments = [self.converted(one, x.work) for one in x.arguments]
        form = x.row.whole if work.kind in "iub" and x.row.whole else x.row.c
        if x.row.name == "abs" and work.kind == "i":  # of the lowest one: itself, as NumPy's
            kind = self.types.c_type(work)
            unsigned = kind.replace("i", "u")
            form = f"({{0}} < 0 ? ({kind})(({unsigned})0 - ({unsigned}){{0}}) : {{0}})"
        # Arguments that are written twice are computed once.
        if any(form.count("{%d}" % n) > 1 and not atom(arg) for n, arg in enumerate(arguments)):  # noqa: UP031
            return self.through_function(x, form, work, len(arguments), arguments)
        return self.finished(x, form.format(*arguments, T=self.types.c_type(work)), work)

    def finished(self, x: tree.Call, text: str, work: Scalar) -> str:
        assert work.dtype is not None
        if x.row.result == "int":
            assert isinstance(x.type, Scalar)
            return f"({c_name(self.types.settled(x.type).dtype)}){closed(text)}"  # type: ignore[arg-type]
        if work.dtype.name in HALVES and x.row.result == "same":
            return self.rounded(text, work)
        return text

    def through_function(
        self, x: tree.Call, form: str, work: Scalar, count: int, arguments: list[str]
    ) -> str:
        kind = self.types.c_type(work)
        result = "bool" if x.row.result == "bool" else kind
        name = f"pa_{x.row.name}_{kind}"
        parameters = ", ".join(f"{kind} x{n}" for n in range(count))
        body = form.format(*(f"x{n}" for n in range(count)), T=kind)
        self.types.small[name] = f"PA_FUNCTION {result} {name}({parameters}) {{ return {body}; }}"
        return self.finished(x, f"{name}({', '.join(arguments)})", work)

    def _cast(self, x: tree.Cast) -> str:
        assert isinstance(x.type, Scalar)
        return self.converted(x.value, x.type)

    def _bitcast(self, x: tree.Bitcast) -> str:
        assert isinstance(x.type, Scalar)
        assert isinstance(x.value.type, Scalar)
        kinds = self.types.c_type(x.value.type), self.types.c_type(x.type)
        own, to = c_name(x.value.type.dtype), c_name(x.type.dtype)  # type: ignore[arg-type]
        put = f"pa_store_{own}(&both.a, x)" if own in ("f16", "bf16") else "both.a = x"
        get = f"pa_load_{to}(&both.b)" if to in ("f16", "bf16") else "both.b"
        name = f"pa_bits_of_{own}_as_{to}"
        body = f"union {{ {own} a; {to} b; }} both; {put}; return {get};"
        self.types.small[name] = f"PA_FUNCTION {kinds[1]} {name}({kinds[0]} x) {{ {body} }}"
        return f"{name}({self.text(x.value)})"

    def _items(self, x: tree.Items) -> str:
        kinds = tuple(self.types.c_type(one.type) for one in x.items)
        return f"make_{self.types.struct(kinds)}({', '.join(self.text(one) for one in x.items)})"

    def _item(self, x: tree.Item) -> str:
        return f"{self.text(x.value)}.i{x.place}"

    def _atomic(self, x: tree.Atomic) -> str:
        array = x.array
        space = "local" if array.space == "local" else "global"
        values = ", ".join(self.converted(one, types.strong(array.dtype)) for one in x.values)
        place = f"{self.types.name(array.name)} + {self.element(array, x.index)}"
        return f"pa_atomic_{x.operation}_{c_name(array.dtype)}_{space}({place}, {values})"

    def _helpercall(self, x: tree.HelperCall) -> str:
        names = list(tree.run_time_parameters(x.helper))
        texts = []
        for name, value in zip(names, x.arguments, strict=True):
            given = x.helper.parameters[name].type
            texts.append(
                self.converted(value, given) if isinstance(given, Scalar) else self.text(value)
            )
        texts += self.types.inherited(x.helper)
        return f"{self.types.name(x.helper.name)}({', '.join(texts)})"

    def kept(self, value: tree.Expr, type_: Scalar | Tuple) -> str:
        """Return a value as a variable of a type keeps it."""
        if isinstance(type_, Scalar):
            return self.converted(value, type_)
        if isinstance(value, tree.Items):
            kinds = tuple(self.types.c_type(one) for one in type_.items)
            texts = [
                self.converted(one, kind)
                for one, kind in zip(value.items, type_.items, strict=True)
            ]
            return f"make_{self.types.struct(kinds)}({', '.join(texts)})"
        return self.text(value)


def _may_be_computed(x: tree.Expr) -> bool:
    """Tell whether a comparison, or several, is cheap and safe where its value is not used."""
    if isinstance(x, tree.Logic):
        return all(map(_may_be_computed, x.operands))
    if not isinstance(x, tree.Compare):
        return False
    parts = list(tree.walk(x))
    return len(parts) <= _CHEAP and all(
        isinstance(one, (tree.Compare, tree.Variable, tree.Literal, tree.Size, tree.Place))
        or (isinstance(one, tree.Operation) and one.sign in ("+", "-", "*", "-x"))
        or (isinstance(one, tree.Cast) and _is_whole(one.value))
        for one in parts
    )


def _is_whole(x: tree.Expr) -> bool:
    return isinstance(x.type, Scalar) and x.type.kind in "biu"
