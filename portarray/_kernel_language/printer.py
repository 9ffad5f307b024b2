"""Prints typed trees as programs of C-like languages.

One printer for all dialects: what differs between OpenCL C, CUDA, HIP, Metal and C are the macros
and functions of their preludes (``preludes/*.h``), in which all names begin with ``pa_`` or
``PA_``. Around the body of a kernel C has loops, which :mod:`portarray._kernel_language.c_groups`
prints.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import NamedTuple

from portarray._kernel_language import tree, types
from portarray._kernel_language.c_groups import Groups
from portarray._kernel_language.c_statements import Statements
from portarray._kernel_language.c_types import HALVES, Types, c_name
from portarray._kernel_language.dialects import PARTS, Dialect
from portarray._kernel_language.setting import MAX_AXES, Setting
from portarray._kernel_language.types import Array, DType

ARGUMENTS = ("argument", "real", "imag")
"""Values that are scalar arguments, complex ones in two parts."""


@dataclass(frozen=True, slots=True)
class Value:
    """A program's parameter after the pointers."""

    quantity: str  # "size", "stride", "offset", "ndrange", "origin", or one of ARGUMENTS
    name: str
    axis: int
    dtype: DType


@dataclass(slots=True)
class Printed:
    name: str
    text: str
    arrays: list[Array] = field(default_factory=list)
    values: list[Value] = field(default_factory=list)


def print_kernel(
    kernel: tree.Function, setting: Setting, dialect: Dialect, *, offsets: bool
) -> Printed:
    """Return the program of a kernel.

    Parameters
    ----------
    offsets
        Whether pointers are to whole buffers, with an offset for each array.
    """
    return _KernelPrinter(kernel, setting, dialect).printed(offsets=offsets)


class _KernelPrinter:
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
        for item in tree.helpers_of(function):
            helpers += _helper(item, self.types)
        values: list[Value] = []
        for (quantity, name, axis), dtype in self.types.used.items():
            if quantity in ("size", "stride"):
                values.append(Value(quantity, name, axis, dtype))
        if offsets:
            values += [Value("offset", array.name, 0, index) for array in self.arrays]
        values += [Value("ndrange", "", axis, index) for axis in range(ndim)]
        values += [Value("origin", "", axis, index) for axis in self.types.origins()]
        for name, parameter in function.parameters.items():
            if isinstance(parameter, tree.Variable):
                stored = self.types.settled(parameter.scalar)
                if stored.kind == "c":
                    part = types.part_of(stored).strong_dtype
                    values += [Value(quantity, name, 0, part) for quantity in ARGUMENTS[1:]]
                else:
                    values.append(Value("argument", name, 0, stored.strong_dtype))
        pointers = []
        for array in self.arrays:
            name = self.types.generated("buffer", array.name)
            name = name if offsets else self.types.name(array.name)
            pointers.append(f"{self.types.pointer(array)} {name}")
        parameters = self.parameters(values)
        if groups is None:
            name = self.types.generated("kernel", function.name)
            plain = _rotates(function)
            entry = [
                self.types.dialect.head(name, pointers, parameters, plain=plain),
                *self.prologue(values, offsets=offsets),
                *self.complex_arguments(),
                *self.statements.declarations(),
                *body,
                "}",
                "",
            ]
        else:
            entry = groups.program([*self.complex_arguments(), *body], pointers, parameters)
        text = [*self.structs(), *self.types.small.values(), "", *helpers, *entry]
        body_text = "\n".join(text)
        defines = [name for name, used in PARTS.items() if used.search(body_text)]
        if self.types.has_double():
            defines.insert(0, "PA_DOUBLE")
        defined = "".join(f"#define {name} 1\n" for name in defines)
        whole = f"{defined}{self.types.dialect.prelude}\n{body_text}"
        name = self.types.generated("kernel", function.name)
        return Printed(name, whole, self.arrays, values)

    def parameters(self, values: list[Value]) -> list[tuple[str, str]]:
        out = []
        for value in values:
            kind = "f32" if value.dtype.name in HALVES else c_name(value.dtype)
            out.append((kind, self.value_name(value)))
        return out

    def value_name(self, value: Value) -> str:
        if value.quantity == "argument":
            return self.types.argument(self.function, value.name)
        if value.quantity in ("ndrange", "origin"):
            return f"pa_{value.quantity}{value.axis}"
        if value.quantity in ARGUMENTS:
            return self.types.generated(f"{value.quantity}_of", value.name)
        if value.quantity == "offset":
            return self.types.generated("offset", value.name)
        return self.types.generated(f"{value.quantity}{value.axis}", value.name)

    def complex_arguments(self) -> Iterator[str]:
        """Yield the declarations of complex arguments, which are passed as two numbers."""
        for name, parameter in self.function.parameters.items():
            if isinstance(parameter, tree.Variable) and parameter.scalar.kind == "c":
                kind = self.types.c_type(parameter.scalar)
                parts = [self.types.generated(f"{part}_of", name) for part in ARGUMENTS[1:]]
                target = self.types.argument(self.function, name)
                yield f"    const {kind} {target} = pa_make_{kind}({', '.join(parts)});"

    def prologue(self, values: list[Value], *, offsets: bool) -> Iterator[str]:
        """Yield the declarations that each work-item begins with."""
        ndim, kind = self.types.setting.ndim, self.types.offset
        if ndim <= MAX_AXES:
            for axis in range(ndim):
                index = f"({kind})PA_GLOBAL_INDEX({ndim - 1 - axis}){self.types.origin(axis)}"
                yield f"    const {kind} pa_index{axis} = {index};"
        else:
            for line in self.types.unraveled(f"({kind})PA_GLOBAL_INDEX(0){self.types.origin(0)}"):
                yield f"    {line}"
        if not self.function.barriers:
            checked = range(ndim) if ndim <= MAX_AXES else (0,)
            outside = " || ".join(f"pa_index{axis} >= pa_ndrange{axis}" for axis in checked)
            yield f"    if ({outside}) return;"
        if offsets:
            for array in self.arrays:
                buffer, offset = (
                    self.types.generated(word, array.name) for word in ("buffer", "offset")
                )
                name, kind = self.types.name(array.name), self.types.pointer(array)
                yield f"    {kind} const {name} = {buffer} + {offset};"
        for memory in tree.memories(self.function.body):
            space = "PA_SHARED " if memory.space == "local" else ""
            size = math.prod(memory.shape or ())
            yield f"    {space}{c_name(memory.dtype)} {self.types.name(memory.name)}[{size}];"

    def structs(self) -> Iterator[str]:
        for items, name in self.types.tuples.items():
            fields = " ".join(f"{kind} i{n};" for n, kind in enumerate(items))
            parameters = ", ".join(f"{kind} i{n}" for n, kind in enumerate(items))
            assignments = " ".join(f"out.i{n} = i{n};" for n in range(len(items)))
            yield f"typedef struct {{ {fields} }} {name};"
            body = f"{name} out; {assignments} return out;"
            yield f"PA_FUNCTION {name} make_{name}({parameters}) {{ {body} }}"


