"""Loop nests over several operands: axes reordered and merged."""

from __future__ import annotations

from functools import cached_property, lru_cache

import numpy as np
import pyopencl as cl

from portarray._opencl.device import Device
from portarray._opencl.pool import Storage
from portarray.clarray.layout import Shape, broadcast_strides, collapse

Layout = tuple[Shape, Shape]
"""Shape and strides."""

SHORT = 16
"""An innermost axis shorter than this is exchanged with a longer one outside it."""


class LoopNest:
    """A loop nest over an output and its operands.

    ``sizes`` are the lengths of the axes, innermost *first*; ``strides`` those of the output and of
    each operand; ``steps`` the innermost strides where kernels know them (0, 1, -1), else None.
    """

    def __init__(self, sizes: Shape, strides: tuple[Shape, ...]) -> None:
        self.sizes = sizes
        self.strides = strides
        self.steps = tuple(stride[0] if abs(stride[0]) <= 1 else None for stride in strides)

    @cached_property
    def table(self) -> tuple[int, ...]:
        """The length and the strides of each axis, as kernels read them."""
        return self.table_from(0)

    def table_from(self, first: int) -> tuple[int, ...]:
        """Return the table of the axes from ``first`` on."""
        return tuple(
            value
            for axis in range(first, len(self.sizes))
            for value in (self.sizes[axis], *(stride[axis] for stride in self.strides))
        )


@lru_cache(maxsize=4096)
def loop_nest(out: Layout, operands: tuple[Layout, ...]) -> LoopNest:
    """Return the loop nest over a non-empty output and operands that broadcast to it."""
    shape = out[0]
    strides = [out[1], *(broadcast_strides(*entry, shape) for entry in operands)]
    # In the order of the output's memory.
    order = sorted(range(len(shape)), key=lambda axis: -abs(out[1][axis]))
    sizes, collapsed = collapse(
        tuple(shape[axis] for axis in order),
        [tuple(entry[axis] for axis in order) for entry in strides],
    )
    if not sizes:
        sizes, collapsed = (1,), tuple((1,) for _ in collapsed)
    inner = list(reversed(range(len(sizes))))
    if len(inner) > 1 and sizes[inner[0]] < SHORT < sizes[inner[1]]:
        inner[:2] = inner[1], inner[0]
    return LoopNest(
        tuple(sizes[axis] for axis in inner),
        tuple(tuple(entry[axis] for axis in inner) for entry in collapsed),
    )


@lru_cache(maxsize=4096)
def layout_storage(device: Device, table: tuple[int, ...]) -> Storage:
    """Return a table in the device's memory."""
    host = np.array(table, np.int64)
    flags = cl.mem_flags
    buffer = cl.Buffer(device.context, flags.READ_ONLY | flags.COPY_HOST_PTR, hostbuf=host)
    return Storage(device, buffer, None, host.nbytes, owner=host)
