"""Prints typed trees as programs of C-like languages.

One printer for all dialects: what differs between OpenCL C, CUDA, HIP, Metal and C are the macros
and functions of their preludes (``preludes/*.h``), in which all names begin with ``pa_`` or
``PA_``. Around the body of a kernel C has loops, which :mod:`portarray._kernel_language.c_groups`
prints.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from portarray._kernel_language import tree, types
from portarray._kernel_language.c_groups import Groups
from portarray._kernel_language.c_statements import Statements
from portarray._kernel_language.c_types import HALVES, Types, c_name
from portarray._kernel_language.dialects import PARTS, Dialect
from portarray._kernel_language.setting import MAX_AXES, Setting
from portarray._kernel_language.types import Array, DType, Scalar


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


class _Kernel:
    """Prints a kernel with its helpers."""

    def __init__(self, function: tree.Function, setting: Setting, dialect: Dialect) -> None:
        self.function = function
        self.types = Types(function, setting, dialect)
        self.statements = Statements(function, self.types)
        self.arrays = [p for p in function.parameters.values() if isinstance(p, Array)]

    def printed(self, *, offsets: bool) -> Printed:
        function = self.function
        ndim = self.types.setting.ndim
        index = types.INT64 if self.types.wide else types.INT32
        groups = Groups(function, self.types) if self.types.dialect.loops else None
        body = groups.body() if groups else list(self.statements.block(function.body, 1))
        helpers: list[str] = []
        for one in tree.helpers_of(function):
            helpers += _helper(one, self.types)
        values: list[Value] = []
        for (what, name, axis), dtype in self.types.used.items():
            if what in ("size", "stride"):
                values.append(Value(what, name, axis, dtype))
        if offsets:
            values += [Value("offset", array.name, 0, index) for array in self.arrays]
        values += [Value("ndrange", "", axis, index) for axis in range(ndim)]
        for name, given in function.parameters.items():
            if isinstance(given, tree.Variable):
                assert isinstance(given.type, Scalar)
                kept = self.types.settled(given.type).dtype
                assert kept is not None
                values.append(Value("argument", name, 0, kept))
        pointers = [
            f"{self.types.pointer(one)} {self.types.name(one.name)}{'__buffer' if offsets else ''}"
            for one in self.arrays
        ]
        parameters = self.parameters(values)
        if groups is None:
            name = self.types.name(function.name)
            plain = _rotates(function)
            entry = [
                self.types.dialect.head(name, pointers, parameters, plain=plain),
                *self.prologue(values, offsets=offsets),
                *self.statements.declarations(),
                *body,
                "}",
                "",
            ]
        else:
            entry = groups.program(body, pointers, parameters)
        text = [*self.structs(), *self.types.small.values(), "", *helpers, *entry]
        body_text = "\n".join(text)
        wanted = [name for name, used in PARTS.items() if used.search(body_text)]
        if self.types.has_double():
            wanted.insert(0, "PA_DOUBLE")
        defined = "".join(f"#define {name} 1\n" for name in wanted)
        whole = f"{defined}{self.types.dialect.prelude}\n{body_text}"
        return Printed(self.types.name(function.name), whole, self.arrays, values)

    def parameters(self, values: list[Value]) -> list[tuple[str, str]]:
        out = []
        for one in values:
            kind = "f32" if one.dtype.name in HALVES else c_name(one.dtype)
            out.append((kind, self.value_name(one)))
        return out

    def value_name(self, one: Value) -> str:
        own = self.types.name(one.name) if one.name else ""
        if one.what == "argument":
            return f"{own}__given" if one.name in self.function.variables else own
        if one.what == "ndrange":
            return f"pa_ndrange{one.axis}"
        if one.what == "offset":
            return f"{own}__offset"
        return f"{own}__{'n' if one.what == 'size' else 's'}{one.axis}"

    def prologue(self, values: list[Value], *, offsets: bool) -> Iterator[str]:
        """Yield what each work-item begins with: its place, and whether it has one."""
        ndim, kind = self.types.setting.ndim, self.types.offset
        if ndim <= MAX_AXES:
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
            checked = range(ndim) if ndim <= MAX_AXES else (0,)
            outside = " || ".join(f"pa_index{axis} >= pa_ndrange{axis}" for axis in checked)
            yield f"    if ({outside}) return;"
        if offsets:
            for array in self.arrays:
                own, kind = self.types.name(array.name), self.types.pointer(array)
                yield f"    {kind} const {own} = {own}__buffer + {own}__offset;"
        for one in tree.memories(self.function.body):
            space = "PA_SHARED " if one.space == "local" else ""
            size = math.prod(one.shape or ())
            yield f"    {space}{c_name(one.dtype)} {self.types.name(one.name)}[{size}];"

    def structs(self) -> Iterator[str]:
        for items, name in self.types.tuples.items():
            fields = " ".join(f"{kind} i{n};" for n, kind in enumerate(items))
            given = ", ".join(f"{kind} i{n}" for n, kind in enumerate(items))
            made = " ".join(f"out.i{n} = i{n};" for n in range(len(items)))
            yield f"typedef struct {{ {fields} }} {name};"
            yield f"PA_FUNCTION {name} make_{name}({given}) {{ {name} out; {made} return out; }}"


def _helper(function: tree.Function, types_: Types) -> list[str]:
    """Return a helper's text."""
    statements = Statements(function, types_)
    assert function.result is not None
    body = list(statements.block(function.body, 1))
    names = []
    for name, type_ in tree.run_time_parameters(function).items():
        suffix = "__given" if name in function.variables else ""
        names.append(f"{types_.c_type(type_)} {types_.name(name)}{suffix}")
    parameters = [*names, *types_.inherited(function, declare=True)]
    head = f"PA_FUNCTION {types_.c_type(function.result)} {types_.name(function.name)}"
    return [
        f"{head}({', '.join(parameters)}) {{", *statements.declarations(), *body, "}", ""
    ]  # fmt: skip


def _rotates(function: tree.Function) -> bool:
    """Tell whether a loop hands values on from one variable to another, as ``a, b = b, a + b``.

    Intel's OpenCL compiler ends the process where it vectorizes such a loop over work-items that
    run it differently often (seen in version 2026.1).
    """
    for statement in function.body:
        for loop in tree.walk(statement):
            if isinstance(loop, (tree.For, tree.While)):
                names = set(tree.assigned_in(loop.body))
                for one in tree.walk(tree.Block(loop.at, loop.body)):
                    if isinstance(one, tree.Assign):
                        for value in one.values:
                            if isinstance(value, tree.Variable) and value.name in names:
                                return True
    return any(map(_rotates, function.helpers))