def _helper(function: tree.Function, types_: Types) -> list[str]:
    statements = Statements(function, types_)
    assert function.result is not None
    body = list(statements.block(function.body, 1))
    names = []
    for name, type_ in tree.run_time_parameters(function).items():
        names.append(f"{types_.c_type(type_)} {types_.argument(function, name)}")
    parameters = [*names, *types_.inherited(function, declare=True)]
    name = types_.generated("helper", function.name)
    head = f"PA_FUNCTION {types_.c_type(function.result)} {name}"
    return [
        f"{head}({', '.join(parameters)}) {{", *statements.declarations(), *body, "}", ""
    ]  # fmt: skip


def _rotates(function: tree.Function) -> bool:
    """Return whether a loop passes values between variables, as ``a, b = b, a + b`` does.

    Intel's OpenCL compiler 2026.1 crashes when it vectorizes such a loop over work-items with
    different iteration counts.
    """
    read = Counter(name for x in function.body for name in _reads(x))
    for statement in function.body:
        for loop in tree.walk(statement):
            if isinstance(loop, (tree.For, tree.While)):
                previous = _Previous(set(tree.assigned_in(loop.body)), set(), [])
                previous.visit([loop], set())
                inside = Counter(_reads(loop))
                after = {name for name in previous.names if read[name] > inside[name]}
                if any(target in previous.read | after for target in previous.copies):
                    return True
    return any(map(_rotates, function.helpers))


def _reads(x: object) -> Iterator[str]:
    return (node.name for node in tree.walk(x) if isinstance(node, tree.Variable))


class _Previous(NamedTuple):
    """How an iteration of a loop uses the values that variables have from the previous one."""

    names: set[str]  # the variables that change in the loop
    read: set[str]
    copies: list[str]  # variables to which such values are assigned as they are

    def visit(self, body: Iterable[tree.Statement], assigned: set[str]) -> None:
        """Visit statements; variables in `assigned` have values of this iteration."""
        for x in body:
            if isinstance(x, tree.If):
                self.note(_reads(x.condition), assigned)
                first, second = set(assigned), set(assigned)
                self.visit(x.first, first)
                self.visit(x.second, second)
                assigned |= first & second
            elif isinstance(x, tree.Block):
                self.visit(x.body, assigned)
            elif isinstance(x, tree.For):
                for part in (x.start, x.stop, x.step):
                    self.note(_reads(part), assigned)
                self.visit(x.body, {*assigned, x.name})
            elif isinstance(x, tree.While):
                self.note(_reads(x.condition), assigned)
                self.visit(x.body, set(assigned))
            else:
                self.note(_reads(x), assigned)
                if isinstance(x, tree.Assign):
                    for name, value in zip(x.names, x.values, strict=False):
                        if isinstance(value, tree.Variable) and value.name in self.names - assigned:
                            self.copies.append(name)
                    assigned.update(x.names)

    def note(self, names: Iterable[str], assigned: set[str]) -> None:
        """Note which of the variables that are read have values of the previous iteration."""
        self.read.update((self.names - assigned).intersection(names))
