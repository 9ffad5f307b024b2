"""Prints typed trees as programs of C-like languages.

One printer for all dialects: what differs between OpenCL C, CUDA, HIP and Metal are the macros and
functions of their preludes (``preludes/*.h``), in which all names begin with ``pa_`` or ``PA_``.
Numbers are ``i8`` to ``u64``, ``f32`` and ``f64``; float16 and bfloat16 are stored as such, and
computed in float32 and rounded after each operation, as NumPy does.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from portarray._kernel_language import tree, types
from portarray._kernel_language.dialects import RESERVED, Dialect
from portarray._kernel_language.expressions import Setting
from portarray._kernel_language.types import Array, DType, Scalar, Tuple

_SHORT = {"int": "i", "uint": "u", "float": "f"}
_HALVES = ("float16", "bfloat16")
_MAX_AXES = 3
"""Axes that devices count; of more, places are computed from a linear one."""


def c_name(dtype: DType) -> str:
    """Return the name of a dtype in programs: of what memory holds."""
    name = dtype.name
    if name == "bool":
        return "pa_bool"
    if name == "bfloat16":
        return "bf16"
    word = name.rstrip("0123456789")
    return _SHORT[word] + name[len(word) :]


@dataclass(frozen=True, slots=True)
class Value:
    """A parameter of a program after the pointers: what it is, and its dtype."""

    what: str  # "size", "stride", "offset", "ndrange", "argument"
    name: str
    axis: int
    dtype: DType


@dataclass(slots=True)
class Printed:
    """A program."""

    name: str
    text: str
    arrays: list[Array] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)


def print_kernel(
    kernel: tree.Function,
    setting: Setting,
    dialect: Dialect,
    *,
    offsets: bool,
) -> Printed:
    """Return the program of a kernel.

    Parameters
    ----------
    offsets
        Whether pointers are to whole buffers, with an offset for each array.
    """
    return _Kernel(kernel, setting, dialect).printed(offsets=offsets)


class _Printer:
    """Prints one function."""

    def __init__(self, function: tree.Function, setting: Setting, dialect: Dialect) -> None:
        self.function = function
        self.setting = setting
        self.dialect = dialect
        self.default = types.strong(setting.default)
        self.wide = setting.index_bits > 31
        self.offset = "i64" if self.wide else "i32"
        self.used: dict[tuple[str, str, int], DType] = {}  # sizes and strides that are read
        self.tuples: dict[tuple[str, ...], str] = {}
        self.count = 0
        self.changing: list[set[str]] = []  # what each enclosing loop assigns to

    # --- names and types --------------------------------------------------------------------

    def name(self, name: str) -> str:
        """Return a user's name, changed where it means something in the language."""
        if name in RESERVED or name.startswith(("pa_", "PA_", "get_")) or not name.isascii():
            return f"{name.encode('ascii', 'backslashreplace').decode().replace(chr(92), '_')}_"
        return name

    def settled(self, type_: Scalar) -> Scalar:
        """Return the dtype in which a number is kept; a weak one has one too."""
        if not type_.weak:
            return type_
        if type_.kind == "f":
            return self.default
        return types.strong(types.INT32 if type_.bits <= 31 else types.INT64)

    def c_type(self, type_: Scalar | Tuple) -> str:
        """Return the type of a variable."""
        if isinstance(type_, Tuple):
            return self.struct(tuple(self.c_type(one) for one in type_.items))
        dtype = self.settled(type_).dtype
        assert dtype is not None
        if dtype.name in _HALVES:
            return "f32"
        return "bool" if dtype.kind == "b" else c_name(dtype)

    def struct(self, items: tuple[str, ...]) -> str:
        """Return the type of a tuple."""
        return self.tuples.setdefault(items, f"pa_tuple_{'_'.join(items)}")

    # --- expressions ------------------------------------------------------------------------

    def converted(self, x: tree.Expr, to: Scalar) -> str:
        """Return a value's text in another type."""
        assert isinstance(x.type, Scalar)
        target = self.settled(to)
        if isinstance(x, tree.Literal):
            return self.literal(x.value, target)
        own = self.settled(x.type)
        text = self.text(x)
        return text if own == target else self.cast(text, own, target)

    def cast(self, text: str, own: Scalar, target: Scalar) -> str:
        assert target.dtype is not None
        assert own.dtype is not None
        if target.kind == "b":
            return f"({text} != 0)"
        if target.dtype.name in _HALVES:
            if own.dtype == target.dtype:
                return text
            # Integers that float32 does not hold are rounded once.
            wide = "f64" if own.dtype.itemsize > 4 and self.has_double() else "f32"
            return f"pa_round_{c_name(target.dtype)}_{wide}(({wide}){text})"
        name = c_name(target.dtype)
        if own.dtype.name in _HALVES and name == "f32":
            return text
        return f"({name}){text}" if _atom(text) else f"({name})({text})"

    def has_double(self) -> bool:
        return np.dtype(np.float64) in self.setting.dtypes

    def literal(self, value: bool | int | float, target: Scalar) -> str:
        """Return a literal of a type."""
        dtype = target.dtype
        assert dtype is not None
        if dtype.kind == "b":
            return "true" if value else "false"
        if target.kind == "f":
            if dtype.name in _HALVES:
                with np.errstate(all="ignore"):
                    value = float(np.asarray(value).astype(dtype))
            number = float(value)
            if math.isnan(number) or math.isinf(number):
                word = "PA_NAN" if math.isnan(number) else "PA_INF"
                text = f"(-{word})" if number < 0 else word
                return f"(({c_name(dtype) if dtype.itemsize > 2 else 'f32'}){text})"
            if dtype.itemsize == 8:
                return repr(number) if number >= 0 else f"({number!r})"
            short = repr(float(np.float32(number)))
            return f"{short}f" if not short.startswith("-") else f"({short}f)"
        whole = int(value)
        limits = np.iinfo(dtype)
        if whole == limits.min and whole < 0 and dtype.itemsize >= 4:
            return f"({self.literal(whole + 1, target)} - 1)"
        long = self.dialect.long_suffix
        suffix = {"int64": long, "uint64": f"U{long}", "uint32": "U"}.get(dtype.name, "")
        text = f"{whole}{suffix}"
        return text if whole >= 0 else f"({text})"

    def text(self, x: tree.Expr) -> str:
        """Return a value's text, in its own type."""
        return str(getattr(self, f"_{type(x).__name__.lower()}")(x))

    def _literal(self, x: tree.Literal) -> str:
        assert isinstance(x.type, Scalar)
        return self.literal(x.value, self.settled(x.type))

    def _variable(self, x: tree.Variable) -> str:
        return self.name(x.name)

    def _size(self, x: tree.Size) -> str:
        return self.use("size", x.array, x.axis)

    def use(self, what: str, array: Array, axis: int) -> str:
        """Return the name of an array's size, stride or offset, and note that it is read."""
        self.used["offset" if what == "offset" else what, array.name, axis] = (
            types.INT64 if self.wide else types.INT32
        )
        letter = {"size": "n", "stride": "s"}[what]
        return f"{self.name(array.name)}__{letter}{axis}"

    def _place(self, x: tree.Place) -> str:
        ndim = self.setting.ndim
        if x.axis is None:
            return self.linear(x.what)
        if x.what == "index":
            return f"pa_index{x.axis}"
        if x.what == "global_size":
            return f"pa_ndrange{x.axis}"
        macro = f"PA_{x.what.upper()}"
        if ndim > _MAX_AXES:
            if x.axis < ndim - 1:
                return "0" if x.what.endswith("index") else "1"
            return f"({self.offset}){macro}(0)"
        return f"({self.offset}){macro}({ndim - 1 - x.axis})"

    def linear(self, what: str) -> str:
        ndim = min(self.setting.ndim, _MAX_AXES if what != "index" else self.setting.ndim)
        if what != "index" and self.setting.ndim > _MAX_AXES:
            return f"({self.offset}){'PA_LOCAL_INDEX'}(0)"
        if what == "index":
            parts = [f"pa_index{axis}" for axis in range(ndim)]
            sizes = [f"pa_ndrange{axis}" for axis in range(ndim)]
        else:
            parts = [f"({self.offset})PA_LOCAL_INDEX({ndim - 1 - axis})" for axis in range(ndim)]
            sizes = [f"({self.offset})PA_GROUP_SIZE({ndim - 1 - axis})" for axis in range(ndim)]
        out = parts[0]
        for part, size in zip(parts[1:], sizes[1:], strict=True):
            out = f"({out} * {size} + {part})"
        return out

    def _load(self, x: tree.Load) -> str:
        return self.loaded(x.array, self.element(x.array, x.index))

    def loaded(self, array: Array, place: str) -> str:
        name = self.name(array.name)
        if array.dtype.name in _HALVES:
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
        wide = "(i64)" if self.dialect.long_places and not self.wide else ""
        if array.strided:
            terms = [
                f"{wide}{part} * {self.use('stride', array, n)}" for n, part in enumerate(parts)
            ]
            return " + ".join(terms)
        out = parts[0]
        if wide and len(parts) > 1:
            out = f"({wide}{out})"
        for axis, part in enumerate(parts[1:], start=1):
            size = (
                str(array.shape[axis]) if array.shape is not None else self.use("size", array, axis)
            )
            out = f"({out}) * {size} + {part}" if not _atom(out) else f"{out} * {size} + {part}"
        return out

    def index(self, x: tree.Expr) -> str:
        """Return an index in the width of indices.

        Sums, differences and products modulo 2**32 are right where the whole is in bounds.
        """
        assert isinstance(x.type, Scalar)
        if isinstance(x, tree.Literal):
            return str(x.value)
        if not self.wide and x.type.weak and x.type.bits > 31:
            if isinstance(x, tree.Operation) and x.sign in ("+", "-", "*"):
                first, second = (self.index(one) for one in x.operands)
                return f"(i32)((u32){_closed(first)} {x.sign} (u32){_closed(second)})"
            return f"(i32){_closed(self.text(x))}"
        if self.settled(x.type).dtype == (types.INT64 if self.wide else types.INT32):
            return _closed(self.text(x))
        return f"({self.offset}){_closed(self.text(x))}"

    def _operation(self, x: tree.Operation) -> str:
        operands = x.operands
        work = self.settled(x.work)
        if x.sign in ("<<", ">>"):
            return self.shifted(x, work)
        texts = [self.converted(one, x.work) for one in operands]
        assert work.dtype is not None
        name = c_name(work.dtype)
        if len(texts) == 1:
            return self.unary(x.sign, texts[0], x.work, work)
        a, b = texts
        if work.dtype.name in _HALVES:
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
        parts = [f"({unsigned}){_closed(one)}" for one in operands]
        inner = f" {sign} ".join(parts) if len(parts) > 1 else f"{sign}{parts[0]}"
        return f"({name})({inner})"

    def unary(self, sign: str, a: str, type_: Scalar, work: Scalar) -> str:
        assert work.dtype is not None
        if sign == "+x":
            return a
        if sign == "~x":
            name = c_name(work.dtype)
            return f"(!{_closed(a)})" if work.kind == "b" else f"(({name})~{_closed(a)})"
        if work.kind == "f":
            return f"(-{_closed(a)})"
        return self.wrapped(f"-{_closed(a)}", (a,), "-", type_, work)

    def floating(self, x: tree.Operation, a: str, b: str, name: str) -> str:
        if x.sign in ("//", "%"):
            return f"pa_{'floordiv' if x.sign == '//' else 'mod'}_{name}({a}, {b})"
        if x.sign == "**":
            power = x.operands[1]
            if isinstance(power, tree.Literal) and power.value == 2 and _atom(a):
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
            return f"(({name})(({unsigned}){_closed(a)} << {count.value}))"
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
            return f"(!{_closed(self.text(x.operands[0]))})"
        sign = " && " if x.sign == "and" else " || "
        return f"({sign.join(self.text(one) for one in x.operands)})"

    def _select(self, x: tree.Select) -> str:
        assert isinstance(x.type, Scalar)
        a, b = self.converted(x.first, x.type), self.converted(x.second, x.type)
        return f"({self.branch(x.condition)} ? {a} : {b})"

    def branch(self, x: tree.Expr) -> str:
        """Return a condition's text, kept in its loop where it stays the same in it.

        Compilers would take it out of the loop and make two loops; Intel's for CPUs then takes it
        for the same in all work-items.
        """
        if not self.changing:
            return self.text(x)
        if isinstance(x, tree.Logic):
            if x.sign == "not":
                return f"(!{_closed(self.branch(x.operands[0]))})"
            sign = " && " if x.sign == "and" else " || "
            return f"({sign.join(self.branch(one) for one in x.operands)})"
        parts = list(walk(x))
        if any(
            isinstance(one, (tree.Atomic, tree.HelperCall))
            or (isinstance(one, tree.Variable) and one.name in self.changing[-1])
            for one in parts
        ):
            return self.text(x)
        own = any(
            isinstance(one, tree.Load)
            or (isinstance(one, tree.Place) and one.what in ("index", "local_index"))
            or (isinstance(one, tree.Variable) and one.name in self.function.variables)
            for one in parts
        )
        return f"PA_KEEP({_open(self.text(x))})" if own else self.text(x)

    def _call(self, x: tree.Call) -> str:
        work = self.settled(x.work)
        arguments = [self.converted(one, x.work) for one in x.arguments]
        form = x.row.whole if work.kind in "iub" and x.row.whole else x.row.c
        if x.row.name == "abs" and work.kind == "i":  # of the lowest one: itself, as NumPy's
            kind = self.c_type(work)
            unsigned = kind.replace("i", "u")
            form = f"({{0}} < 0 ? ({kind})(({unsigned})0 - ({unsigned}){{0}}) : {{0}})"
        # Arguments that are written twice are computed once.
        if any(form.count("{%d}" % n) > 1 and not _atom(arg) for n, arg in enumerate(arguments)):  # noqa: UP031
            return self.through_function(x, form, work, len(arguments), arguments)
        return self.finished(x, form.format(*arguments, T=self.c_type(work)), work)

    def finished(self, x: tree.Call, text: str, work: Scalar) -> str:
        assert work.dtype is not None
        if x.row.result == "int":
            assert isinstance(x.type, Scalar)
            return f"({c_name(self.settled(x.type).dtype)}){_closed(text)}"  # type: ignore[arg-type]
        if work.dtype.name in _HALVES and x.row.result == "same":
            return self.rounded(text, work)
        return text

    def through_function(
        self, x: tree.Call, form: str, work: Scalar, count: int, arguments: list[str]
    ) -> str:
        kind = self.c_type(work)
        result = "bool" if x.row.result == "bool" else kind
        name = f"pa_{x.row.name}_{kind}"
        parameters = ", ".join(f"{kind} x{n}" for n in range(count))
        body = form.format(*(f"x{n}" for n in range(count)), T=kind)
        self.small[name] = f"PA_FUNCTION {result} {name}({parameters}) {{ return {body}; }}"
        return self.finished(x, f"{name}({', '.join(arguments)})", work)

    @property
    def small(self) -> dict[str, str]:
        """Functions that the program needs besides the prelude's, by name."""
        raise NotImplementedError

    def _cast(self, x: tree.Cast) -> str:
        assert isinstance(x.type, Scalar)
        return self.converted(x.value, x.type)

    def _items(self, x: tree.Items) -> str:
        kinds = tuple(self.c_type(one.type) for one in x.items)
        return f"make_{self.struct(kinds)}({', '.join(self.text(one) for one in x.items)})"

    def _item(self, x: tree.Item) -> str:
        return f"{self.text(x.value)}.i{x.place}"

    def _atomic(self, x: tree.Atomic) -> str:
        array = x.array
        space = "local" if array.space == "local" else "global"
        values = ", ".join(self.converted(one, types.strong(array.dtype)) for one in x.values)
        place = f"{self.name(array.name)} + {self.element(array, x.index)}"
        return f"pa_atomic_{x.operation}_{c_name(array.dtype)}_{space}({place}, {values})"

    def _helpercall(self, x: tree.HelperCall) -> str:
        names = list(_passed(x.helper))
        texts = []
        for name, value in zip(names, x.arguments, strict=True):
            given = x.helper.parameters[name].type
            texts.append(
                self.converted(value, given) if isinstance(given, Scalar) else self.text(value)
            )
        return f"{self.name(x.helper.name)}({', '.join([*texts, *self.inherited(x.helper)])})"

    def inherited(self, helper: tree.Function) -> list[str]:
        """Return what a helper needs of the kernel: arrays, their sizes and places."""
        raise NotImplementedError

    # --- statements -------------------------------------------------------------------------

    def block(self, body: Iterable[tree.Statement], depth: int) -> Iterator[str]:
        """Yield the lines of statements."""
        pad = "    " * depth
        source = self.function.source
        assert source is not None
        for one in body:
            first = True
            for line in getattr(self, f"_do_{type(one).__name__.lower()}")(one, depth):
                if first and not isinstance(one, (tree.Block, tree.Memory)):
                    yield f"{pad}// {source.beside(one.at)}"
                    first = False
                yield line

    def _do_block(self, x: tree.Block, depth: int) -> Iterator[str]:
        yield from self.block(x.body, depth)

    def _do_assign(self, x: tree.Assign, depth: int) -> Iterator[str]:
        pad = "    " * depth
        values = [
            self.kept(value, self.function.variables[name])
            for name, value in zip(x.names, x.values, strict=True)
        ]
        if len(values) == 1:
            yield f"{pad}{self.name(x.names[0])} = {values[0]};"
            return
        self.count += 1
        kinds = [self.c_type(self.function.variables[name]) for name in x.names]
        yield f"{pad}{{"
        for n, (kind, value) in enumerate(zip(kinds, values, strict=True)):
            yield f"{pad}    const {kind} pa_t{n} = {value};"
        for n, name in enumerate(x.names):
            yield f"{pad}    {self.name(name)} = pa_t{n};"
        yield f"{pad}}}"

    def kept(self, value: tree.Expr, type_: Scalar | Tuple) -> str:
        """Return a value as a variable of a type keeps it."""
        if isinstance(type_, Scalar):
            return self.converted(value, type_)
        if isinstance(value, tree.Items):
            kinds = tuple(self.c_type(one) for one in type_.items)
            texts = [
                self.converted(one, kind)
                for one, kind in zip(value.items, type_.items, strict=True)
            ]
            return f"make_{self.struct(kinds)}({', '.join(texts)})"
        return self.text(value)

    def _do_store(self, x: tree.Store, depth: int) -> Iterator[str]:
        pad = "    " * depth
        name, place = self.name(x.array.name), self.element(x.array, x.index)
        value = self.converted(x.value, types.strong(x.array.dtype))
        if x.array.dtype.name in _HALVES:
            yield f"{pad}pa_store_{c_name(x.array.dtype)}({name} + {place}, {value});"
        else:
            yield f"{pad}{name}[{place}] = {value};"

    def _do_if(self, x: tree.If, depth: int) -> Iterator[str]:
        pad = "    " * depth
        yield f"{pad}if ({_open(self.branch(x.condition))}) {{"
        yield from self.block(x.first, depth + 1)
        if x.second:
            yield f"{pad}}} else {{"
            yield from self.block(x.second, depth + 1)
        yield f"{pad}}}"

    def _do_while(self, x: tree.While, depth: int) -> Iterator[str]:
        pad = "    " * depth
        yield f"{pad}PA_LOOP"
        yield f"{pad}while ({_open(self.text(x.condition))}) {{"
        self.changing.append(set(_assigned(x.body)))
        yield from self.block(x.body, depth + 1)
        self.changing.pop()
        yield f"{pad}}}"

    def _do_for(self, x: tree.For, depth: int) -> Iterator[str]:
        pad = "    " * depth
        type_ = self.function.variables[x.name]
        assert isinstance(type_, Scalar)
        kind = self.c_type(type_)
        name = self.name(x.name)
        changed = x.keeps or x.name in set(_assigned(x.body))
        counter = f"{name}__counter" if changed else name
        self.count += 1
        mark = self.count
        yield f"{pad}{{"
        inner = pad + "    "
        stop = self.converted(x.stop, type_)
        if not (isinstance(x.stop, tree.Literal) or _atom(stop)) or isinstance(
            x.stop, tree.Variable
        ):
            yield f"{inner}const {kind} pa_stop{mark} = {stop};"
            stop = f"pa_stop{mark}"
        start = self.converted(x.start, type_)
        begin = f"{kind} {counter} = {start}" if changed else f"{counter} = {start}"
        if isinstance(x.step, tree.Literal):
            step = int(x.step.value)
            sign = "<" if step > 0 else ">"
            test = f"{counter} {sign} {stop}"
            change = f"++{counter}" if step == 1 else f"{counter} += {step}"
        else:
            step_text = f"pa_step{mark}"
            yield f"{inner}const {kind} {step_text} = {self.converted(x.step, type_)};"
            up, down = f"{counter} < {stop}", f"{counter} > {stop}"
            test = f"({step_text} > 0 && {up}) || ({step_text} < 0 && {down})"
            change = f"{counter} += {step_text}"
        yield f"{inner}{'PA_UNROLL' if x.unroll else 'PA_LOOP'}"
        yield f"{inner}for ({begin}; {test}; {change}) {{"
        if changed:
            yield f"{inner}    {name} = {counter};"
        self.changing.append({*_assigned(x.body), x.name})
        yield from self.block(x.body, depth + 2)
        self.changing.pop()
        yield f"{inner}}}"
        yield f"{pad}}}"

    def _do_jump(self, x: tree.Jump, depth: int) -> Iterator[str]:
        yield f"{'    ' * depth}{x.word};"

    def _do_return(self, x: tree.Return, depth: int) -> Iterator[str]:
        pad = "    " * depth
        if x.value is None:
            yield f"{pad}return;"
            return
        assert self.function.result is not None
        yield f"{pad}return {self.kept(x.value, self.function.result)};"

    def _do_barrier(self, x: tree.Barrier, depth: int) -> Iterator[str]:
        yield f"{'    ' * depth}PA_BARRIER;"

    def _do_memory(self, x: tree.Memory, depth: int) -> Iterator[str]:
        return iter(())  # declared at the top

    def _do_print(self, x: tree.Print, depth: int) -> Iterator[str]:
        return iter(())  # in debug mode alone

    def _do_evaluate(self, x: tree.Evaluate, depth: int) -> Iterator[str]:
        yield f"{'    ' * depth}{self.text(x.value)};"

    def declarations(self) -> Iterator[str]:
        """Yield the declarations of local variables."""
        for name, type_ in self.function.variables.items():
            own = self.name(name)
            if name in self.function.parameters:
                given = self.function.parameters[name].type
                value = f"{own}__given"
                if isinstance(given, Scalar) and isinstance(type_, Scalar):
                    before, after = self.settled(given), self.settled(type_)
                    value = value if before == after else self.cast(value, before, after)
                yield f"    {self.c_type(type_)} {own} = {value};"
            else:
                yield f"    {self.c_type(type_)} {own};"


