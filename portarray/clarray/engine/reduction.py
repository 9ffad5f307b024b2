"""Reductions: one combining expression, any axes, any layout.

The device's traits choose among two families of kernels. On devices with local memory a work-group
reduces a chunk of a result (``reduce_group.cl``). On CPUs few work-items have long tasks over
vectors (``reduce_cpu.cl``): along rows if the innermost axis is reduced, else across columns. What
fits neither, such as very short rows, has a work-item for each result (``reduce.cl``). Results of
many elements are computed in chunks, which a second kernel combines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.accumulation import (
    LANES,
    WORTH,
    Accumulator,
    Kernels,
    accumulator_dtype,
    cut,
    definitions,
    has_vectors,
    kernels_of,
    round_up,
)
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.reduction_layout import (
    ReductionLayout,
    reduced_shape,
    reduction_layout,
)
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import strides_of
from portarray.clarray.strided import Array, empty, permuted

DType = np.dtype[Any]
Shape = tuple[int, ...]

_STRIP = 64 * LANES
_GROUP = 256
_SHORT_ROW = 24
"""Shorter rows are faster with a work-item for each than with vectors along them."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """A combining expression for each kind of dtype; compared by identity."""

    name: str
    combine: Mapping[str, tuple[str, str]]
    accumulator: Accumulator
    value: str = "T_(v)"
    result: str = "a"
    centred: bool = False


def reduced_last(x: Array, axes: Shape) -> Array:
    """Return a C-contiguous array with some axes moved to the end."""
    order = [axis for axis in range(x.ndim) if axis not in axes] + sorted(axes)
    return contiguous(permuted(x, order))


def reduce(
    reduction: Reduction,
    x: Array,
    axes: Shape,
    keepdims: bool,
    dtype: DType,
    *,
    divisor: float = 1.0,
    centre: Array | None = None,
) -> Array:
    """Return a reduction over axes, counted from the first; over no axes an element-wise map."""
    device = x.device
    out = empty(reduced_shape(x.shape, axes, keepdims), dtype, device)
    if out.size == 0:
        return out
    layout = reduction_layout(x.shape, x.strides, axes)
    if layout is None:
        x = reduced_last(x, axes)
        last = tuple(range(x.ndim - len(axes), x.ndim))
        layout = reduction_layout(x.shape, strides_of(x.shape), last)
        assert layout is not None, "a contiguous array has one axis of each sort"
    call = _Call(
        _kernels(device, reduction, x.dtype, dtype),
        layout,
        x,
        out,
        out if centre is None else centre,
        divisor,
        reduction.centred,
    )
    if device.traits.local_memory:
        _by_groups(call)
    else:
        _by_vectors(call)
    return out


@dataclass(frozen=True, slots=True)
class _Call:
    """A reduction about to be launched."""

    kernels: Kernels
    layout: ReductionLayout
    x: Array
    out: Array
    centre: Array
    divisor: float
    centred: bool

    def launch(
        self,
        kernel: Kernel,
        size: Shape,
        group: Shape,
        *,
        chunks: int,
        length: int,
        tasks: int,
        per_item: int = 1,
        merged: int = 1,
    ) -> None:
        """Launch a kernel, and the one that combines its partial results, if any."""
        layout, x = self.layout, self.x
        k1, k2 = (1, 1, *layout.outer)[-2:]
        sk0, sk1, sk2 = (0, 0, 0, *layout.outer_steps)[-3:]
        r1, r2 = (1, 1, *layout.reduced)[-2:]
        sr0, sr1, sr2 = (0, 0, 0, *layout.reduced_steps)[-3:]
        total = layout.total
        parts = chunks * merged if chunks * merged > 1 else 0
        part = (
            empty((parts * layout.results,), self.kernels.partial, x.device) if parts else self.out
        )
        start = x.offset + layout.start
        storages = (self.out.storage, part.storage, x.storage, self.centre.storage)
        kernel.launch(
            size, group, storages,
            start, k1, k2 * merged, sk0, sk1, sk2,
            r1, r2 // merged, sr0, sr1, sr2 * merged,
            total // merged, chunks, length, parts, tasks, per_item, self.divisor,
        )  # fmt: skip
        if parts:
            local = x.device.traits.group
            self.kernels.named["finish"].launch(
                (round_up(layout.results, local),), (local,), storages,
                start, k1, k2, sk0, sk1, sk2, r1, r2, sr0, sr1, sr2,
                total, chunks, total // merged * merged, parts, layout.results, 1, self.divisor,
            )  # fmt: skip


def _by_vectors(call: _Call) -> None:
    """Choose a kernel for CPUs, and launch it."""
    layout, named = call.layout, call.kernels.named
    results, total = layout.results, layout.total
    units = call.x.device.traits.units
    row, step = (layout.reduced[-1], layout.reduced_steps[-1]) if layout.reduced else (1, 0)
    width, across = (layout.outer[-1], layout.outer_steps[-1]) if layout.outer else (1, 0)
    # Many tasks for each unit, so that no unit waits long for the last one.
    pieces = max(1, min(results * total // WORTH, 32 * units))
    merged = _merged(call)
    strided = results < LANES or abs(across) > step
    if "rows" in named and row >= _SHORT_ROW and (step == 1 or (not merged and strided)):
        chunks, length = cut(total, pieces // results, 64)
        tasks, work, kernel, merged = results * chunks, length, named["rows"], 1
    elif "columns" in named and merged:
        strips = results // width * -(-width * merged // _STRIP)
        chunks, length = cut(total // merged, pieces // strips, 4)
        tasks, work = strips * chunks, min(width * merged, _STRIP) * length
        kernel = named["columns"]
    else:
        _by_items(call, pieces)
        return
    per_item = max(-(-tasks // (32 * units)), WORTH // 4 // work, 1)
    call.launch(
        kernel, (-(-tasks // per_item),), (1,),
        chunks=chunks, length=length, tasks=tasks, per_item=per_item, merged=merged,
    )  # fmt: skip


def _merged(call: _Call) -> int:
    """Return how many contiguous rows to merge into one for vectors across columns; 0 for none.

    Narrow contiguous rows are merged: (n, 10) is reduced as (n / 102, 1020).
    """
    layout = call.layout
    if not layout.outer or layout.outer_steps[-1] != 1:
        return 0
    width = layout.outer[-1]
    if len(layout.reduced) == 1 and layout.reduced_steps[0] == width and not call.centred:
        # Each merged row has a partial result.
        merged = min(_STRIP // width, 128)
        if merged > 1 and layout.total >= 16 * merged:
            return merged
    return int(width >= LANES)


def _by_items(call: _Call, pieces: int) -> None:
    """Launch with a work-item for each result and chunk."""
    results = call.layout.results
    group = call.x.device.traits.group
    columns = -(-results // group)
    chunks, length = cut(call.layout.total, min(pieces // columns, call.layout.total // 256), 1)
    call.launch(
        call.kernels.named["items"], (columns * group, chunks), (group, 1),
        chunks=chunks, length=length, tasks=results,
    )  # fmt: skip


def _by_groups(call: _Call) -> None:
    """Choose a kernel for devices with local memory, and launch it."""
    layout = call.layout
    results, total = layout.results, layout.total
    most = max(16 * call.x.device.traits.units, 128)
    pieces = max(1, min(results * total // (8 * _GROUP), most))
    side_by_side = bool(layout.outer) and layout.outer_steps[-1] == 1 and layout.outer[-1] >= LANES
    if total < _GROUP // 4 or side_by_side:
        _by_items(call, pieces)
        return
    chunks, length = cut(total, pieces // results, _GROUP)
    tasks = results * chunks
    call.launch(
        call.kernels.named["groups"], (tasks * _GROUP,), (_GROUP,),
        chunks=chunks, length=length, tasks=tasks,
    )  # fmt: skip


@cache
def _kernels(device: Device, reduction: Reduction, source: DType, target: DType) -> Kernels:
    partial = accumulator_dtype(reduction.accumulator, source, target)
    divisor = np.float64 if np.dtype(np.float64) in device.dtypes else np.float32
    combine = reduction.combine[kind_of(partial)]
    lines = [
        *definitions(device, source, target, partial, combine, reduction.value, reduction.result),
        f"#define DIVISOR {'double' if divisor is np.float64 else 'float'}",
        "#define CENTRED" if reduction.centred else "",
        f"#define GROUP {_GROUP}",
        kernel_source("reduce"),
        kernel_source("reduce_cpu") if has_vectors(device, source, partial) else "",
        kernel_source("reduce_group") if device.traits.local_memory else "",
    ]
    values = [*[np.int64] * 17, divisor]
    return kernels_of(device, source, partial, ["items", "finish"], lines, 4, values)
