"""Plans of element-wise operations: the kernel and its arguments for given layouts.

A plan depends on dtypes, shapes and strides only, and is cached by them.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.pool import Storage
from portarray._opencl.programs import Kernel
from portarray.clarray.engine.element_programs import MANY, Task, flat_group, plain, rows
from portarray.clarray.engine.operation import Operation
from portarray.clarray.engine.walks import Walk, layout_storage, walk_of
from portarray.clarray.layout import (
    Shape,
    broadcast_shapes,
    is_contiguous,
    repeats,
    strides_of,
)

DType = np.dtype[Any]
Form = tuple[DType, Shape, Shape]
"""An array's dtype, shape and strides."""

LARGE = 1 << 15
"""Elements from which a program specialized to the dtypes and the layout is built."""

WIDE = 64
"""Elements of a row for each work-group, where rows are shorter than ``LONG``."""

LONG = 2048
"""Elements of a row from which a work-group takes as many as of contiguous arrays."""

TILE = 8
"""Rows of a work-group where an operand is contiguous across rows, to use whole cache lines."""

_MOST_ROWS = 65535  # work-groups along any axis but the first, on some GPUs


class Plan(NamedTuple):
    """How to compute an operation."""

    shape: Shape
    strides: Shape
    casts: tuple[tuple[int, DType], ...] = ()
    kernel: Kernel | None = None
    size: tuple[int, ...] = ()
    group: tuple[int, ...] = ()
    tables: tuple[Storage, ...] = ()
    arguments: tuple[int, ...] = ()
    own: tuple[DType, ...] = ()
    everywhere: bool = False


@lru_cache(maxsize=8192)
def plan_of(
    operation: Operation,
    dtype: DType,
    out_dtype: DType,
    device: Device,
    out: tuple[Shape, Shape] | None,
    *operands: Form | None,
) -> Plan:
    """Return the plan of an operation."""
    shape = broadcast_shapes(*[one[1] for one in operands if one is not None])
    if out is None:
        out = shape, strides_of(shape)
    elif broadcast_shapes(shape, out[0]) != out[0]:
        raise ValueError(
            f"{operation.name}: results of shape {shape} do not fit into an array of shape {out[0]}"
        )
    elif repeats(*out):
        raise ValueError(
            f"{operation.name}: the array to write into, of shape {out[0]}, has several elements "
            f"at one place, as broadcast_to makes it; copy it first"
        )
    size = math.prod(out[0])
    if not size:
        return Plan(*out)
    own = tuple(operation.operand_dtype(place, dtype) for place in range(len(operands)))
    casts: tuple[tuple[int, DType], ...] = ()
    if size < LARGE and len(operands) > 1:
        # Launching a small cast is cheaper than building another program.
        casts = tuple(
            (place, wanted)
            for place, (one, wanted) in enumerate(zip(operands, own, strict=True))
            if one is not None and one[0] != wanted
        )
        changed = dict(casts)
        operands = tuple(
            (changed[place], one[1], strides_of(one[1])) if one and place in changed else one
            for place, one in enumerate(operands)
        )
    plan = _flat(operation, dtype, out_dtype, device, out, operands)
    if plan is None and size >= LARGE:
        plan = _rows(operation, dtype, out_dtype, device, out, operands)
    if plan is None:
        plan = _walk(operation, dtype, out_dtype, device, out, operands, own)
    return plan._replace(casts=casts, own=own)


def _flat(
    operation: Operation,
    dtype: DType,
    out_dtype: DType,
    device: Device,
    out: tuple[Shape, Shape],
    operands: tuple[Form | None, ...],
) -> Plan | None:
    """Return the plan for C-contiguous arrays of one shape; None for others."""
    kinds = []
    for one in operands:
        if one is None or one[1] != out[0] or not is_contiguous(one[1], one[2]):
            return None
        kinds.append(one[0])
    if not is_contiguous(*out):
        return None
    kernels = plain(Task(operation, tuple(kinds), dtype, out_dtype), device)
    size, group = math.prod(out[0]), kernels.group
    return Plan(*out, (), kernels.flat, (-(-size // group) * group,), (group,), (), (size,))


def _walk(
    operation: Operation,
    dtype: DType,
    out_dtype: DType,
    device: Device,
    out: tuple[Shape, Shape],
    operands: tuple[Form | None, ...],
    own: tuple[DType, ...],
) -> Plan:
    """Return the plan for any layout and any mix of arrays and scalars."""
    kinds = [wanted if one is None else one[0] for one, wanted in zip(operands, own, strict=True)]
    kernel = plain(Task(operation, tuple(kinds), dtype, out_dtype), device).walk
    walk = walk_of(out, tuple([((), ()) if one is None else one[1:] for one in operands]))
    scalars = sum(1 << place for place, one in enumerate(operands) if one is None)
    size, group = math.prod(out[0]), device.traits.group
    return Plan(
        *out,
        (),
        kernel,
        (-(-size // group) * group,),
        (group,),
        (layout_storage(device, walk.table),),
        (size, len(walk.sizes), scalars),
        everywhere=True,
    )


def _rows(
    operation: Operation,
    dtype: DType,
    out_dtype: DType,
    device: Device,
    out: tuple[Shape, Shape],
    operands: tuple[Form | None, ...],
) -> Plan | None:
    """Return the plan for large arrays with long rows; None for others."""
    walk = walk_of(out, tuple([one[1:] for one in operands if one is not None]))
    sizes = walk.sizes
    if not _suits(sizes, device):
        return None
    rank = min(len(sizes), MANY)
    many = rank == MANY
    kinds = tuple(None if one is None else one[0] for one in operands)
    kernel = rows(Task(operation, kinds, dtype, out_dtype), walk.steps, rank, device)
    lengths = (*sizes[:2], math.prod(sizes[2:])) if many else sizes
    wide, tall = _group(walk, device)
    size = (-(-lengths[0] // wide) * wide, *lengths[1:])
    if rank > 1:
        size = (size[0], -(-lengths[1] // tall) * tall, *lengths[2:])
    steps = [one[axis] for axis in range(len(lengths) - many) for one in walk.strides]
    return Plan(
        *out,
        (),
        kernel,
        size,
        (wide, tall, 1)[: len(lengths)],
        (layout_storage(device, walk.table_from(2)),) if many else (),
        (*lengths, *steps, len(sizes) - 2) if many else (*lengths, *steps),
    )


def _suits(sizes: Shape, device: Device) -> bool:
    """Tell whether rows are long enough, and not too many, for work-groups along them."""
    if sizes[0] < WIDE // 2:
        return False
    outer = math.prod(sizes[2:])
    return device.kind == "cpu" or max(outer, *sizes[1:2], 1) <= _MOST_ROWS


def _group(walk: Walk, device: Device) -> tuple[int, int]:
    """Return how many elements of how many rows a work-group computes."""
    most: int = device.native.max_work_group_size
    across = len(walk.sizes) > 1 and any(
        abs(one[1]) < abs(one[0]) for one in walk.strides if one[1]
    )
    if across and None in walk.steps:
        tall = min(TILE, walk.sizes[1], max(1, most // WIDE))
        return min(WIDE, most), tall
    return flat_group(device) if walk.sizes[0] >= LONG else min(WIDE, most), 1
