"""Compiles kernels for the arguments of a call."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray import _codegen
from portarray._array import dispatch
from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._kernel_language import tree, types
from portarray._kernel_language.arguments import CallSpec, parameters
from portarray._kernel_language.batching import add_axis, examples_of
from portarray._kernel_language.captures import Captures
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.dialects import DIALECTS, Dialect
from portarray._kernel_language.frontend import read_kernel
from portarray._kernel_language.printer import ARGUMENTS, Printed, Value, print_kernel
from portarray._kernel_language.ranges import Part, Range
from portarray._kernel_language.scope import Shared
from portarray._kernel_language.setting import Setting
from portarray._launchers.launcher import Launch, Launcher, Program

_CONVERSIONS: Mapping[str, str] = {"b": "bool({})", "f": "float({})"}
"""What makes values of scalar arguments, by kind; int of others."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A program for argument types and a device, not compiled yet."""

    tree: tree.Function
    setting: Setting
    printed: Printed
    program: Program
    launcher: Launcher
    arrays: list[int]  # places of the arrays among the arguments
    written: list[int]  # places of those that are written
    local_memory: int  # bytes of a group
    captures: Captures


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel compiled for argument types and a device."""

    draft: Draft
    launch: Launch
    values: Callable[[list[Any], Range, tuple[Any, ...]], list[Any]]
    one_each: frozenset[str]  # arrays of which work-item n of a scatter reads element n alone


def prepare(definition: Definition, spec: CallSpec) -> Prepared:
    drafted = draft(definition, spec)
    launch = drafted.launcher.build(drafted.program)
    values = values_of(drafted.printed, definition.names, drafted.arrays)
    return Prepared(drafted, launch, values, _one_each(drafted.tree))


def _one_each(kernel: tree.Function) -> frozenset[str]:
    """Return the arrays of which work-item n reads element n alone, in a scatter without loops.

    A scatter writes to places that depend on values.
    """
    nodes = [node for statement in kernel.body for node in tree.walk(statement)]
    values: dict[str, list[object]] = {}
    read: set[str] = set()  # variables whose values depend on arrays' elements
    scatters = False

    def is_read(x: object) -> bool:
        return any(
            isinstance(part, tree.Load) or (isinstance(part, tree.Variable) and part.name in read)
            for part in tree.walk(x)
        )

    for node in nodes:  # in the order of the statements
        match node:
            case tree.For() | tree.While():
                return frozenset()
            case tree.Assign(names=names, values=new) | tree.Sequence(names=names, values=new):
                for name, value in zip(names, new, strict=True):
                    values.setdefault(name, []).append(value)
                    if is_read(value):
                        read.add(name)
            case tree.Atomic(array=types.Array(space="global")):
                scatters = True
            case tree.Store(index=index):
                scatters |= any(map(is_read, index))
    if not scatters:
        return frozenset()

    def is_item(x: object, axis: int) -> bool:
        if isinstance(x, tree.Variable) and len(values.get(x.name, ())) == 1:
            (x,) = values[x.name]
        return isinstance(x, tree.Position) and (x.name, x.axis) == ("index", axis)

    loads = [node for node in nodes if isinstance(node, tree.Load)]
    others = {x.array.name for x in loads if not all(map(is_item, x.index, range(len(x.index))))}
    return frozenset({x.array.name for x in loads} - others)


def launched_in_parts(prepared: Prepared, parts: Sequence[Part]) -> Launch:
    """Return the launch of a call; one of several parts makes them one after another."""
    if len(parts) == 1:
        return prepared.launch
    values_of_program = prepared.draft.printed.values
    origins = [n for n, value in enumerate(values_of_program) if value.quantity == "origin"]
    positions = enumerate(prepared.draft.arrays)
    written = [n for n, position in positions if position in prepared.draft.written]

    def launch(arrays: Sequence[Any], values: Sequence[Any], _: Range, group: Range) -> Any:
        natives, new = list(arrays), None
        for origin, size in parts:
            here = list(values)
            for n, first in zip(origins, origin, strict=True):
                here[n] = first
            new = prepared.launch(natives, here, size, group)
            for n, native in zip(written, new or (), strict=False):
                natives[n] = native  # of immutable arrays, the next part continues with these
        return new

    return launch


def draft(definition: Definition, spec: CallSpec) -> Draft:
    """Return the program for a call."""
    device = spec.device
    launcher = device._backend.launcher(device.native)
    if isinstance(launcher, str):
        raise NotImplementedError(
            f"{definition.name}: {device} does not run user kernels: {launcher}"
        )
    dialect = DIALECTS[launcher.dialect]
    function, setting, shared = read(definition, spec, launcher, dialect)
    printed = print_kernel(function, setting, dialect, offsets=launcher.offsets)
    local = sum(
        math.prod(array.shape or ()) * array.dtype.itemsize
        for array in tree.memories(function.body)
        if array.space == "local"
    )
    if local > launcher.local_memory:
        raise ValueError(
            f"{definition.name}: {local} bytes of local memory are more than the "
            f"{launcher.local_memory} of a group on {device}"
        )
    written = [array.name in function.written for array in printed.arrays]
    program = Program(
        printed.name,
        launcher.dialect,
        printed.text,
        tuple(array.dtype for array in printed.arrays),
        tuple(written),
        tuple(value.dtype for value in printed.values),
    )
    positions = [definition.names.index(array.name) for array in printed.arrays]
    changed = [
        position for position, is_written in zip(positions, written, strict=True) if is_written
    ]
    captures = Captures(shared.captures.values())
    return Draft(function, setting, printed, program, launcher, positions, changed, local, captures)


def read(
    definition: Definition, spec: CallSpec, launcher: Any, dialect: Dialect
) -> tuple[tree.Function, Setting, Shared]:
    """Return the typed tree; without an ndrange, infer the number of axes."""
    axes = spec.axes

    def setting(ndim: int) -> Setting:
        return setting_of(spec.device, launcher, dialect, ndim, large=spec.large)

    types_by_name = parameters(definition, spec)
    if axes < 0:
        first = first_written(definition)
        by_name = dict(zip(definition.names, spec.args, strict=True))
        model = by_name.get(first) if first is not None else None
        axes = model.ndim if type(model) is Array else 1  # else reading tells what is wrong
    shared = Shared()
    for names in definition.batches:
        types_by_name = examples_of(types_by_name, names)
    axes -= len(definition.batches)
    function = read_kernel(definition.source, types_by_name, setting(axes), shared)
    for names in definition.batches:
        add_axis(function, names, setting(axes))
        axes = max(axes, 1) + 1
    if not function.written:
        raise TypeError(
            f"{definition.name}: the kernel has no effect: it does not write into an argument"
        )
    return function, setting(axes), shared


def read_on_any_device(
    definition: Definition, spec: CallSpec
) -> tuple[tree.Function, Setting, Captures]:
    """Return the typed tree for a call, also on a device that does not run kernels."""
    launcher = spec.device._backend.launcher(spec.device.native)
    dialect = DIALECTS["opencl" if isinstance(launcher, str) else launcher.dialect]
    function, setting, shared = read(definition, spec, launcher, dialect)
    return function, setting, Captures(shared.captures.values())


def written_arguments(definition: Definition, function: tree.Function) -> list[int]:
    """Return the positions of the arguments that a kernel writes."""
    parameters = [function.parameters.get(name) for name in definition.names]
    return [
        n
        for n, parameter in enumerate(parameters)
        if isinstance(parameter, types.Array) and parameter.name in function.written
    ]


def setting_of(
    device: Device, launcher: Any, dialect: Dialect, ndim: int, *, large: bool = False
) -> Setting:
    """Return the setting of a device; `launcher` may be the reason why it has none."""
    double = np.dtype(np.float64)
    dtypes = frozenset(dispatch.dtypes_of(device))
    if not dialect.double:
        dtypes = dtypes.difference(types.DOUBLES)
    default = dispatch.default_dtype(device, "f")
    if default == double and double not in dtypes:
        default = np.dtype(np.float32)
    return Setting(
        default=default,
        dtypes=dtypes,
        ndim=max(ndim, 1),
        index_bits=types.ALL_BITS if large else types.INDEX_BITS,
        atomics64=getattr(launcher, "atomics64", True),
        device=str(device),
    )


def first_written(definition: Definition) -> str | None:
    """Return the first parameter that the function assigns to, by its syntax."""
    written = set()
    for node in definition.source.nodes():
        if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store):
            if isinstance(node.value, ast.Name):
                written.add(node.value.id)
        elif (
            isinstance(node, ast.Call)
            and node.args
            and isinstance(node.args[0], ast.Name)
            and "atomic" in _name_of(node.func)
        ):
            written.add(node.args[0].id)
    return next((name for name in definition.names if name in written), None)


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def argument_text(value: Value, argument: str) -> str:
    """Return Python that converts an argument to a value of a program."""
    if value.quantity != "argument":
        return f"complex({argument}).{value.quantity}"
    return _CONVERSIONS.get(value.dtype.kind, "int({})").format(argument)


def values_of(
    printed: Printed, names: list[str], positions: list[int]
) -> Callable[[list[Any], Range, tuple[Any, ...]], list[Any]]:
    """Return a function that computes a launch's values from layouts, ndrange and arguments."""
    order = {names[position]: n for n, position in enumerate(positions)}
    parts = []
    for value in printed.values:
        if value.quantity in ARGUMENTS:
            parts.append(argument_text(value, f"args[{names.index(value.name)}]"))
        elif value.quantity == "ndrange":
            parts.append(f"ndrange[{value.axis}]")
        elif value.quantity == "origin":
            parts.append("0")
        else:
            part = {"size": 0, "stride": 1, "offset": 2}[value.quantity]
            at = f"layouts[{order[value.name]}][{part}]"
            parts.append(at if value.quantity == "offset" else f"{at}[{value.axis}]")
    # Generated, as a loop takes a tenth of a launch: benchmarks/user_kernels.py.
    expression = f"lambda layouts, ndrange, args: [{', '.join(parts)}]"
    return _codegen.evaluate(expression)  # type: ignore[no-any-return]
