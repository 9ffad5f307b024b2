"""User kernels on GPUs, through CuPy's run-time compiler and its cache on disk.

Follows CuPy's documentation (``cupy.RawModule``, ``cupy.RawKernel``); not yet run on a GPU.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import cupy
from cupy.cuda import runtime

from portarray._launchers.launcher import (
    COMPILER,
    GPU_GROUPS,
    Launch,
    Launcher,
    Layout,
    Program,
    Range,
    group_for,
    layout_of,
)
from portarray.backends.base import Backend
from portarray.errors import KernelBuildError

__all__ = ["Launching"]


class Launching(Backend):
    """Launchers of programs on CuPy's GPUs."""

    def launcher(self, device: Any) -> Launcher:
        cached = _launchers.get(device.id)
        if cached is None:
            cached = _launchers[device.id] = _Launcher(device, self.scope(device))
        return cached

    def layout(self, x: Any) -> Layout:
        return layout_of(x)

    def allocation(self, x: Any) -> int:
        return id(x.data.mem)

    def is_broadcast(self, x: Any) -> bool:
        return 0 in x.strides


_launchers: dict[int, Launcher] = {}

# Each operation is rounded, as in NumPy; HIP programs set this in the source.
_OPTIONS = () if runtime.is_hip else ("--fmad=false",)


class _Launcher:
    """Runs programs on the current stream of the calling thread; does not wait."""

    dialect = "hip" if runtime.is_hip else "cuda"
    offsets = False
    immutable = False
    max_groups = GPU_GROUPS
    float64 = True
    atomics64 = True

    def __init__(self, device: Any, scope: AbstractContextManager[Any] | None) -> None:
        self._device = device
        self._scope = nullcontext() if scope is None else scope
        self.name = f"{self.dialect} device {device.id}"
        figures = device.attributes
        self.max_group = int(figures["MaxThreadsPerBlock"])
        self.max_sizes = tuple([int(figures[f"MaxBlockDim{axis}"]) for axis in "ZYX"])
        self.local_memory = int(figures["MaxSharedMemoryPerBlock"])

    def group(self, ndrange: Range) -> Range:
        return group_for(ndrange, 256)

    def writable(self, x: Any) -> Any:
        return x

    def copied(self, x: Any, *, written: bool) -> str:
        return ""

    def address(self, x: Any) -> tuple[Hashable, int]:
        return None, int(x.data.ptr)

    def origin(self, program: Program) -> str:
        return COMPILER  # CuPy's cache on disk cannot be queried

    def build(self, program: Program) -> Launch:
        try:
            with self._scope:
                module = cupy.RawModule(code=program.text, options=_OPTIONS)
                module.compile()
                kernel = module.get_function(program.name)
        except cupy.cuda.compiler.CompileException as error:
            raise KernelBuildError(program.kernel, self.name, str(error), program.text) from error
        scope = self._scope
        kinds = [dtype.type for dtype in program.values]

        def launch(arrays: Sequence[Any], values: Sequence[Any], size: Range, group: Range) -> None:
            block = group[::-1]
            grid = tuple([whole // part for whole, part in zip(size[::-1], block, strict=True)])
            # CuPy passes a NumPy scalar by its dtype, and Python's as 64 bits.
            passed = [kind(value) for kind, value in zip(kinds, values, strict=True)]
            with scope:
                kernel(grid, block, (*arrays, *passed))

        return launch