class _Helper(_Printer):
    """Prints a helper of a kernel."""

    def __init__(self, function: tree.Function, kernel: _Kernel) -> None:
        super().__init__(function, kernel.setting, kernel.dialect)
        self.kernel = kernel
        self.used = kernel.used
        self.tuples = kernel.tuples

    @property
    def small(self) -> dict[str, str]:
        return self.kernel.small

    def inherited(self, helper: tree.Function) -> list[str]:
        return self.kernel.inherited(helper)

    def lines_of(self) -> list[str]:
        """Return the function's text."""
        function = self.function
        assert function.result is not None
        body = list(self.block(function.body, 1))
        names = []
        for name, type_ in _passed(function).items():
            suffix = "__given" if name in function.variables else ""
            names.append(f"{self.c_type(type_)} {self.name(name)}{suffix}")
        parameters = [*names, *self.kernel.inherited(function, declare=True)]
        head = f"PA_FUNCTION {self.c_type(function.result)} {self.name(function.name)}"
        return [
            f"{head}({', '.join(parameters)}) {{", *self.declarations(), *body, "}", ""
        ]  # fmt: skip


class _Kernel(_Printer):
    """Prints a kernel with its helpers."""

    def __init__(self, function: tree.Function, setting: Setting, dialect: Dialect) -> None:
        super().__init__(function, setting, dialect)
        self._small: dict[str, str] = {}
        self.arrays = [p for p in function.parameters.values() if isinstance(p, Array)]

    @property
    def small(self) -> dict[str, str]:
        return self._small

    def inherited(self, helper: tree.Function, *, declare: bool = False) -> list[str]:
        """Return a helper's arrays, their sizes and strides, and the work-item's place.

        All that the kernel has: compilers drop what is not used.
        """
        out = []
        arrays = {a.name: a for a in _arrays(helper)}
        for name in sorted(arrays):
            array = arrays[name]
            own = self.name(name)
            out.append(f"{self.pointer(array)} {own}" if declare else own)
            if array.shape is None:
                for axis in range(array.ndim):
                    parts = [self.use("size", array, axis)]
                    if array.strided:
                        parts.append(self.use("stride", array, axis))
                    out += [f"const {self.offset} {one}" if declare else one for one in parts]
        for axis in range(self.setting.ndim):
            for one in (f"pa_index{axis}", f"pa_ndrange{axis}"):
                out.append(f"const {self.offset} {one}" if declare else one)
        out += self.dialect.inherited_declared if declare else self.dialect.inherited
        return out

    def pointer(self, array: Array) -> str:
        """Return the type of a pointer to an array's elements."""
        space = f"PA_{array.space.upper()}"
        const = "" if array.space != "global" or array.name in self.function.written else "const "
        return f"{space} {const}{c_name(array.dtype)}*"

    def printed(self, *, offsets: bool) -> Printed:
        function = self.function
        ndim = self.setting.ndim
        index = types.INT64 if self.wide else types.INT32
        body = list(self.block(function.body, 1))
        helpers: list[str] = []
        done: set[int] = set()
        for one in _helpers(function):
            if id(one) not in done:
                done.add(id(one))
                helpers += _Helper(one, self).lines_of()
        values: list[Value] = []
        for (what, name, axis), dtype in self.used.items():
            if what in ("size", "stride"):
                values.append(Value(what, name, axis, dtype))
        if offsets:
            values += [Value("offset", array.name, 0, index) for array in self.arrays]
        values += [Value("ndrange", "", axis, index) for axis in range(ndim)]
        for name, given in function.parameters.items():
            if isinstance(given, tree.Variable):
                assert isinstance(given.type, Scalar)
                kept = self.settled(given.type).dtype
                assert kept is not None
                values.append(Value("argument", name, 0, kept))
        pointers = [
            f"{self.pointer(array)} {self.name(array.name)}{'__buffer' if offsets else ''}"
            for array in self.arrays
        ]
        text = [
            *self.structs(),
            *self._small.values(),
            "",
            *helpers,
            self.dialect.head(
                self.name(function.name),
                pointers,
                self.parameters(values),
                plain=_rotates(function),
            ),
            *self.prologue(values, offsets=offsets),
            *self.declarations(),
            *body,
            "}",
            "",
        ]
        double = "#define PA_DOUBLE 1\n" if self.has_double() else ""
        whole = double + self.dialect.prelude + "\n" + "\n".join(text)
        return Printed(self.name(function.name), whole, self.arrays, values)

    def parameters(self, values: list[Value]) -> list[tuple[str, str]]:
        out = []
        for one in values:
            kind = "f32" if one.dtype.name in _HALVES else c_name(one.dtype)
            out.append((kind, self.value_name(one)))
        return out

    def value_name(self, one: Value) -> str:
        own = self.name(one.name) if one.name else ""
        if one.what == "argument":
            return f"{own}__given" if one.name in self.function.variables else own
        if one.what == "ndrange":
            return f"pa_ndrange{one.axis}"
        if one.what == "offset":
            return f"{own}__offset"
        return f"{own}__{'n' if one.what == 'size' else 's'}{one.axis}"

    def prologue(self, values: list[Value], *, offsets: bool) -> Iterator[str]:
        """Yield what each work-item begins with: its place, and whether it has one."""
        ndim, kind = self.setting.ndim, self.offset
        if ndim <= _MAX_AXES:
            for axis in range(ndim):
                place = f"PA_GLOBAL_INDEX({ndim - 1 - axis})"
                yield f"    const {kind} pa_index{axis} = ({kind}){place};"
        else:
            yield f"    {kind} pa_rest = ({kind})PA_GLOBAL_INDEX(0);"
            for axis in range(ndim - 1, 0, -1):
                yield f"    const {kind} pa_index{axis} = pa_rest % pa_ndrange{axis};"
                yield f"    pa_rest /= pa_ndrange{axis};"
            yield f"    const {kind} pa_index0 = pa_rest;"
        if not self.function.barriers:
            checked = range(ndim) if ndim <= _MAX_AXES else (0,)
            outside = " || ".join(f"pa_index{axis} >= pa_ndrange{axis}" for axis in checked)
            yield f"    if ({outside}) return;"
        if offsets:
            for array in self.arrays:
                own = self.name(array.name)
                yield f"    {self.pointer(array)} const {own} = {own}__buffer + {own}__offset;"
        for one in memories(self.function.body):
            space = "PA_SHARED " if one.space == "local" else ""
            size = math.prod(one.shape or ())
            yield f"    {space}{c_name(one.dtype)} {self.name(one.name)}[{size}];"

    def structs(self) -> Iterator[str]:
        for items, name in self.tuples.items():
            fields = " ".join(f"{kind} i{n};" for n, kind in enumerate(items))
            given = ", ".join(f"{kind} i{n}" for n, kind in enumerate(items))
            made = " ".join(f"out.i{n} = i{n};" for n in range(len(items)))
            yield f"typedef struct {{ {fields} }} {name};"
            yield f"PA_FUNCTION {name} make_{name}({given}) {{ {name} out; {made} return out; }}"


