"""A cache of binary operations' launches, by the dtypes, shapes and strides of their operands.

Resolving operands and plans takes longer than a small kernel, and loops repeat the same calls.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.operation import Operation
from portarray.clarray.engine.plans import Plan, plan_of
from portarray.clarray.strided import Array, new_array

DType = np.dtype[Any]

_MOST = 8192
_SINGLE = 3.4e38  # below the largest float32


class _Call(NamedTuple):
    """A launch without its buffers, offsets and scalar."""

    plan: Plan
    kernel: Kernel
    out_dtype: DType
    nbytes: int
    values: tuple[int, ...]
    scalar: DType | None
    low: float
    high: float


_calls: dict[tuple[Any, ...], _Call] = {}


def cached_result(operation: Operation, x1: object, x2: object) -> Array | None:
    """Return the results of a call whose launch is cached; None if it is not."""
    if isinstance(x1, Array):
        first = x1.storage
        device = first.device
        if isinstance(x2, Array):
            second = x2.storage
            call = _calls.get(
                (operation, device, x1.dtype, x1.shape, x1.strides, x2.dtype, x2.shape, x2.strides)
            )
            if call is None or second.device is not device:
                return None
            memory = device.pool.take(call.nbytes)
            plan = call.plan
            call.kernel.launch(
                plan.size,
                plan.group,
                (memory, first, second, *plan.tables),
                0,
                x1.offset,
                x2.offset,
                *call.values,
            )
            return new_array(memory, call.out_dtype, plan.shape, plan.strides, 0, True)
        return _with_scalar(operation, x1, x2, True)
    return _with_scalar(operation, x2, x1, False) if isinstance(x2, Array) else None


def _with_scalar(operation: Operation, x: Array, value: Any, right: bool) -> Array | None:
    """Return the results of a cached call with a scalar as one operand."""
    storage = x.storage
    device = storage.device
    call = _calls.get((operation, device, x.dtype, x.shape, x.strides, type(value), right))
    if call is None or call.scalar is None or not call.low <= value <= call.high:
        return None
    if call.scalar.kind not in "iu":
        value = rounded(float(value), call.scalar)
    memory = device.pool.take(call.nbytes)
    plan = call.plan
    if not plan.everywhere:
        call.kernel.launch(
            plan.size, plan.group, (memory, storage, *plan.tables), 0, x.offset, *call.values, value
        )
    elif right:
        call.kernel.launch(
            plan.size,
            plan.group,
            (memory, storage, memory, *plan.tables),
            0,
            x.offset,
            0,
            *call.values,
            0,
            value,
        )
    else:
        call.kernel.launch(
            plan.size,
            plan.group,
            (memory, memory, storage, *plan.tables),
            0,
            0,
            x.offset,
            *call.values,
            value,
            0,
        )
    return new_array(memory, call.out_dtype, plan.shape, plan.strides, 0, True)


def store(
    operation: Operation, x1: object, x2: object, dtype: DType, out_dtype: DType, result: Array
) -> None:
    """Cache the launch of a call of two operands that returned a new array."""
    forms = [(x.dtype, x.shape, x.strides) if isinstance(x, Array) else None for x in (x1, x2)]
    device = result.storage.device
    plan = plan_of(operation, dtype, out_dtype, device, None, *forms)
    if plan.kernel is None or plan.casts:
        return
    if len(_calls) >= _MOST:
        _calls.clear()
    nbytes = result.size * out_dtype.itemsize
    first, second = forms
    if first is not None and second is not None:
        zeros = (0,) * (len(_parts_of(plan)) if plan.everywhere else 0)
        _calls[operation, device, *first, *second] = _Call(
            plan, plan.kernel, out_dtype, nbytes, plan.arguments + zeros, None, 0, 0
        )
        return
    array = first or second
    value = x2 if second is None else x1
    # Other scalars are rare, and their conversion depends on the value.
    if array is None or type(value) not in (int, float) or kind_of(dtype) in ("bool", "complex"):
        return
    low, high = -np.inf, np.inf
    if dtype.kind in "iu":
        low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    _calls[operation, device, *array, type(value), second is None] = _Call(
        plan, plan.kernel, out_dtype, nbytes, plan.arguments, dtype, low, high
    )


def clear() -> None:
    """Drop cached launches and plans."""
    _calls.clear()
    plan_of.cache_clear()


def _parts_of(plan: Plan) -> list[int]:
    return [
        part for operand in plan.operand_dtypes for part in range(2 if operand.kind == "c" else 1)
    ]


def rounded(value: float, dtype: DType) -> float:
    """Return a real number rounded to a dtype; infinity beyond its range, as in NumPy."""
    if dtype.itemsize == 8 or (dtype.itemsize == 4 and -_SINGLE < value < _SINGLE):
        return value  # passing it as a float argument rounds it
    with np.errstate(over="ignore", under="ignore"):
        return float(dtype.type(value))
