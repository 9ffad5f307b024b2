"""Elements selected by index arrays: read, written, with indices checked against their bounds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.pool import Storage
from portarray._opencl.programs import Kernel
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import broadcast_strides, collapse, strides_of
from portarray.clarray.strided import Array, empty

Shape = tuple[int, ...]

_CHUNK = 4096
"""Elements of a work-item of a CPU: enough to hide its start, few enough for every core."""

_LONG = np.int64
_ITEMS = {1: ("uchar", 1), 2: ("ushort", 1), 4: ("uint", 1), 8: ("ulong", 1), 16: ("ulong", 2)}


@dataclass(frozen=True, slots=True)
class Index:
    """An integer array that indexes one axis."""

    array: Array
    size: int
    step: int
    axis: int
    checked: bool = False

    @property
    def code(self) -> int:
        """How kernels read the indices; see ``kernels/gather_loops.cl``."""
        if self.checked:
            return 0
        dtype = self.array.dtype
        return -dtype.itemsize if dtype.kind == "u" else dtype.itemsize


@dataclass(frozen=True, slots=True)
class Places:
    """The elements of an array that a key selects."""

    shape: Shape
    offset: int
    strides: Shape
    index: Index
    index_strides: Shape


def gather(x: Array, places: Places) -> Array:
    """Return a new array of the selected elements of ``x``."""
    out = empty(places.shape, x.dtype, x.device)
    if _is_empty(places):
        return out
    _move("gather", x, places, out, out.strides, into=False)
    return out


def scatter(x: Array, places: Places, values: Array) -> None:
    """Write values, broadcast to the places' shape, into ``x``; repeated places get any of theirs.

    The values have the dtype of ``x``; neither they nor the index share memory with it.
    """
    steps = broadcast_strides(values.shape, values.strides, places.shape)
    if not _is_empty(places):
        if not places.index.checked:
            _offsets(places.index, places.index.array, None, 0)
        _move("gather", x, places, values, steps, into=True)


def scatter_masked(x: Array, mask: Array, values: Array) -> None:
    """Write values into ``x`` where a mask is true; both broadcast to the shape of ``x``.

    The values have the dtype of ``x``; neither they nor the mask share memory with it.
    """
    places = Places(
        x.shape,
        x.offset,
        x.strides,
        Index(mask, 0, 0, 0, checked=True),
        broadcast_strides(mask.shape, mask.strides, x.shape),
    )
    steps = broadcast_strides(values.shape, values.strides, x.shape)
    if x.size:
        _move("masked", x, places, values, steps, into=True)


def combine(indices: Sequence[Index], shape: Shape, device: Device) -> Index:
    """Return one index equivalent to several: offsets of the elements they select together."""
    offsets = empty(shape, np.dtype(_LONG), device)
    if not offsets.size:  # checked all the same
        for index in indices:
            if not index.checked:
                _offsets(index, index.array, None, 0)
    for position, index in enumerate(indices):
        strides = broadcast_strides(index.array.shape, index.array.strides, shape)
        _offsets(index, index.array.view(shape, strides, index.array.offset), offsets, position)
    return Index(offsets, 0, 1, 0, checked=True)


def unravel(positions: Array, shape: Shape, strides: Shape) -> None:
    """Turn flat positions, in C order, into offsets of an array's elements, in place."""
    if not positions.size:
        return
    zeros = (0,) * len(shape)
    nest = _LoopNest(positions.device, shape, strides, zeros, zeros, rows=False)
    kernel = _kernel(positions.device, "unravel")
    group = positions.device.traits.group
    size = -(-positions.size // group) * group
    storages = positions.storage, nest.memory.storage
    kernel.launch((size,), (group,), storages, positions.size, nest.rank)


def _is_empty(places: Places) -> bool:
    """Return whether no element is selected; check the indices in any case."""
    index = places.index
    if index.size == 0 and not index.checked and index.array.size:
        _raise_out_of_bounds(index, index.array.offset)
    if 0 not in places.shape:
        return False
    if not index.checked:
        _offsets(index, index.array, None, 0)
    return True


class _LoopNest:
    """The loop nest of a kernel over a result: see ``kernels/gather_loops.cl``."""

    __slots__ = ("chunk", "inner", "memory", "rank", "total")

    def __init__(
        self, device: Device, shape: Shape, first: Shape, index: Shape, second: Shape, *, rows: bool
    ) -> None:
        sizes, strides = collapse(shape, [first, index, second])
        # Adjacent work-items of a GPU take adjacent elements.
        self.chunk, self.inner = 1, 1
        if not device.traits.local_memory:
            self.chunk = _CHUNK
            if (
                rows
                and sizes
                and sizes[-1] <= _CHUNK
                and [stride[-1] for stride in strides] == [1, 0, 1]
            ):
                self.inner = sizes[-1]
                self.chunk //= self.inner
                sizes, strides = sizes[:-1], tuple(stride[:-1] for stride in strides)
        self.total = math.prod(sizes)
        self.rank = len(sizes) or 1
        axes = [entry for axis in zip(sizes, *strides, strict=True) for entry in axis]
        self.memory = from_numpy(np.array([0, *(axes or (1, 0, 0, 0))], _LONG), device)

    def launch(
        self,
        kernel: Kernel,
        storages: tuple[Storage, ...],
        offsets: tuple[int, int, int],
        index: Index,
        *values: int,
    ) -> None:
        """Run a kernel over the result; raise if an index is out of bounds."""
        traits = self.memory.device.traits
        group = traits.group if traits.local_memory else 1
        kernel.launch(
            (-(-self.total // (self.chunk * group)) * group,),
            (group,),
            (*storages, self.memory.storage),
            *offsets,
            self.rank,
            index.code,
            index.size,
            index.step,
            self.inner,
            self.total,
            self.chunk,
            *values,
        )
        if not index.checked:
            position = int(to_numpy(self.memory)[0])
            if position:
                _raise_out_of_bounds(index, position - 1)


_VALUES: tuple[Any, ...] = (*[_LONG] * 3, *[np.int32] * 2, *[_LONG] * 5)
"""The by-value parameters of these kernels."""


@cache
def _kernel(device: Device, name: str, itemsize: int = 0, *, into: bool = False) -> Kernel:
    """Return a kernel of ``gather.cl`` for elements of a size, or one of ``gather_offsets.cl``."""
    nest = kernel_source("gather_loops")
    options = () if device.traits.local_memory else ("-DLOOPS",)
    if itemsize:
        item, width = _ITEMS[itemsize]
        options += (f"-DITEM={item}", f"-DWIDTH={width}", *(("-DINTO",) if into else ()))
        return device.kernel(nest + kernel_source("gather"), name, 4, _VALUES, options)
    buffers, values = (3, (*_VALUES, np.int32)) if name == "offsets" else (2, (_LONG, np.int32))
    return device.kernel(nest + kernel_source("gather_offsets"), name, buffers, values, options)


def _move(
    name: str, x: Array, places: Places, buffer: Array, strides: Shape, *, into: bool
) -> None:
    """Copy the selected elements: ``into`` the array from another one, or the other way."""
    index = places.index
    nest = _LoopNest(
        x.device, places.shape, places.strides, places.index_strides, strides, rows=name == "gather"
    )
    nest.launch(
        _kernel(x.device, name, x.dtype.itemsize, into=into),
        (x.storage, buffer.storage, index.array.storage),
        (places.offset, buffer.offset, index.array.offset),
        index,
    )


def _offsets(index: Index, array: Array, out: Array | None, position: int) -> None:
    """Check indices and write the offsets they give; add them if this is not the first index."""
    if not array.size:
        return
    if index.size == 0 and not index.checked:
        _raise_out_of_bounds(index, array.offset)
    steps = strides_of(array.shape)
    zeros = (0,) * array.ndim
    nest = _LoopNest(array.device, array.shape, steps, array.strides, zeros, rows=False)
    kernel = _kernel(array.device, "offsets")
    storage = (nest.memory if out is None else out).storage
    mode = 0 if out is None else 1 if position == 0 else 2
    nest.launch(kernel, (storage, array.storage), (0, 0, array.offset), index, mode)


def _raise_out_of_bounds(index: Index, offset: int) -> None:
    """Raise an IndexError for the index at an offset."""
    value = to_numpy(index.array.view((), (), offset))[()]
    raise IndexError(f"index {value} is out of bounds for axis {index.axis} with size {index.size}")