def _passed(function: tree.Function) -> dict[str, Scalar | Tuple]:
    """Return the parameters of a helper that are values at run time."""
    return {
        name: given.type
        for name, given in function.parameters.items()
        if isinstance(given, tree.Variable)
    }


def walk(x: object) -> Iterator[object]:
    """Yield a node and everything below it.

    Parameters
    ----------
    x : Node or other
        A part of a tree.

    Yields
    ------
    object
        `x`, then its parts.
    """
    yield x
    if not isinstance(x, tree.Node):
        return
    for name in type(x).__dataclass_fields__:
        one = getattr(x, name)
        for part in one if isinstance(one, list) else (one,):
            if isinstance(part, tree.Node):
                yield from walk(part)


def _arrays(function: tree.Function) -> list[Array]:
    found: dict[str, Array] = {}
    for given in function.parameters.values():
        if isinstance(given, Array):
            found[given.name] = given
    for statement in function.body:
        for one in walk(statement):
            array = getattr(one, "array", None)
            if isinstance(array, Array):
                found[array.name] = array
            if isinstance(one, tree.HelperCall):
                found |= {a.name: a for a in _arrays(one.helper)}
    return list(found.values())


def _helpers(function: tree.Function) -> Iterator[tree.Function]:
    """Yield helpers, those first that others call."""
    for one in function.helpers:
        yield from _helpers(one)
        yield one


