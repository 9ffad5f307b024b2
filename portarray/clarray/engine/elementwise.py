"""Element-wise operations: one expression over operands of any layout.

A call resolves operands and dtypes (:mod:`~portarray.clarray.engine.operands`), then shapes and the
output, then the plan for these layouts (:mod:`~portarray.clarray.engine.plans`), which holds the
kernel. Contiguous arrays of one dtype and shape, the most common case, take a single lookup.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.element_programs import Plain, Task, part_dtype, plain
from portarray.clarray.engine.launch_cache import cached_result, rounded, store
from portarray.clarray.engine.operands import Operand, pair
from portarray.clarray.engine.operation import Operation, every
from portarray.clarray.engine.overlap import overlap, same_elements
from portarray.clarray.engine.plans import Plan, plan_of
from portarray.clarray.strided import Array, new_array

DType = np.dtype[Any]

_CAST = Operation("cast", every("a"))

_flat: dict[tuple[Operation, DType, Device], tuple[Plain, DType]] = {}


def unary(operation: Operation, x: Array) -> Array:
    """Return an operation's results for one array."""
    if not isinstance(x, Array):
        raise TypeError(
            f"{operation.name} takes a clarray array, got {type(x).__name__}\n"
            f"Hint: convert one with clarray.asarray(x)"
        )
    storage, dtype = x.storage, x.dtype
    device = storage.device
    entry = _flat.get((operation, dtype, device))
    size = math.prod(x.shape)
    if entry is None or not x.contiguous or not size:
        out_dtype = operation.result_dtype(dtype)
        if entry is None:
            _flat[operation, dtype, device] = _plain_of(operation, 1, dtype, device), out_dtype
        return apply(operation, (x,), dtype, out_dtype)
    kernels, out_dtype = entry
    memory = device.pool.take(size * out_dtype.itemsize)
    group = kernels.group
    kernels.flat.launch(
        (-(-size // group) * group,), (group,), (memory, storage), 0, x.offset, size
    )
    return new_array(memory, out_dtype, x.shape, x.strides, 0, True)


def binary(operation: Operation, x1: Operand, x2: Operand, out: Array | None = None) -> Array:
    """Return an operation's results for two operands that broadcast together."""
    if isinstance(x1, Array) and isinstance(x2, Array) and x1.shape == x2.shape and out is None:
        first, second, dtype = x1.storage, x2.storage, x1.dtype
        device = first.device
        if x2.dtype is dtype and second.device is device and x1.contiguous and x2.contiguous:
            entry = _flat.get((operation, dtype, device))
            size = math.prod(x1.shape)
            if entry is not None and size:
                kernels, out_dtype = entry
                memory = device.pool.take(size * out_dtype.itemsize)
                group = kernels.group
                kernels.flat.launch(
                    (-(-size // group) * group,),
                    (group,),
                    (memory, first, second),
                    0,
                    x1.offset,
                    x2.offset,
                    size,
                )
                return new_array(memory, out_dtype, x1.shape, x1.strides, 0, True)
            out_dtype = operation.result_dtype(dtype)
            _flat[operation, dtype, device] = _plain_of(operation, 2, dtype, device), out_dtype
    if out is None:
        cached = cached_result(operation, x1, x2)
        if cached is not None:
            return cached
    a, b, dtype = pair(x1, x2, operation.name)
    out_dtype = operation.result_dtype(dtype)
    result = apply(operation, (a, b), dtype, out_dtype, out)
    if out is None:
        store(operation, x1, x2, dtype, out_dtype, result)
    return result


def apply(
    operation: Operation,
    operands: tuple[Array | complex, ...],
    dtype: DType,
    out_dtype: DType,
    out: Array | None = None,
) -> Array:
    """Return an operation's results for operands that broadcast together."""
    if out is not None:
        operands = tuple(
            [
                _unaliased(operand, out) if isinstance(operand, Array) else operand
                for operand in operands
            ]
        )
    device = _device_of(operands, out)
    plan = plan_of(
        operation,
        dtype,
        out_dtype if out is None else out.dtype,
        device,
        None if out is None else (out.shape, out.strides),
        *[
            (operand.dtype, operand.shape, operand.strides) if isinstance(operand, Array) else None
            for operand in operands
        ],
    )
    if out is None:
        memory = device.pool.take(math.prod(plan.shape) * out_dtype.itemsize)
        out = new_array(memory, out_dtype, plan.shape, plan.strides, 0, True)
    if plan.kernel is not None:
        if plan.casts:
            operands = _cast(operands, plan)
        _launch(plan, plan.kernel, operands, out)
    return out


def _device_of(operands: tuple[Array | complex, ...], out: Array | None) -> Device:
    if out is not None:
        return out.storage.device
    return next(operand.storage.device for operand in operands if isinstance(operand, Array))


def _cast(operands: tuple[Array | complex, ...], plan: Plan) -> tuple[Array | complex, ...]:
    """Return the operands, those that the plan casts in their new dtypes."""
    changed = list(operands)
    for position, dtype in plan.casts:
        operand = changed[position]
        if isinstance(operand, Array):
            changed[position] = apply(_CAST, (operand,), dtype, dtype)
    return tuple(changed)


def _launch(plan: Plan, kernel: Kernel, operands: tuple[Array | complex, ...], out: Array) -> None:
    """Enqueue a plan's kernel."""
    storages = [out.storage]
    offsets = [out.offset]
    values: list[float] = []
    for operand, dtype in zip(operands, plan.operand_dtypes, strict=True):
        if isinstance(operand, Array):
            storages.append(operand.storage)
            offsets.append(operand.offset)
            if plan.everywhere:
                values += _NOTHING if dtype.kind == "c" else _ZERO
        else:
            if plan.everywhere:
                storages.append(out.storage)
                offsets.append(0)
            values += _parts(operand, dtype)
    kernel.launch(
        plan.size, plan.group, (*storages, *plan.tables), *offsets, *plan.arguments, *values
    )


_ZERO = (0,)
_NOTHING = (0, 0)


def _plain_of(operation: Operation, operands: int, dtype: DType, device: Device) -> Plain:
    kinds = tuple(operation.operand_dtype(position, dtype) for position in range(operands))
    return plain(Task(operation, kinds, dtype, operation.result_dtype(dtype)), device)


def _unaliased(x: Array, out: Array) -> Array:
    """Return an operand, copied if it overlaps the output; not if both are the same view."""
    if not overlap(x, out) or (x.dtype == out.dtype and same_elements(x, out)):
        return x
    return apply(_CAST, (x,), x.dtype, x.dtype)


def _parts(value: complex, dtype: DType) -> tuple[Any, ...]:
    """Return a Python scalar as by-value kernel arguments, rounded to a dtype."""
    kind = kind_of(dtype)
    if kind == "real":
        return (rounded(float(value.real), dtype),)
    if kind == "complex":
        part = part_dtype(dtype)
        return rounded(float(value.real), part), rounded(float(value.imag), part)
    return (int(bool(value)),) if kind == "bool" else (int(value.real),)
