"""Scans: cumulative results along one axis.

A long line (the elements along the axis) is cut into chunks: a first pass computes the total of
each, a second one scans each from the totals of those before. A chunk is a task of a work-item on
CPUs, along rows or in vectors across columns, and of a work-group elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
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
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import collapse
from portarray.clarray.strided import Array, empty

DType = np.dtype[Any]
Shape = tuple[int, ...]

_STRIP = 8 * LANES
_GROUP = 256


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """A combining expression and its initial value for each kind; compared by identity."""

    name: str
    combine: Mapping[str, tuple[str, str]]
    initial: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Lines:
    """The lines of an array: three axes, the scan along the middle one, and their strides."""

    outer: int
    n: int
    inner: int
    steps: tuple[int, int, int]


def scan(operation: Scan, x: Array, axis: int, dtype: DType, include_initial: bool) -> Array:
    """Return cumulative results along an axis."""
    initial = int(include_initial)
    shape = (*x.shape[:axis], x.shape[axis] + initial, *x.shape[axis + 1 :])
    out = empty(shape, dtype, x.device)
    if out.size == 0:
        return out
    lines = _lines(x, axis)
    if lines is None:
        x = contiguous(x)
        lines = _lines(x, axis)
        assert lines is not None, "a contiguous array has one axis on either side"
    kernels = _kernels(x.device, operation, x.dtype, dtype)
    name, chunks, length = _plan(lines, x.device, kernels)
    kernel = kernels.named[name]
    strips = lines.outer * -(-lines.inner // _STRIP)
    results = lines.outer * lines.inner
    tasks = chunks * (strips if name == "columns" else results)
    per_item = 1
    group = x.device.traits.group
    size: Shape
    local: Shape
    if name == "items":
        size, local, tasks = (round_up(results, group), chunks), (group, 1), results
    elif name == "groups":
        size, local = (tasks * _GROUP,), (_GROUP,)
    else:
        work = length * (min(lines.inner, _STRIP) if name == "columns" else 1)
        per_item = max(-(-tasks // (32 * x.device.traits.units)), WORTH // 4 // work, 1)
        size, local = (-(-tasks // per_item),), (1,)
    part = empty((results * chunks,), kernels.partial, x.device) if chunks > 1 else out
    # The first pass computes the totals of the chunks.
    for summing in (1, 0) if chunks > 1 else (0,):
        kernel.launch(
            size, local, (out.storage, part.storage, x.storage),
            x.offset, lines.n, lines.inner, *lines.steps, initial,
            chunks, length, tasks, per_item, summing,
        )  # fmt: skip
    return out


def _lines(x: Array, axis: int) -> _Lines | None:
    """Return the lines of an array; None if it should be copied first."""
    n = x.shape[axis]
    leading, trailing = x.shape[:axis], x.shape[axis + 1 :]
    outer, inner = math.prod(leading), math.prod(trailing)
    if n == 0:
        return _Lines(outer, 0, inner, (0, 0, 0))
    step = x.strides[axis]
    outer_sizes, (outer_steps,) = collapse(leading, [x.strides[:axis]])
    inner_sizes, (inner_steps,) = collapse(trailing, [x.strides[axis + 1 :]])
    if len(outer_sizes) > 1 or len(inner_sizes) > 1:
        return None
    so, si = (*outer_steps, 0)[0], (*inner_steps, 0)[0]
    # If other axes have smaller strides, a copy costs less than strided access.
    crossed = (inner > 1 and abs(si) > abs(step)) or (outer > 1 and 0 < abs(so) < abs(step))
    return None if crossed and n > 1 else _Lines(outer, n, inner, (so, step, si))


def _plan(lines: _Lines, device: Device, kernels: Kernels) -> tuple[str, int, int]:
    """Return the kernel, and the count and length of the chunks of a line."""
    n, results = lines.n, lines.outer * lines.inner
    traits = device.traits
    side_by_side = lines.inner >= LANES and lines.steps[2] == 1
    if traits.local_memory:
        if side_by_side or n < _GROUP // 4:
            name, step, busy = "items", 1, -(-results // traits.group)
        else:
            name, step, busy = "groups", _GROUP, results
        pieces = min(results * n // (8 * _GROUP), 16 * traits.units)
        return name, *cut(n, pieces // busy, step)
    pieces = min(results * n // WORTH, 16 * traits.units)
    if side_by_side and "columns" in kernels.named:
        strips = lines.outer * -(-lines.inner // _STRIP)
        # With a strip for each unit, a second pass would cost more than idle units.
        return "columns", *cut(n, 1 if strips >= traits.units else pieces // strips, 1)
    if lines.inner == 1 and n >= LANES and "rows" in kernels.named:
        return "rows", *cut(n, 1 if results >= 4 * traits.units else pieces // results, LANES)
    busy = -(-results // traits.group)
    return "items", *cut(n, min(pieces // busy, n // 256), 1)


@cache
def _kernels(device: Device, operation: Scan, source: DType, target: DType) -> Kernels:
    partial = accumulator_dtype("result", source, target)
    is_sum = operation.name == "cumulative_sum"
    if is_sum and partial == np.float32 and device.double and not device.traits.local_memory:
        # A work-item adds one number after another.
        partial = np.dtype(np.float64)
    is_single = partial == np.float64 and source == target == np.float32
    kind = kind_of(partial)
    lines = [
        *definitions(device, source, target, partial, operation.combine[kind], "T_(v)", "a"),
        f"#define INITIAL ((T)({operation.initial[kind]}))",
        f"#define GROUP {_GROUP}",
        "#define SINGLE" if is_single else "",
        kernel_source("scan"),
        kernel_source("scan_group") if device.traits.local_memory else "",
    ]
    return kernels_of(device, source, partial, ["items"], lines, 3, [np.int64] * 12)
