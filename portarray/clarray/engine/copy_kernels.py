"""Copies between layouts: which kernel loops over which axes.

Kernels depend on the item size, not on the dtype. The kernel is chosen by the axes along which the
source and the destination are contiguous:

- the same axis: CPUs copy rows (``block``), devices with local memory item by item (``walk``);
- different axes, as in a transposed copy: square tiles, on CPUs through registers (``tile``), on
  other devices through local memory (``exchange``).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import collapse
from portarray.clarray.strided import Array

_CHUNK = 1 << 15
"""Bytes that a work-item of a CPU copies: many work-groups, at little overhead."""

_ITEMS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong", 16: "ulong2"}
_LINE = 64
_TILE, _EXCHANGE = 64, 16
# Rows of the tiles that are transposed in registers.
_SQUARE = 8
_VALUES = (np.int64,) * 18

Axis = tuple[int, int, int]
"""Size, stride in the destination, stride in the source."""


@dataclass(frozen=True, slots=True)
class _Launch:
    """One launch of a kernel; offsets are added to those of the arrays."""

    kernel: str
    size: tuple[int, int, int]
    group: tuple[int, int, int] | None
    to: int
    origin: int
    values: tuple[int, ...]


def copy_elements(out: Array, x: Array) -> None:
    """Copy one array's items to another of the same shape and item size.

    The two must not overlap in memory; ``out`` must not be empty, and none of its elements may
    share an address.
    """
    device = out.device
    itemsize = out.dtype.itemsize
    storages = (out.storage, x.storage)
    traits = device.traits
    group = traits.group if traits.local_memory else 0
    launches = _plan(out.shape, out.strides, x.strides, itemsize, group)
    for launch in launches:
        kernel = _kernel(device, itemsize, launch.kernel)
        kernel.launch(
            launch.size,
            launch.group,
            storages,
            out.offset + launch.to,
            x.offset + launch.origin,
            *launch.values,
        )


def pieces(
    device: Device, itemsize: int, columns: int
) -> tuple[int, int, tuple[int, int, int] | None]:
    """Return how many columns and rows a work-item takes, and the size of a work-group."""
    # On CPUs a work-group is one work-item: compilers vectorize its loop, and PoCL, which builds a
    # kernel for each group size, builds it once.
    if device.traits.local_memory:
        return 1, 1, None
    elements = _CHUNK // itemsize
    run = min(columns, elements)
    return run, max(1, elements // columns), (1, 1, 1)


@cache
def item_kernel(
    device: Device, itemsize: int, file: str, name: str, buffers: int, values: tuple[Any, ...]
) -> Kernel:
    """Return a kernel of ``kernels/FILE.cl`` for items of a size in bytes."""
    head = f"#define ITEM {itemsize}\n#define U {_ITEMS[itemsize]}\n"
    return device.kernel(head + kernel_source(file), name, buffers, values)


@cache
def _kernel(device: Device, itemsize: int, name: str) -> Kernel:
    head = (
        f"#define {name.upper()} {_EXCHANGE}\n#define U {_ITEMS[itemsize]}\n"
        f"#define W {_SQUARE if itemsize < 16 else 0}\n"
    )
    return device.kernel(head + kernel_source("copy"), name, 2, _VALUES)


@lru_cache(maxsize=4096)
def _plan(
    shape: tuple[int, ...],
    out_strides: tuple[int, ...],
    x_strides: tuple[int, ...],
    itemsize: int,
    group_limit: int,
) -> tuple[_Launch, ...]:
    """Return the launches that copy; ``group_limit`` is 0 on CPUs."""
    axes, to, origin = _axes(shape, out_strides, x_strides)
    last = axes.pop()
    if group_limit:
        name, second = _choose_group(last, axes, group_limit)
    else:
        name, second = _choose_processor(last, axes, itemsize)
    second_axis = axes.pop(second) if second is not None else (1, 0, 0)
    if name == "walk" and last[0] < _EXCHANGE < second_axis[0]:
        last, second_axis = second_axis, last
    size_i, size_j = last[0], second_axis[0]
    group: tuple[int, int, int] | None = (1, 1, 1)
    exchange = 1
    if name == "block":
        elements = _CHUNK // itemsize
        run_i = min(size_i, elements)
        run_j = max(1, elements // size_i)
    elif name == "walk":
        run_i = run_j = 1
        group = None
    elif name == "tile":
        run_i = _TILE * max(1, _TILE // size_j)
        run_j = _TILE * max(1, _TILE // size_i)
    else:
        run_i = run_j = exchange = _EXCHANGE
        group = (_EXCHANGE, _EXCHANGE, 1)
    items = (-(-size_i // run_i) * exchange, -(-size_j // run_j) * exchange)
    # The kernels loop over three more axes, the longest ones; each index of the rest is a launch.
    axes.sort(reverse=True)
    inner, outer = axes[:3], axes[3:]
    inner += [(1, 0, 0)] * (3 - len(inner))
    values = (
        *(size_i, size_j, run_i, run_j, *last[1:], *second_axis[1:]),
        *(inner[0][0], inner[1][0], *inner[0][1:], *inner[1][1:], *inner[2][1:]),
    )
    size = (*items, inner[0][0] * inner[1][0] * inner[2][0])
    return tuple(
        [
            _Launch(
                name,
                size,
                group,
                to + sum(at * entry[1] for at, entry in zip(position, outer, strict=True)),
                origin + sum(at * entry[2] for at, entry in zip(position, outer, strict=True)),
                values,
            )
            for position in itertools.product(*[range(entry[0]) for entry in outer])
        ]
    )


def _axes(
    shape: tuple[int, ...], out_strides: tuple[int, ...], x_strides: tuple[int, ...]
) -> tuple[list[Axis], int, int]:
    """Return axes with positive, descending strides in the destination, and both starts."""
    to = origin = 0
    axes: list[Axis] = []
    for size, out_step, x_step in zip(shape, out_strides, x_strides, strict=True):
        if size == 1:
            continue
        if out_step < 0:
            to += (size - 1) * out_step
            origin += (size - 1) * x_step
            out_step, x_step = -out_step, -x_step
        axes.append((size, out_step, x_step))
    axes.sort(key=lambda axis: -axis[1])
    sizes, (out_steps, x_steps) = collapse(
        tuple([axis[0] for axis in axes]),
        [tuple([axis[1] for axis in axes]), tuple([axis[2] for axis in axes])],
    )
    return list(zip(sizes, out_steps, x_steps, strict=True)) or [(1, 1, 1)], to, origin


def _nearest(axes: list[Axis]) -> int:
    """Return the position of the axis with the smallest stride in the source."""
    return min(range(len(axes)), key=lambda position: abs(axes[position][2]))


def _longest(axes: list[Axis]) -> int:
    return max(range(len(axes)), key=lambda position: axes[position][0])


def _choose_processor(last: Axis, axes: list[Axis], itemsize: int) -> tuple[str, int | None]:
    if not axes:
        return "block", None
    size, _, step = last
    second = _nearest(axes)
    length, _, second_step = axes[second]
    # Tiles pay as soon as one fits; for items as wide as a register they save cache lines.
    fits = min(size, length) >= _SQUARE if itemsize < 16 else abs(step) * itemsize >= _LINE
    if abs(second_step) < abs(step) and fits:
        return "tile", second
    # Short rows: a work-item takes many of them.
    return "block", len(axes) - 1 if size >= _LINE else _longest(axes)


def _choose_group(last: Axis, axes: list[Axis], group_limit: int) -> tuple[str, int | None]:
    if not axes:
        return "walk", None
    second = _nearest(axes)
    if abs(axes[second][2]) < abs(last[2]) and group_limit >= _EXCHANGE**2:
        return "exchange", second
    return "walk", _longest(axes)
