"""Compiles kernels for the arguments of a call."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from portarray._array import dispatch
from portarray._array.array import Array
from portarray._devices.device import Device
from portarray._kernel_language import source, tree, types
from portarray._kernel_language.arguments import Asked, parameters
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.dialects import DIALECTS, Dialect
from portarray._kernel_language.frontend import read_kernel
from portarray._kernel_language.printer import Printed, print_kernel
from portarray._kernel_language.ranges import Range
from portarray._kernel_language.scope import Shared
from portarray._kernel_language.setting import Setting
from portarray._launchers.launcher import Launch, Launcher, Program

Captured: TypeAlias = tuple[Callable[[str], Any], str, Any]
"""What looks a name up, the name, and the value that a program was compiled with."""

CONVERSIONS: Mapping[str, type] = {"b": bool, "f": float}
"""What makes values of scalar arguments, by kind; int of others."""


@dataclass(frozen=True, slots=True)
class Draft:
    """A program for the types of some arguments on a device, which is not compiled yet."""

    tree: tree.Function
    setting: Setting
    printed: Printed
    program: Program
    launcher: Launcher
    arrays: list[int]  # places of the arrays among the arguments
    written: list[int]  # places of those that are written
    local_memory: int  # bytes of a group
    constants: list[Captured]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A kernel compiled for the types of some arguments on a device."""

    draft: Draft
    launch: Launch
    values: Callable[[list[Any], Range, tuple[Any, ...]], list[Any]]


def prepare(own: Definition, asked: Asked) -> Prepared:
    """Compile a kernel for a call."""
    made = draft(own, asked)
    launch = made.launcher.build(made.program)
    return Prepared(made, launch, values_of(made.printed, own.names, made.arrays))


def draft(own: Definition, asked: Asked) -> Draft:
    """Return the program for a call."""
    device = asked.device
    launcher = device._backend.launcher(device.native)
    if isinstance(launcher, str):
        raise NotImplementedError(f"{device} runs no user kernels: {launcher}")
    dialect = DIALECTS[launcher.dialect]
    found, setting, shared = read(own, asked, launcher, dialect)
    printed = print_kernel(found, setting, dialect, offsets=launcher.offsets)
    local = sum(
        math.prod(one.shape or ()) * one.dtype.itemsize
        for one in tree.memories(found.body)
        if one.space == "local"
    )
    if local > launcher.local_memory:
        raise ValueError(
            f"{own.name} has {local} bytes of local memory; {device} has {launcher.local_memory} "
            f"for a group"
        )
    written = [one.name in found.written for one in printed.arrays]
    program = Program(
        printed.name,
        launcher.dialect,
        printed.text,
        tuple(one.dtype for one in printed.arrays),
        tuple(written),
        tuple(value.dtype for value in printed.values),
    )
    places = [own.names.index(one.name) for one in printed.arrays]
    changed = [place for place, is_written in zip(places, written, strict=True) if is_written]
    constants = [] if own.fixed else list(shared.constants.values())
    return Draft(found, setting, printed, program, launcher, places, changed, local, constants)


def read(
    own: Definition, asked: Asked, launcher: Any, dialect: Dialect
) -> tuple[tree.Function, Setting, Shared]:
    """Return the typed tree; the number of axes is found where no ndrange is given."""
    axes = asked.axes

    def setting(ndim: int) -> Setting:
        return setting_of(asked.device, launcher, dialect, ndim, large=asked.large)

    given = parameters(own, asked)
    if axes < 0:
        first = first_written(own)
        by_name = dict(zip(own.names, asked.args, strict=True))
        model = by_name.get(first) if first is not None else None
        axes = model.ndim if type(model) is Array else 1  # else reading tells what is wrong
    shared = Shared()
    found = read_kernel(own.source, given, setting(axes), shared)
    if not found.written:
        raise TypeError(f"{own.name} writes into none of its arguments, so that it has no effect")
    return found, setting(axes), shared


def setting_of(
    device: Device, launcher: Any, dialect: Dialect, ndim: int, *, large: bool = False
) -> Setting:
    """Return what the front end asks of a device, whose launcher may be a reason instead."""
    double = np.dtype(np.float64)
    dtypes = frozenset(dispatch.dtypes_of(device))
    if not dialect.double:
        dtypes -= {double}
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


def first_written(own: Definition) -> str | None:
    """Return the first parameter that is assigned to, as the text tells."""
    written = set()
    for one in own.source.nodes():
        if isinstance(one, ast.Subscript) and isinstance(one.ctx, ast.Store):
            if isinstance(one.value, ast.Name):
                written.add(one.value.id)
        elif (
            isinstance(one, ast.Call)
            and one.args
            and isinstance(one.args[0], ast.Name)
            and "atomic" in _name_of(one.func)
        ):
            written.add(one.args[0].id)
    return next((name for name in own.names if name in written), None)


def _name_of(function: ast.expr) -> str:
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


def values_of(
    printed: Printed, names: list[str], places: list[int]
) -> Callable[[list[Any], Range, tuple[Any, ...]], list[Any]]:
    """Return what makes the values of a launch from layouts, ndrange and arguments."""
    order = {names[place]: n for n, place in enumerate(places)}
    parts = []
    for one in printed.values:
        if one.what == "argument":
            place = names.index(one.name)
            convert = CONVERSIONS.get(one.dtype.kind, int).__name__
            parts.append(f"{convert}(args[{place}])")
        elif one.what == "ndrange":
            parts.append(f"ndrange[{one.axis}]")
        else:
            part = {"size": 0, "stride": 1, "offset": 2}[one.what]
            at = f"layouts[{order[one.name]}][{part}]"
            parts.append(at if one.what == "offset" else f"{at}[{one.axis}]")
    # One function without look-ups by name: this is made once, and called at each launch.
    made: Callable[[list[Any], Range, tuple[Any, ...]], list[Any]] = eval(  # noqa: S307
        f"lambda layouts, ndrange, args: [{', '.join(parts)}]"
    )
    return made


def current(constants: Sequence[Captured]) -> bool:
    """Tell whether the globals that a program was compiled with have these values still."""
    for lookup, name, value in constants:
        try:
            now = lookup(name)
        except source.Missing:
            return False
        if now is not value and (type(now) is not type(value) or now != value):
            return False
    return True
