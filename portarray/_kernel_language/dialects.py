"""Differences between the C-like languages in which kernels are printed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

_FOLDER = Path(__file__).parent / "preludes"
PARTS: Mapping[str, re.Pattern[str]] = {
    "PA_USES_ATOMICS": re.compile(r"\bpa_atomic_"),
    "PA_USES_WHOLE": re.compile(r"\bpa_(floordiv|mod|pow|shl|shr)_[iu]"),
    "PA_USES_COMPLEX": re.compile(r"(?<![A-Za-z0-9])c(64|128)\b"),
    "PA_USES_REAL": re.compile(r"\bpa_(floordiv|floor_divide|mod|sign|logaddexp)_f"),
}
"""Parts of preludes that are there for programs that define their name, and what uses them."""


@dataclass(frozen=True)
class Dialect:
    """A language in which programs are printed."""

    name: str
    signature: str  # of the entry point: a format of {name} and {parameters}
    pointer: str = "{pointer}"  # a pointer parameter; {n} is its place
    value: str = "const {kind} {name}"
    plain: str = ""  # what keeps a compiler from vectorizing a kernel over work-items
    inherited: tuple[str, ...] = ()
    inherited_declared: tuple[str, ...] = ()
    headers: tuple[str, ...] = ()  # of the prelude, after its own
    long_suffix: str = "L"  # of literals of 64 bits
    long_places: bool = False  # whether places in memory of several axes are computed in 64 bits
    double: bool = True  # whether the language has double precision
    loops: bool = False  # whether programs run work-items in loops, as the language knows none

    @cached_property
    def prelude(self) -> str:
        names = (self.name, *self.headers, "common")
        return "".join((_FOLDER / f"{name}.h").read_text("utf-8") for name in names)

    def head(
        self, name: str, pointers: Sequence[str], values: Sequence[tuple[str, str]], *, plain: bool
    ) -> str:
        """Return the head of a kernel; a plain one must not be vectorized."""
        parameters = [
            self.pointer.format(pointer=declaration, n=n) for n, declaration in enumerate(pointers)
        ]
        for n, (kind, value) in enumerate(values, len(parameters)):
            parameters.append(self.value.format(kind=kind, name=value, n=n))
        text = self.signature.format(name=name, parameters=", ".join(parameters))
        return f"{self.plain}\n{text}" if plain and self.plain else text


# Where a work-item of a loop is; axis 0 is the neighbouring one.
PLACES = tuple(f"pa_{query}_{d}" for query in ("local", "group", "size", "count") for d in range(3))

_CUDA = 'extern "C" __global__ void {name}({parameters}) {{'

DIALECTS: Mapping[str, Dialect] = {
    "opencl": Dialect(
        "opencl",
        "__kernel void {name}({parameters}) {{",
        plain="__attribute__((intel_vec_len_hint(1)))",
        long_places=True,
    ),
    # "L" is 32 bits in CUDA on Windows, and "LL" is none of OpenCL C's or Metal's suffixes.
    "cuda": Dialect("cuda", _CUDA, headers=("cuda_and_hip",), long_suffix="LL"),
    "hip": Dialect("hip", _CUDA, headers=("cuda_and_hip",), long_suffix="LL"),
    "metal": Dialect(
        "metal",
        "kernel void {name}({parameters}, "
        "uint3 pa_global_id [[thread_position_in_grid]], "
        "uint3 pa_local_id [[thread_position_in_threadgroup]], "
        "uint3 pa_group_id [[threadgroup_position_in_grid]], "
        "uint3 pa_group_size [[threads_per_threadgroup]], "
        "uint3 pa_group_count [[threadgroups_per_grid]]) {{",
        pointer="{pointer} [[buffer({n})]]",
        value="constant {kind}& {name} [[buffer({n})]]",
        inherited=("pa_global_id", "pa_local_id", "pa_group_id", "pa_group_size", "pa_group_count"),
        inherited_declared=(
            *("uint3 pa_global_id", "uint3 pa_local_id", "uint3 pa_group_id"),
            *("uint3 pa_group_size", "uint3 pa_group_count"),
        ),
        double=False,
    ),
    "c": Dialect(
        "c",
        "static void {name}({parameters}) {{",
        inherited=PLACES,
        inherited_declared=tuple(f"const i32 {name}" for name in PLACES),
        long_suffix="LL",
        long_places=True,
        loops=True,
    ),
}
