"""Reductions to the positions of extreme values."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.accumulation import (
    LANES,
    WORTH,
    Kernels,
    accumulator_dtype,
    cut,
    definitions,
    kernels_of,
    round_up,
)
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.reduction import reduced_last
from portarray.clarray.engine.reduction_layout import (
    ReductionLayout,
    reduced_shape,
    reduction_layout,
)
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import strides_of
from portarray.clarray.strided import Array, empty

DType = np.dtype[Any]
Shape = tuple[int, ...]

_INDEX = np.dtype(np.int64)
_STRIP = 8 * LANES
_GROUP = 256
_LONGEST = 1 << 30
"""The most elements of a chunk: positions within one have 32 bits."""


def arg_extreme(x: Array, axes: Shape, keepdims: bool, sign: str) -> Array:
    """Return the positions of the first extreme elements, or of the first NaN."""
    device = x.device
    out = empty(reduced_shape(x.shape, axes, keepdims), _INDEX, device)
    if out.size == 0:
        return out
    layout = reduction_layout(x.shape, x.strides, axes, True)
    if layout is None:
        x = contiguous(x) if len(axes) == x.ndim else reduced_last(x, axes)
        last = tuple(range(x.ndim - len(axes), x.ndim))
        layout = reduction_layout(x.shape, strides_of(x.shape), last, True)
        assert layout is not None, "a contiguous array has one axis of each sort"
    kernels = _kernels(device, x.dtype, sign)
    name, size, group, chunks, length, tasks, per_item = _plan(layout, device, kernels)
    results = layout.results
    part = empty((results * chunks,), kernels.partial, device) if chunks > 1 else out
    part_at = empty((results * chunks,), _INDEX, device) if chunks > 1 else out
    k1, k2 = (1, 1, *layout.outer)[-2:]
    steps = (0, 0, 0, *layout.outer_steps)[-3:]
    storages = (out.storage, part.storage, part_at.storage, x.storage)
    values = (x.offset, k1, k2, *steps, (*layout.reduced_steps, 0)[0], layout.total, chunks, length)
    kernels.named[name].launch(size, group, storages, *values, tasks, per_item)
    if chunks > 1:
        local = device.traits.group
        kernels.named["finish"].launch(
            (round_up(results, local),), (local,), storages, *values, results, 1
        )
    return out


def _plan(
    layout: ReductionLayout, device: Device, kernels: Kernels
) -> tuple[str, Shape, Shape, int, int, int, int]:
    """Return kernel, size, group, chunks, their length, tasks, and tasks for each work-item."""
    results, total = layout.results, layout.total
    units, group = device.traits.units, device.traits.group
    step = (*layout.reduced_steps, 0)[0]
    width, across = (layout.outer[-1], layout.outer_steps[-1]) if layout.outer else (1, 0)
    if device.traits.local_memory:
        pieces = min(results * total // (8 * _GROUP), 16 * units)
        if total >= _GROUP // 4 and not (across == 1 and width >= LANES):
            chunks, length = cut(total, max(pieces // results, total // _LONGEST), _GROUP)
            tasks = results * chunks
            return "groups", (tasks * _GROUP,), (_GROUP,), chunks, length, tasks, 1
    else:
        pieces = max(1, min(results * total // WORTH, 32 * units))
        side_by_side = width >= LANES and abs(across) <= abs(step)
        if "rows" in kernels.named and (total >= LANES or width >= LANES):
            if side_by_side or total < LANES:
                name, strips = "columns", results // width * -(-width // _STRIP)
                wide = min(width, _STRIP)
            else:
                name, strips, wide = "rows", results, 1
            chunks, length = cut(total, max(pieces // strips, -(-total // _LONGEST)), 1)
            tasks = strips * chunks
            per_item = max(-(-tasks // (32 * units)), WORTH // 4 // (length * wide), 1)
            return name, (-(-tasks // per_item),), (1,), chunks, length, tasks, per_item
    busy = -(-results // group)
    chunks, length = cut(total, min(pieces // busy, total // 256), 1)
    return "items", (busy * group, chunks), (group, 1), chunks, length, results, 1


@cache
def _kernels(device: Device, dtype: DType, sign: str) -> Kernels:
    partial = accumulator_dtype("own", dtype, dtype)
    # The first test is all that numbers need; NaN comes before them.
    nan = " || (b != b && a == a)" if kind_of(dtype) == "real" else ""
    lines = [
        *definitions(device, dtype, dtype, partial, ("a", "0"), "T_(v)", "a"),
        f"#define BETTER(b, a) (b {sign} a{nan})",
        f"#define GROUP {_GROUP}" if device.traits.local_memory else "",
        kernel_source("reduce_arg"),
    ]
    return kernels_of(device, dtype, partial, ["items", "finish"], lines, 4, [np.int64] * 12)
