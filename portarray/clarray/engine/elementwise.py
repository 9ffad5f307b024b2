"""Element by element: one expression, any layout.

A call goes: operands and dtypes (:mod:`~portarray.clarray.engine.operands`), shapes and output,
then a kernel of :mod:`~portarray.clarray.engine.element_programs`. The commonest case, arrays of
one dtype and shape without gaps, is looked up in one step.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from portarray.clarray.array import Array, empty
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.element_programs import MANY, Plain, Task, part_dtype, plain, rows
from portarray.clarray.engine.operands import Operand, pair
from portarray.clarray.engine.operation import Operation, every
from portarray.clarray.engine.walks import Walk, layout_storage, walk_of
from portarray.clarray.layout import broadcast_shapes
from portarray.clarray.runtime.device import Device

__all__ = ["apply", "binary", "unary"]

DType = np.dtype[Any]
Group: TypeAlias = tuple[int, ...]

LARGE = 1 << 15
"""Elements from which a program for just these dtypes and this layout is worth building."""

TILE = 8
"""Rows that a work-group takes together where an operand does not lie along them."""

_MOST_ROWS = 65535  # work-groups along any axis but the first, on some GPUs

_CAST = Operation("cast", every("a"))

_flat: dict[tuple[Operation, DType, Device], tuple[Plain, DType]] = {}


def unary(operation: Operation, x: Array) -> Array:
    """Return an operation's results for one array.

    Raises
    ------
    TypeError
        If ``x`` is no array, or of a kind that the operation does not take.
    """
    if not isinstance(x, Array):
        raise TypeError(
            f"{operation.name} takes a clarray array, got {type(x).__name__}; "
            f"make one with clarray.asarray(x)"
        )
    storage, dtype = x.storage, x.dtype
    device = storage.device
    found = _flat.get((operation, dtype, device))
    size = math.prod(x.shape)
    if found is None or not x.contiguous or not size:
        out_dtype = operation.result_dtype(dtype)
        if found is None:
            _flat[operation, dtype, device] = _plain_of(operation, 1, dtype, device), out_dtype
        return apply(operation, (x,), dtype, out_dtype)
    kernels, out_dtype = found
    made = device.pool.take(size * out_dtype.itemsize)
    group = device.traits.group
    kernels.flat.launch((-(-size // group) * group,), (group,), (made, storage), 0, x.offset, size)
    return Array(made, out_dtype, x.shape, x.strides, 0, True)


def binary(operation: Operation, x1: Operand, x2: Operand, out: Array | None = None) -> Array:
    """Return an operation's results for two operands that broadcast together.

    Parameters
    ----------
    operation : Operation
        What to compute.
    x1, x2 : Array or Python scalar
        At least one is an array; see :mod:`~portarray.clarray.engine.operands` for what may stand
        beside it and in which dtype is computed.
    out : Array, optional
        Where to write the results; it may overlap the operands.

    Raises
    ------
    TypeError
        For other operands, or for a kind that the operation does not take.
    ValueError
        If the shapes do not broadcast, or the arrays are on two devices.
    OverflowError
        If an integer array's dtype cannot hold the scalar.
    """
    if type(x1) is Array and type(x2) is Array and x1.shape == x2.shape and out is None:
        first, second, dtype = x1.storage, x2.storage, x1.dtype
        device = first.device
        if x2.dtype is dtype and second.device is device and x1.contiguous and x2.contiguous:
            found = _flat.get((operation, dtype, device))
            size = math.prod(x1.shape)
            if found is not None and size:
                kernels, out_dtype = found
                made = device.pool.take(size * out_dtype.itemsize)
                group = device.traits.group
                kernels.flat.launch(
                    (-(-size // group) * group,),
                    (group,),
                    (made, first, second),
                    0,
                    x1.offset,
                    x2.offset,
                    size,
                )
                return Array(made, out_dtype, x1.shape, x1.strides, 0, True)
            out_dtype = operation.result_dtype(dtype)
            _flat[operation, dtype, device] = _plain_of(operation, 2, dtype, device), out_dtype
    a, b, dtype = pair(x1, x2, operation.name)
    return apply(operation, (a, b), dtype, operation.result_dtype(dtype), out)


def apply(
    operation: Operation,
    operands: tuple[Array | complex, ...],
    dtype: DType,
    out_dtype: DType,
    out: Array | None = None,
) -> Array:
    """Return an operation's results for operands that broadcast together.

    Parameters
    ----------
    operation : Operation
        What to compute.
    operands : tuple of Array or Python scalar
        At least one array, or ``out`` is given. Each is converted to ``dtype`` as it is read.
    dtype : numpy.dtype
        What is computed in.
    out_dtype : numpy.dtype
        Of the results.
    out : Array, optional
        Where to write them; of ``out_dtype``, and of the shape that all broadcast to. It may
        overlap the operands.
    """
    arrays = [one for one in operands if isinstance(one, Array)]
    shape = arrays[0].shape if arrays else ()
    if any(one.shape != shape for one in arrays):
        shape = broadcast_shapes(*(one.shape for one in arrays))
    if out is None:
        out = empty(shape, out_dtype, arrays[0].device)
    else:
        if shape != out.shape and broadcast_shapes(shape, out.shape) != out.shape:
            raise ValueError(
                f"{operation.name}: results of shape {shape} do not fit into an array of shape "
                f"{out.shape}"
            )
        operands = tuple(_apart(one, out) if isinstance(one, Array) else one for one in operands)
    size = math.prod(out.shape)
    if size:
        if size < LARGE and len(operands) > 1:
            # Rather one more small kernel than one more program.
            operands = tuple(
                _cast(one, operation.operand_dtype(place, dtype)) if isinstance(one, Array) else one
                for place, one in enumerate(operands)
            )
        _launch(operation, operands, dtype, out, size)
    return out


def _plain_of(operation: Operation, operands: int, dtype: DType, device: Device) -> Plain:
    kinds = tuple(operation.operand_dtype(place, dtype) for place in range(operands))
    return plain(Task(operation, kinds, dtype, operation.result_dtype(dtype)), device)


def _cast(x: Array, dtype: DType) -> Array:
    return x if x.dtype == dtype else apply(_CAST, (x,), dtype, dtype)


def _apart(x: Array, out: Array) -> Array:
    """Return an operand that can be read while the output is written: a copy where they overlap.

    Where both are the same view each element is read before it is written.
    """
    if x.storage is not out.storage or (
        x.dtype == out.dtype
        and x.offset == out.offset
        and x.strides == out.strides
        and x.shape == out.shape
    ):
        return x
    (low, high), (start, end) = _extent(x), _extent(out)
    return apply(_CAST, (x,), x.dtype, x.dtype) if low < end and start < high else x


def _extent(x: Array) -> tuple[int, int]:
    """Return the first byte of an array in its storage, and the one after its last."""
    if 0 in x.shape:
        return 0, 0
    spans = [step * (size - 1) for size, step in zip(x.shape, x.strides, strict=True)]
    low = x.offset + sum(one for one in spans if one < 0)
    high = x.offset + sum(one for one in spans if one > 0) + 1
    return low * x.dtype.itemsize, high * x.dtype.itemsize


def _launch(
    operation: Operation,
    operands: tuple[Array | complex, ...],
    dtype: DType,
    out: Array,
    size: int,
) -> None:
    """Choose a kernel and enqueue it."""
    device = out.storage.device
    arrays = [one for one in operands if isinstance(one, Array)]
    wanted = [operation.operand_dtype(place, dtype) for place in range(len(operands))]
    group = device.traits.group
    alike = len(arrays) == len(operands) and out.contiguous
    if alike and all(one.contiguous and one.shape == out.shape for one in arrays):
        kinds = tuple(one.dtype for one in arrays)
        plain(Task(operation, kinds, dtype, out.dtype), device).flat.launch(
            (-(-size // group) * group,),
            (group,),
            tuple([one.storage for one in (out, *arrays)]),
            *[one.offset for one in (out, *arrays)],
            size,
        )
        return
    if size >= LARGE:
        walk = walk_of(
            (out.shape, out.strides), tuple([(one.shape, one.strides) for one in arrays])
        )
        if _suits_rows(walk, device):
            _launch_rows(operation, operands, arrays, dtype, out, walk)
            return
    walk = walk_of(
        (out.shape, out.strides),
        tuple(
            [(one.shape, one.strides) if isinstance(one, Array) else ((), ()) for one in operands]
        ),
    )
    kinds = tuple(
        [
            one.dtype if isinstance(one, Array) else own
            for one, own in zip(operands, wanted, strict=True)
        ]
    )
    kernel = plain(Task(operation, kinds, dtype, out.dtype), device).walk
    given: list[Any] = []
    scalars = 0
    for place, (one, own) in enumerate(zip(operands, wanted, strict=True)):
        if isinstance(one, Array):
            given += _NOTHING if own.kind == "c" else _ZERO
        else:
            scalars |= 1 << place
            given += _parts(one, own)
    kernel.launch(
        (-(-size // group) * group,),
        (group,),
        (
            out.storage,
            *[one.storage if isinstance(one, Array) else out.storage for one in operands],
            layout_storage(device, walk.table),
        ),
        out.offset,
        *[one.offset if isinstance(one, Array) else 0 for one in operands],
        size,
        len(walk.sizes),
        scalars,
        *given,
    )


_ZERO = (0,)
_NOTHING = (0, 0)


def _suits_rows(walk: Walk, device: Device) -> bool:
    """Tell whether a kernel with one work-group for each piece of a row keeps its items busy."""
    sizes = walk.sizes
    if sizes[0] < 32:
        return False
    return device.kind == "cpu" or (
        math.prod(sizes[1:2]) <= _MOST_ROWS and math.prod(sizes[2:]) <= _MOST_ROWS
    )


def _launch_rows(
    operation: Operation,
    operands: tuple[Array | complex, ...],
    arrays: list[Array],
    dtype: DType,
    out: Array,
    walk: Walk,
) -> None:
    device = out.storage.device
    rank = min(len(walk.sizes), MANY)
    many = rank == MANY
    kinds = tuple(one.dtype if isinstance(one, Array) else None for one in operands)
    kernel = rows(Task(operation, kinds, dtype, out.dtype), walk.steps, rank, device)
    lengths = walk.sizes if not many else (*walk.sizes[:2], math.prod(walk.sizes[2:]))
    tall = TILE if rank > 1 and None in walk.steps and lengths[1] >= TILE else 1
    wide = _width(device, tall)
    size = [-(-lengths[0] // wide) * wide]
    if rank > 1:
        size.append(-(-lengths[1] // tall) * tall)
    if rank > 2:
        size.append(lengths[2])
    written = (out, *arrays)
    storages = [one.storage for one in written]
    if many:
        storages.append(layout_storage(device, walk.table_from(2)))
    values: list[Any] = [one.offset for one in written]
    values += lengths
    values += [one[axis] for axis in range(len(lengths) - many) for one in walk.strides]
    if many:
        values.append(len(walk.sizes) - 2)
    for place, one in enumerate(operands):
        if not isinstance(one, Array):
            values += _parts(one, operation.operand_dtype(place, dtype))
    kernel.launch(
        tuple(size),
        (wide, tall, 1)[:rank] if rank < MANY else (wide, tall, 1),
        tuple(storages),
        *values,
    )


@cache
def _width(device: Device, tall: int) -> int:
    """Return how many items of a row a work-group takes, with so many rows."""
    most = min(device.native.max_work_group_size, 512)
    return min(64, max(1, most // tall))


def _parts(value: complex, dtype: DType) -> tuple[Any, ...]:
    """Return a Python scalar as by-value arguments, rounded as the dtype holds it."""
    kind = kind_of(dtype)
    if kind == "real":
        return (_rounded(float(value.real), dtype),)
    if kind == "complex":
        part = part_dtype(dtype)
        return _rounded(float(value.real), part), _rounded(float(value.imag), part)
    return (int(bool(value)),) if kind == "bool" else (int(value.real),)


def _rounded(value: float, dtype: DType) -> float:
    """Return a real number as a dtype holds it; beyond its range infinity, as in NumPy."""
    if dtype.itemsize == 8:
        return value
    with np.errstate(over="ignore", under="ignore"):
        return float(dtype.type(value))
