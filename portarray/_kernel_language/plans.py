"""What a call of a kernel would do, without doing it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from portarray._array.array import Array
from portarray._config import config
from portarray._kernel_language.arguments import CallSpec, is_strided
from portarray._kernel_language.constants import plain
from portarray._kernel_language.definition import Definition
from portarray._kernel_language.preparing import Draft
from portarray._kernel_language.printer import ARGUMENTS
from portarray._kernel_language.ranges import Range, launch_ranges
from portarray._kernel_language.types import complex_dtype
from portarray._launchers.launcher import MEMORY

_LANGUAGES = {"opencl": "OpenCL C", "cuda": "CUDA", "hip": "HIP", "metal": "Metal", "c": "C"}


@dataclass(frozen=True, slots=True)
class ParameterPlan:
    """What becomes of one argument of a call.

    Parameters
    ----------
    name : str
        The parameter.
    role : {"written", "read", "value", "static"}
        Arrays are written or only read; a value is passed at each launch; a static one is a
        constant of the program.
    type : str
        The dtype, and how many axes; what a static one is.
    copied : str
        Why an array is copied, empty if the kernel uses its memory.
    """

    name: str
    role: str
    type: str
    copied: str = ""

    def __str__(self) -> str:
        """Return one line, without the name."""
        if self.role in ("value", "static"):
            return f"{self.role}: {self.type}"
        how = f"copied: {self.copied}" if self.copied else "as it is"
        return f"{self.role}: {self.type}, {how}"


@dataclass(frozen=True, slots=True)
class LaunchPlan:
    """What a call of a kernel would do, as :meth:`KernelFunction.explain` returns it.

    Parameters
    ----------
    kernel, device : str
        Their names.
    computes : str
        What computes, as its driver names it.
    dialect : {"opencl", "cuda", "hip", "metal", "c"}
        The language of the program.
    program : str
        Where the program is: ``"in memory"``, ``"in the cache on disk"`` or ``"to be compiled"``;
        or that the interpreter runs the kernel.
    ndrange, group, rounded : tuple of int
        Work-items by axis: all of them, those of a group, and those that are launched. Of an
        ndrange of more than three axes a launch has one. `group` and `rounded` are empty if there
        are no elements and nothing is launched.
    index_bits : int
        Whether indices are computed in 32 or 64 bits.
    local_memory : int
        Bytes that the work-items of a group share.
    parameters : tuple of ParameterPlan
        The arguments, in the order of the parameters.
    constants : mapping of str to object
        Numbers and tuples of the names around the kernel and its helpers, which are constants of
        the program.
    adjoint : str
        The adjoint of a kernel that is declared differentiable.
    """

    kernel: str
    device: str
    computes: str
    dialect: str
    program: str
    ndrange: Range
    group: Range
    rounded: Range
    index_bits: int
    local_memory: int
    parameters: tuple[ParameterPlan, ...]
    constants: Mapping[str, Any]
    adjoint: str = ""

    def __str__(self) -> str:
        size = f"{self.ndrange}: no work-items, nothing is launched"
        if self.group:
            size = f"{self.ndrange} in groups of {self.group}"
            if self.rounded != self.ndrange:
                size += f", launched as {self.rounded}"
        rows = {
            "computes": f"{self.computes}, {_LANGUAGES[self.dialect]}",
            "program": self.program,
            "ndrange": size,
            "indices": f"{self.index_bits} bits",
        }
        if self.local_memory:
            rows["local memory"] = f"{self.local_memory} bytes of each group"
        entries = list(rows.items())
        entries += [(parameter.name, str(parameter)) for parameter in self.parameters]
        if self.constants:
            entries.append(
                ("constants", ", ".join(f"{n} = {x!r}" for n, x in self.constants.items()))
            )
        width = max(len(name) for name, _ in entries)
        lines = [f"  {name:{width}}  {text}" for name, text in entries]
        if self.adjoint:
            lines += ["  adjoint", *[f"    {line}" for line in self.adjoint.splitlines()]]
        return "\n".join([f"{self.kernel} on {self.device}", *lines])


def plan(definition: Definition, spec: CallSpec, draft: Draft, *, prepared: bool) -> LaunchPlan:
    """Return what a call would do.

    Parameters
    ----------
    prepared
        Whether the kernel has been compiled for such a call.
    """
    launcher, setting = draft.launcher, draft.setting
    sizes = spec.sizes(draft.written)
    group: Range = ()
    rounded: Range = ()
    if 0 not in sizes:
        barriers = draft.tree.barriers
        rounded, group = launch_ranges(launcher, sizes, spec.group, barriers=barriers)
    program = MEMORY if prepared else launcher.origin(draft.program)
    if config._kernel_debug:
        program = "none: the interpreter runs the kernel, as config.kernel_debug is set"
    return LaunchPlan(
        kernel=definition.name,
        device=str(spec.device),
        computes=launcher.name,
        dialect=launcher.dialect,
        program=program,
        ndrange=sizes,
        group=group,
        rounded=rounded,
        index_bits=64 if setting.index_bits > 31 else 32,
        local_memory=draft.local_memory,
        parameters=_parameters(definition, spec, draft),
        constants=draft.captures.constants(),
    )


def _parameters(definition: Definition, spec: CallSpec, draft: Draft) -> tuple[ParameterPlan, ...]:
    values = {
        value.name: value.dtype if value.quantity == "argument" else complex_dtype(value.dtype)
        for value in draft.printed.values
        if value.quantity in ARGUMENTS
    }
    layout = spec.device._backend.layout
    plans = []
    for position, (name, x) in enumerate(zip(definition.names, spec.args, strict=True)):
        if position in draft.arrays:
            assert type(x) is Array
            shape, strides, _ = layout(x.native)
            axes = f"{len(shape)} {'axis' if len(shape) == 1 else 'axes'}"
            kind = f"{x.dtype}, {axes}{', strided' if is_strided(shape, strides) else ''}"
            written = position in draft.written
            copied = draft.launcher.copied(x.native, written=written)
            plans.append(ParameterPlan(name, "written" if written else "read", kind, copied))
        elif name in values:
            plans.append(ParameterPlan(name, "value", str(values[name])))
        else:
            plans.append(ParameterPlan(name, "static", repr(plain(x))))
    return tuple(plans)
