"""Launchers that compile programs with the machine's C compiler: where there is no OpenCL.

Imports cffi: :mod:`portarray._launchers.host` imports this module when a kernel is run
first and no OpenCL runtime is found.
"""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

import numpy as np

from portarray import _codegen
from portarray._launchers import c_compiler
from portarray._launchers.launcher import ANY_GROUPS, Launch, Launcher, Program, Range, group_on_cpu
from portarray.backends.common.machine import processor
from portarray.errors import KernelBuildError

__all__ = ["host_launcher"]

_MOST = 8192
_CODES = {"b": "?", "i": "bhiq", "u": "BHIQ", "f": " efd"}
_PADS: dict[int, Range] = {1: (1, 1), 2: (1,), 3: ()}

_cast = c_compiler.ffi.cast
_from_buffer = c_compiler.ffi.from_buffer

_together = [1]
"""Whether launches use several threads: OpenMP's are not there in a forked process."""
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: _together.__setitem__(0, 0))


class _CLauncher:
    """Runs programs in host memory and waits for them."""

    dialect = "c"
    offsets = False
    immutable = False
    float64 = True
    atomics64 = sys.maxsize > 2**32
    max_group = _MOST
    max_sizes: Range = (_MOST,) * 3
    max_groups = ANY_GROUPS
    local_memory = 1 << 18  # in no memory of its own

    def __init__(self, command: tuple[str, ...], address: Callable[[Any], int] | None) -> None:
        self.name = f"{processor().name} ({command[0]})"
        self._programs = _programs(command)
        self._address = address
        self._units = _units()

    def group(self, ndrange: Range) -> Range:
        """Return a fast group size."""
        return group_on_cpu(ndrange, self._units, _MOST)

    def writable(self, x: Any) -> Any:
        """Return the array."""
        return x

    def copied(self, x: Any, *, written: bool) -> str:
        """Return why an array is copied."""
        return ""

    def address(self, x: Any) -> tuple[Hashable, int]:
        """Return where an array's first element is."""
        return None, (self._address or _address_of)(x)

    def origin(self, program: Program) -> str:
        """Return where building takes a program from."""
        return self._programs.origin(program.text)

    def build(self, program: Program) -> Launch:
        """Compile a program and return what runs its kernel."""
        try:
            run = self._programs.function(program.text, len(program.arrays))
        except c_compiler.BuildError as error:
            raise KernelBuildError(program.kernel, self.name, str(error), program.text) from error
        submit = _submitter(run, program, self._address)
        name = program.kernel

        def launch(
            arrays: Sequence[Any], values: Sequence[Any], ndrange: Range, group: Range
        ) -> None:
            if submit(arrays, values, ndrange, group):
                raise MemoryError(
                    f"{name}: out of memory for the local arrays of groups of {group} work-items"
                )

        return launch


@cache
def _programs(command: tuple[str, ...]) -> c_compiler.Programs:
    return c_compiler.Programs(command)


def _units() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _address_of(x: np.ndarray[Any, Any]) -> int:
    address: int = x.__array_interface__["data"][0]
    return address


def _pointer_to(x: np.ndarray[Any, Any]) -> Any:
    """Return a pointer to a NumPy array's first element."""
    try:
        return _from_buffer(x)
    except ValueError:  # not contiguous, or of a dtype that has no buffer
        return _cast("void *", _address_of(x))


def _submitter(
    run: Callable[..., int], program: Program, address: Callable[[Any], int] | None
) -> Callable[[Sequence[Any], Sequence[Any], Range, Range], int]:
    """Return what passes arrays and values to a program; see ``PA_GIVEN`` of its prelude."""
    codes = [_code(dtype) for dtype in program.values]
    pack = struct.Struct("".join(f"{code}0q" for code in [*codes, *"iiiiiiq"])).pack
    # Written out: a loop takes a tenth of a launch.
    pointer = "pointer_to({})" if address is None else "cast('void *', address({}))"
    pointers = "".join(f", {pointer.format(f'arrays[{n}]')}" for n in range(len(program.arrays)))
    submit: Callable[[Sequence[Any], Sequence[Any], Range, Range], int] = _codegen.evaluate(
        "lambda arrays, values, size, group: run(pack(*values, *pads[len(size)], *size, "
        f"*pads[len(size)], *group, together[0]){pointers})",
        {
            "run": run,
            "pack": pack,
            "pads": _PADS,
            "together": _together,
            "pointer_to": _pointer_to,
            "address": address,
            "cast": _cast,
        },
    )
    return submit


def _code(dtype: np.dtype[Any]) -> str:
    """Return :mod:`struct`'s code of a value; float16 and bfloat16 are passed as float32."""
    if dtype.itemsize == 2 and dtype.kind not in "iu":
        return "f"
    return _CODES[dtype.kind][dtype.itemsize.bit_length() - 1]


def host_launcher(address: Callable[[Any], int] | None) -> Launcher | str:
    """Return a launcher for arrays in host memory, NumPy's if there is no function for addresses.

    Parameters
    ----------
    address : callable or None
        Returns the address of a native array's first element.
    """
    command = c_compiler.compiler()
    return command if isinstance(command, str) else _CLauncher(command, address)
