"""What runs programs on a device: the interface between user kernels and backends.

A program is a complete source text in the language of the device's compiler, with one kernel. Its
parameters are pointers to the elements of arrays, then values. A backend's
:meth:`~portarray.backends.base.Backend.launcher` says what compiles and runs it on a device.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple, Protocol

import numpy as np

from portarray._opencl.blocks import LaunchBlock

__all__ = [
    "ANY_GROUPS",
    "COMPILER",
    "DISK",
    "GPU_GROUPS",
    "MEMORY",
    "PREFIX",
    "Launch",
    "LaunchBlock",
    "Launcher",
    "Layout",
    "Program",
    "group_for",
    "group_on_cpu",
    "layout_of",
    "strides_of",
]

Range = tuple[int, ...]

PREFIX = "pa_kernel_"
"""What the names of user kernels begin with in programs."""

MEMORY, DISK, COMPILER = "in memory", "in the cache on disk", "to be compiled"
"""Where programs come from."""

ANY_GROUPS: Range = (2**31 - 1,) * 3
GPU_GROUPS: Range = (65_535, 65_535, 2**31 - 1)
"""The largest numbers of groups along three axes: of OpenCL, and of CUDA and HIP."""

Layout = tuple[Range, Range, int]
"""Shape, strides and offset of an array; strides and offset are counted in elements."""

Launch = Callable[[Sequence[Any], Sequence[Any], Range, Range], Sequence[Any] | None]
"""``launch(arrays, values, ndrange, group)`` runs a program's kernel.

``ndrange`` and ``group`` have one to three axes of at least one work-item, the neighbouring one
last, and ``group`` divides ``ndrange``. Returns None where the written arrays are changed in place;
for immutable arrays the new native arrays, in the order of the parameters that are written."""


class Program(NamedTuple):
    """A complete program with one kernel to run.

    Parameters
    ----------
    name : str
        The kernel's name in the text.
    dialect : str
        ``"opencl"``, ``"cuda"``, ``"hip"``, ``"metal"`` or ``"c"``.
    text : str
        The source.
    arrays : tuple of numpy.dtype
        Dtypes of the elements that the kernel's first parameters point to.
    written : tuple of bool
        Which of the arrays are written.
    values : tuple of numpy.dtype
        Dtypes of the parameters after the pointers, which are passed by value.
    """

    name: str
    dialect: str
    text: str
    arrays: tuple[np.dtype[Any], ...]
    written: tuple[bool, ...]
    values: tuple[np.dtype[Any], ...]

    @property
    def kernel(self) -> str:
        """The name of a user's kernel in Python, for people."""
        return self.name.removeprefix(PREFIX)


class Launcher(Protocol):
    """What compiles and runs programs on one device.

    ``dialect`` is that of its programs. With ``offsets`` pointers are to the memory of arrays as a
    whole, and the program must be passed their offsets as values; without, to the first element.
    ``immutable`` tells that launches return new arrays and leave their arguments unchanged.
    ``float64`` and ``atomics64`` tell what the device supports, ``max_group`` the largest number of
    work-items in a group, ``max_sizes`` and ``max_groups`` its largest sizes and the largest
    numbers of groups along three axes,
    ``local_memory`` the bytes that a group shares. ``name`` is for people.
    """

    @property
    def name(self) -> str:
        """What computes, as its driver names it."""

    @property
    def dialect(self) -> str:
        """The language of programs."""

    @property
    def offsets(self) -> bool:
        """Whether pointers are to whole memory blocks."""

    @property
    def immutable(self) -> bool:
        """Whether launches return new arrays."""

    @property
    def float64(self) -> bool:
        """Whether there is double precision."""

    @property
    def atomics64(self) -> bool:
        """Whether atomic functions of 64-bit integers exist."""

    @property
    def max_group(self) -> int:
        """The largest number of work-items in a group."""

    @property
    def max_sizes(self) -> Range:
        """The largest sizes of a group along three axes, the neighbouring one last."""

    @property
    def max_groups(self) -> Range:
        """The largest numbers of groups along three axes, the neighbouring one last."""

    @property
    def local_memory(self) -> int:
        """Bytes of memory that a group shares."""

    def group(self, ndrange: Range) -> Range:
        """Return a fast group size for kernels that name none."""

    def writable(self, x: Any) -> Any:
        """Return what to write instead of an array: itself, or a copy of read-only memory.

        Called for each written array of each call, before :meth:`Backend.layout`.
        """

    def copied(self, x: Any, *, written: bool) -> str:
        """Return why an array is copied, empty if it is not; changes nothing."""

    def address(self, x: Any) -> tuple[Hashable, int]:
        """Return what an array's memory is, and the address in it of the first element.

        Arrays overlap where both agree; never asked of immutable ones.
        """

    def origin(self, program: Program) -> str:
        """Return where building takes a program from: ``MEMORY``, ``DISK`` or ``COMPILER``."""

    def build(self, program: Program) -> Launch:
        """Compile a program, or load it from a cache, and return what runs its kernel.

        Raises
        ------
        portarray.errors.KernelBuildError
            If the compiler refuses it; ``log`` is what the compiler said.
        """


def layout_of(x: Any) -> Layout:
    """Return the layout of an array whose strides are counted in bytes.

    Raises
    ------
    ValueError
        If elements do not lie at multiples of their size, as in fields of structured arrays.
    """
    shape: Range = x.shape
    if x.flags.c_contiguous:
        return shape, strides_of(shape), 0
    strides: Range = x.strides
    itemsize: int = x.itemsize
    steps = tuple([stride // itemsize for stride in strides])
    for stride in strides:
        if stride % itemsize:
            raise ValueError(
                f"kernels do not support an array with strides of {strides} bytes, which are not "
                f"multiples of its item size {itemsize}\nHint: copy the array first"
            )
    return shape, steps, 0


@lru_cache(maxsize=4096)
def strides_of(shape: Range) -> Range:
    """Return the strides of a C-contiguous array, in elements."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def group_on_cpu(ndrange: Range, units: int, most: int) -> Range:
    """Return a group for a CPU with so many cores: small enough that each has one.

    Groups below 64 work-items cost more. Large ones, where each core has many of them, stream
    through whole rows of an array: with rows in parts the memory is read ahead in vain.
    """
    total = math.prod(ndrange)
    share = total // units
    near = 1 << (max(share, 1) * 4 // 3).bit_length() - 1  # a power of two
    size = max(64, min(512, near), min(8192, share // 16))
    return group_for(ndrange, min(size, most))


def group_for(ndrange: Range, size: int) -> Range:
    """Return a group of up to ``size`` work-items that lie next to each other.

    Powers of two, the last axis first; at most an eighth of the work-items of large groups are
    outside of the ndrange.
    """
    size = 1 << (size.bit_length() - 1)
    divisors = []
    remaining = size
    for length in reversed(ndrange):
        step = min(remaining, 1 << max(length - 1, 0).bit_length())
        while step > 256 and -length % step > length // 8:
            step //= 2
        divisors.append(step)
        remaining //= step
    return tuple(reversed(divisors))
