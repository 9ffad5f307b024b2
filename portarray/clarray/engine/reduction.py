"""Reductions: one combining expression, any axes, any layout.

Two families of kernels are chosen by a device's traits. Where work-groups share local memory, a
group has a chunk of a result (``reduce_group.cl``). Processors have few work-items with long tasks
over vectors (``reduce_cpu.cl``): along rows where the innermost axis goes, across columns where it
stays. What fits neither, such as very short rows, has a work-item for each result
(``reduce.cl``). Results with many elements each are made in chunks, which a second kernel combines.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.accumulation import (
    LANES,
    WORTH,
    Accumulator,
    accumulator_dtype,
    cut,
    definitions,
    has_vectors,
    round_up,
)
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.reduction_layout import Walk, reduced_shape, walk
from portarray.clarray.layout import strides_of
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.programs import Kernel, source_of
from portarray.clarray.strided import Array, empty

DType = np.dtype[Any]
Shape = tuple[int, ...]

_STRIP = 64 * LANES
_GROUP = 256
_SHORT_ROW = 24
"""Rows of fewer elements are faster with a work-item for each than with vectors along them."""


@dataclass(frozen=True, slots=True, eq=False)
class Reduction:
    """How elements become one. Each is one object: compared with ``is``."""

    name: str
    combine: Mapping[str, tuple[str, str]]
    accumulator: Accumulator
    value: str = "T_(v)"
    result: str = "a"
    centred: bool = False


def gone_last(x: Array, axes: Shape) -> Array:
    """Return a C-contiguous copy with some axes moved to the end."""
    order = [axis for axis in range(x.ndim) if axis not in axes] + sorted(axes)
    shape = tuple(x.shape[axis] for axis in order)
    return contiguous(x.view(shape, tuple(x.strides[axis] for axis in order), x.offset))


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
    """Return a reduction over axes, counted from the first; over none it maps each element."""
    device = x.device
    out = empty(reduced_shape(x.shape, axes, keepdims), dtype, device)
    if out.size == 0:
        return out
    seen = walk(x.shape, x.strides, axes)
    if seen is None:
        x = gone_last(x, axes)
        last = tuple(range(x.ndim - len(axes), x.ndim))
        seen = walk(x.shape, strides_of(x.shape), last)
        assert seen is not None, "a contiguous array has one axis of each sort"
    call = _Call(
        _kernels(device, reduction, x.dtype, dtype),
        seen,
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
class _Kernels:
    """The kernels of one reduction and two dtypes on one device, and the dtype of its partials."""

    items: Kernel
    finish: Kernel
    groups: Kernel | None
    rows: Kernel | None
    columns: Kernel | None
    partial: DType


@dataclass(frozen=True, slots=True)
class _Call:
    """A reduction about to be launched."""

    kernels: _Kernels
    seen: Walk
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
        each: int = 1,
        merged: int = 1,
    ) -> None:
        """Launch a kernel, and what combines its partial results where it leaves any."""
        seen, x = self.seen, self.x
        k1, k2 = (1, 1, *seen.kept)[-2:]
        sk0, sk1, sk2 = (0, 0, 0, *seen.kept_steps)[-3:]
        r1, r2 = (1, 1, *seen.gone)[-2:]
        sr0, sr1, sr2 = (0, 0, 0, *seen.gone_steps)[-3:]
        total = seen.total
        parts = chunks * merged if chunks * merged > 1 else 0
        part = empty((parts * seen.results,), self.kernels.partial, x.device) if parts else self.out
        start = x.offset + seen.start
        storages = (self.out.storage, part.storage, x.storage, self.centre.storage)
        kernel.launch(
            size, group, storages,
            start, k1, k2 * merged, sk0, sk1, sk2,
            r1, r2 // merged, sr0, sr1, sr2 * merged,
            total // merged, chunks, length, parts, tasks, each, self.divisor,
        )  # fmt: skip
        if parts:
            lanes = x.device.traits.group
            self.kernels.finish.launch(
                (round_up(seen.results, lanes),), (lanes,), storages,
                start, k1, k2, sk0, sk1, sk2, r1, r2, sr0, sr1, sr2,
                total, chunks, total // merged * merged, parts, seen.results, 1, self.divisor,
            )  # fmt: skip


def _by_vectors(call: _Call) -> None:
    """Choose among the kernels of processors, and launch."""
    seen, kernels = call.seen, call.kernels
    results, total = seen.results, seen.total
    units = call.x.device.traits.units
    row, step = (seen.gone[-1], seen.gone_steps[-1]) if seen.gone else (1, 0)
    width, across = (seen.kept[-1], seen.kept_steps[-1]) if seen.kept else (1, 0)
    # Enough tasks that units do not wait long for the one that ends last.
    pieces = max(1, min(results * total // WORTH, 32 * units))
    merged = _merged(call)
    beside = results < LANES or abs(across) > step
    if kernels.rows and row >= _SHORT_ROW and (step == 1 or (not merged and beside)):
        chunks, length = cut(total, pieces // results, 64)
        tasks, work, kernel, merged = results * chunks, length, kernels.rows, 1
    elif kernels.columns and merged:
        strips = results // width * -(-width * merged // _STRIP)
        chunks, length = cut(total // merged, pieces // strips, 4)
        tasks, work = strips * chunks, min(width * merged, _STRIP) * length
        kernel = kernels.columns
    else:
        _by_items(call, pieces)
        return
    each = max(-(-tasks // (32 * units)), WORTH // 4 // work, 1)
    call.launch(
        kernel, (-(-tasks // each),), (1,),
        chunks=chunks, length=length, tasks=tasks, each=each, merged=merged,
    )  # fmt: skip


def _merged(call: _Call) -> int:
    """Return how many rows side by side are wide enough to be walked across; 0 if none are.

    Narrow rows that lie without gaps are made one, so that (n, 10) is walked as (n / 102, 1020).
    """
    seen = call.seen
    if not seen.kept or seen.kept_steps[-1] != 1:
        return 0
    width = seen.kept[-1]
    if len(seen.gone) == 1 and seen.gone_steps[0] == width and not call.centred:
        # Each of them leaves a partial result.
        merged = min(_STRIP // width, 128)
        if merged > 1 and seen.total >= 16 * merged:
            return merged
    return int(width >= LANES)


def _by_items(call: _Call, pieces: int) -> None:
    """Launch with a work-item for each result and chunk."""
    results = call.seen.results
    lanes = call.x.device.traits.group
    columns = -(-results // lanes)
    chunks, length = cut(call.seen.total, min(pieces // columns, call.seen.total // 256), 1)
    call.launch(
        call.kernels.items, (columns * lanes, chunks), (lanes, 1),
        chunks=chunks, length=length, tasks=results,
    )  # fmt: skip


def _by_groups(call: _Call) -> None:
    """Choose among the kernels of devices with local memory, and launch."""
    seen = call.seen
    results, total = seen.results, seen.total
    most = max(16 * call.x.device.traits.units, 128)
    pieces = max(1, min(results * total // (8 * _GROUP), most))
    side_by_side = bool(seen.kept) and seen.kept_steps[-1] == 1 and seen.kept[-1] >= LANES
    if call.kernels.groups is None or total < _GROUP // 4 or side_by_side:
        _by_items(call, pieces)
        return
    chunks, length = cut(total, pieces // results, _GROUP)
    tasks = results * chunks
    call.launch(
        call.kernels.groups, (tasks * _GROUP,), (_GROUP,),
        chunks=chunks, length=length, tasks=tasks,
    )  # fmt: skip


@cache
def _kernels(device: Device, reduction: Reduction, source: DType, target: DType) -> _Kernels:
    partial = accumulator_dtype(reduction.accumulator, source, target)
    double = np.dtype(np.float64) in device.dtypes
    vectors = has_vectors(device, source, partial)
    text = "\n".join(
        [
            *definitions(
                device,
                source,
                target,
                partial,
                reduction.combine[kind_of(partial)],
                reduction.value,
                reduction.result,
            ),
            f"#define DIVISOR {'double' if double else 'float'}",
            "#define CENTRED" if reduction.centred else "",
            f"#define GROUP {_GROUP}",
            source_of("reduce"),
            source_of("reduce_cpu") if vectors else "",
            source_of("reduce_group") if device.traits.local_memory else "",
        ]
    )

    def kernel(name: str) -> Kernel:
        values = (*[np.int64] * 17, np.float64 if double else np.float32)
        return device.kernel(text, name, 4, values)

    return _Kernels(
        items=kernel("items"),
        finish=kernel("finish"),
        groups=kernel("groups") if device.traits.local_memory else None,
        rows=kernel("rows") if vectors else None,
        columns=kernel("columns") if vectors else None,
        partial=partial,
    )
