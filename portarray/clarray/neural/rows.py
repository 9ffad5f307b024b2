"""Launches of ``neural_*.cl`` kernels over the rows of arrays, and a cache of them.

On CPUs a work-item takes several rows and computes with vectors; on devices with local memory a
work-group takes a row. Launches are cached by dtypes, shapes and strides, as preparing one takes
longer than a kernel over few rows.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import cl_type
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import collapse, strides_of
from portarray.clarray.strided import Array, new_array

DType = np.dtype[Any]
Shape = tuple[int, ...]
Layout = tuple[Shape, Shape]
"""Shape and strides."""

LONG = np.int64
ROW_VALUES: tuple[Any, ...] = (LONG,) * 8
"""The dtypes of ``ROW_PARAMETERS`` in ``neural_vectors.cl``."""

_AXES = 3
_WORTH = 1 << 13
"""Elements that are worth another work-item on a CPU."""

_MOST = 8192


class Call(NamedTuple):
    """A launch without its buffers and offsets."""

    kernel: Kernel
    size: Shape
    group: Shape
    nbytes: int
    shape: Shape
    strides: Shape
    values: tuple[Any, ...]

    def __call__(self, x: Array, *others: Array) -> Array:
        """Return the result, of the dtype of the first array."""
        storage = x.storage
        memory = storage.device.pool.take(self.nbytes)
        if others:
            self.kernel.launch(
                self.size,
                self.group,
                (memory, storage, *[operand.storage for operand in others]),
                x.offset,
                *[operand.offset for operand in others],
                *self.values,
            )
        else:
            self.kernel.launch(self.size, self.group, (memory, storage), x.offset, *self.values)
        return new_array(memory, x.dtype, self.shape, self.strides, 0, True)


calls: dict[tuple[Any, ...], Call] = {}
"""Cached calls; keys begin with the function's name."""


def store(key: tuple[Any, ...], call: Call) -> Call:
    """Cache a call, and return it."""
    if len(calls) >= _MOST:
        calls.clear()
    calls[key] = call
    return call


class Rows(NamedTuple):
    """The rows of arrays: their row count, length and strides."""

    row_count: int
    length: int
    steps: tuple[Shape, ...]
    inner: Shape

    def split(self, device: Device) -> tuple[Shape, Shape, tuple[int, ...]]:
        """Return the sizes of a launch over the rows, and its first values."""
        if device.traits.local_memory:
            items = items_per_row(device, self.length)
            size, group, per_item = self.row_count * items, items, 1
        else:
            most = min(32 * device.traits.units, self.row_count * self.length // _WORTH)
            per_item = -(-self.row_count // max(most, 1))
            size, group = -(-self.row_count // per_item), 1
        return (
            (size,),
            (group,),
            (self.row_count, per_item, self.length, *self.inner, *self.steps[0]),
        )


def rows_of(shape: Shape, strides: Shape, *tables: Layout) -> Rows | None:
    """Return the rows along the last axis of arrays; None if they do not merge to few axes."""
    for (*_, length), (*_, step) in ((shape, strides), *tables):
        if step != 1 and length > 1:
            return None
    outer = shape[:-1]
    sizes, collapsed = collapse(outer, [strides[:-1], *(steps[:-1] for _, steps in tables)])
    if len(sizes) > _AXES:
        return None
    missing = _AXES - len(sizes)
    sizes = (1,) * missing + sizes
    steps = tuple((0,) * missing + walk for walk in collapsed)
    return Rows(math.prod(outer), shape[-1], steps, sizes[1:])


def items_per_row(device: Device, length: int) -> int:
    """Return how many work-items share a row."""
    return min(64 if length <= 256 else 256, device.native.max_work_group_size)


@cache
def kernel(
    device: Device,
    file: str,
    name: str,
    dtype: DType,
    buffers: int,
    values: tuple[Any, ...],
    length: int = 0,
    options: tuple[str, ...] = (),
) -> Kernel:
    """Return a kernel for arrays of a real floating-point dtype."""
    c_type = cl_type(dtype)
    options = (
        f"-DS={c_type.storage}",
        f"-DT={c_type.compute}",
        f"-DLOAD_E={c_type.load}",
        f"-DSTORE_E={c_type.store}",
        *(("-DNARROW",) if dtype.itemsize == 2 else ()),
        *(("-DHALF",) if dtype == np.float16 else ()),
        *((f"-DLANES={items_per_row(device, length)}",) if device.traits.local_memory else ()),
        *options,
    )
    return device.kernel(
        kernel_source("neural_vectors") + kernel_source(file), name, buffers, values, options
    )


def call_of(kernel: Kernel, rows: Rows, x: Array, *values: Any) -> Call:
    """Return the call of a kernel over the rows of an array, with a result of its shape."""
    size, group, first = rows.split(x.device)
    nbytes = x.size * x.dtype.itemsize
    return Call(kernel, size, group, nbytes, x.shape, strides_of(x.shape), (*first, *values))
