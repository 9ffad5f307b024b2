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
from portarray.clarray.engine.loop_nests import LoopNest, layout_storage, loop_nest
from portarray.clarray.engine.operation import Operation
from portarray.clarray.layout import Shape, broadcast_shapes, is_contiguous, repeats, strides_of

DType = np.dtype[Any]
Form = tuple[DType, Shape, Shape]
"""An array's dtype, shape and strides."""

LARGE = 1 << 15
"""Arrays of at least this many elements have programs specialized to dtypes and layout."""

WIDE = 64
"""Elements of a row for each work-group, if rows are shorter than ``LONG``."""

LONG = 2048
"""Rows of at least this many elements have work-groups as large as contiguous arrays."""

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
    operand_dtypes: tuple[DType, ...] = ()
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
    shape = broadcast_shapes(*[form[1] for form in operands if form is not None])
    if out is None:
        out = shape, strides_of(shape)
    elif broadcast_shapes(shape, out[0]) != out[0]:
        raise ValueError(
            f"{operation.name}: results of shape {shape} do not fit into an array of shape {out[0]}"
        )
    elif repeats(*out):
        raise ValueError(
            f"{operation.name}: several elements of the output of shape {out[0]} share memory, as "
            f"after broadcast_to\nHint: copy it first"
        )
    size = math.prod(out[0])
    if not size:
        return Plan(*out)
    computed = tuple(operation.operand_dtype(position, dtype) for position in range(len(operands)))
    casts: tuple[tuple[int, DType], ...] = ()
    if size < LARGE and len(operands) > 1:
        # Launching a small cast is cheaper than building another program.
        casts = tuple(
            (position, target)
            for position, (form, target) in enumerate(zip(operands, computed, strict=True))
            if form is not None and form[0] != target
        )
        changed = dict(casts)
        operands = tuple(
            (changed[position], form[1], strides_of(form[1]))
            if form and position in changed
            else form
            for position, form in enumerate(operands)
        )
    plan = _flat(operation, dtype, out_dtype, device, out, operands)
    if plan is None and size >= LARGE:
        plan = _rows(operation, dtype, out_dtype, device, out, operands)
    if plan is None:
        plan = _walk(operation, dtype, out_dtype, device, out, operands, computed)
    return plan._replace(casts=casts, operand_dtypes=computed)


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
    for form in operands:
        if form is None or form[1] != out[0] or not is_contiguous(form[1], form[2]):
            return None
        kinds.append(form[0])
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
    computed: tuple[DType, ...],
) -> Plan:
    """Return the plan for any layout and any mix of arrays and scalars."""
    kinds = [
        target if form is None else form[0] for form, target in zip(operands, computed, strict=True)
    ]
    kernel = plain(Task(operation, tuple(kinds), dtype, out_dtype), device).walk
    nest = loop_nest(out, tuple([((), ()) if form is None else form[1:] for form in operands]))
    scalars = sum(1 << position for position, form in enumerate(operands) if form is None)
    size, group = math.prod(out[0]), device.traits.group
    return Plan(
        *out,
        (),
        kernel,
        (-(-size // group) * group,),
        (group,),
        (layout_storage(device, nest.table),),
        (size, len(nest.sizes), scalars),
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
    nest = loop_nest(out, tuple([form[1:] for form in operands if form is not None]))
    sizes = nest.sizes
    if not _suits(sizes, device):
        return None
    rank = min(len(sizes), MANY)
    many = rank == MANY
    kinds = tuple(None if form is None else form[0] for form in operands)
    kernel = rows(Task(operation, kinds, dtype, out_dtype), nest.steps, rank, device)
    lengths = (*sizes[:2], math.prod(sizes[2:])) if many else sizes
    wide, tall = _group(nest, device)
    size = (-(-lengths[0] // wide) * wide, *lengths[1:])
    if rank > 1:
        size = (size[0], -(-lengths[1] // tall) * tall, *lengths[2:])
    steps = [form[axis] for axis in range(len(lengths) - many) for form in nest.strides]
    return Plan(
        *out,
        (),
        kernel,
        size,
        (wide, tall, 1)[: len(lengths)],
        (layout_storage(device, nest.table_from(2)),) if many else (),
        (*lengths, *steps, len(sizes) - 2) if many else (*lengths, *steps),
    )


def _suits(sizes: Shape, device: Device) -> bool:
    """Return whether rows are long enough, and not too many, for work-groups along them."""
    if sizes[0] < WIDE // 2:
        return False
    outer = math.prod(sizes[2:])
    return device.kind == "cpu" or max(outer, *sizes[1:2], 1) <= _MOST_ROWS


def _group(nest: LoopNest, device: Device) -> tuple[int, int]:
    """Return how many elements of how many rows a work-group computes."""
    most: int = device.native.max_work_group_size
    across = len(nest.sizes) > 1 and any(
        abs(strides[1]) < abs(strides[0]) for strides in nest.strides if strides[1]
    )
    if across and None in nest.steps:
        tall = min(TILE, nest.sizes[1], max(1, most // WIDE))
        return min(WIDE, most), tall
    return flat_group(device) if nest.sizes[0] >= LONG else min(WIDE, most), 1