def memories(body: Iterable[tree.Statement]) -> Iterator[Array]:
    for one in body:
        if isinstance(one, tree.Memory):
            yield one.array
        elif isinstance(one, tree.Block):
            yield from memories(one.body)


def _assigned(body: Iterable[tree.Statement]) -> Iterator[str]:
    for statement in body:
        for one in walk(statement):
            if isinstance(one, tree.Assign):
                yield from one.names
            elif isinstance(one, tree.For):
                yield one.name


def _rotates(function: tree.Function) -> bool:
    """Tell whether a loop hands values on from one variable to another, as ``a, b = b, a + b``.

    Intel's OpenCL compiler ends the process where it vectorizes such a loop over work-items that
    run it differently often (seen in version 2026.1).
    """
    for statement in function.body:
        for loop in walk(statement):
            if isinstance(loop, (tree.For, tree.While)):
                names = set(_assigned(loop.body))
                for one in walk(tree.Block(loop.at, loop.body)):
                    if isinstance(one, tree.Assign):
                        for value in one.values:
                            if isinstance(value, tree.Variable) and value.name in names:
                                return True
    return any(map(_rotates, function.helpers))


def _atom(text: str) -> bool:
    """Tell whether a text binds closer than any operator."""
    if text.replace("_", "a").replace(".", "0").isalnum():
        return True
    if not text.startswith("("):
        return False
    return _closing(text) == len(text) - 1


def _closing(text: str) -> int:
    depth = 0
    for place, letter in enumerate(text):
        depth += (letter == "(") - (letter == ")")
        if not depth:
            return place
    return -1


def _closed(text: str) -> str:
    return text if _atom(text) else f"({text})"


def _open(text: str) -> str:
    return text[1:-1] if text.startswith("(") and _closing(text) == len(text) - 1 else text
