"""Scans: running results along one axis.

A long lane is cut into chunks: a first pass finds what each comes to, a second one begins each
with what the chunks before it come to. Chunks are what work-items share on processors (where they
run along rows or across columns in vectors) and what work-groups share elsewhere.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.accumulation import (
    LANES,
    WORTH,
    accumulator_dtype,
    cut,
    definitions,
    has_vectors,
    round_up,
)
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.layout import collapse
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.programs import Kernel, source_of
from portarray.clarray.strided import Array, empty

DType = np.dtype[Any]
Shape = tuple[int, ...]

_STRIP = 8 * LANES
_GROUP = 256


@dataclass(frozen=True, slots=True, eq=False)
class Scan:
    """How elements become running results. Each is one object: compared with ``is``."""

    name: str
    combine: Mapping[str, tuple[str, str]]
    initial: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class _Lanes:
    """An array as a scan sees it: three axes, the middle one the scan's, and their strides."""

    outer: int
    n: int
    inner: int
    steps: tuple[int, int, int]


def scan(operation: Scan, x: Array, axis: int, dtype: DType, include_initial: bool) -> Array:
    """Return running results along an axis."""
    initial = int(include_initial)
    shape = (*x.shape[:axis], x.shape[axis] + initial, *x.shape[axis + 1 :])
    out = empty(shape, dtype, x.device)
    if out.size == 0:
        return out
    lanes = _lanes(x, axis)
    if lanes is None:
        x = contiguous(x)
        lanes = _lanes(x, axis)
        assert lanes is not None, "a contiguous array has one axis on either side"
    kernels = _kernels(x.device, operation, x.dtype, dtype)
    name, chunks, length = _plan(lanes, x.device, kernels)
    kernel = kernels.named[name]
    strips = lanes.outer * -(-lanes.inner // _STRIP)
    results = lanes.outer * lanes.inner
    tasks = chunks * (strips if name == "columns" else results)
    each = 1
    group = x.device.traits.group
    size: Shape
    local: Shape
    if name == "items":
        size, local, tasks = (round_up(results, group), chunks), (group, 1), results
    elif name == "groups":
        size, local = (tasks * _GROUP,), (_GROUP,)
    else:
        work = length * (min(lanes.inner, _STRIP) if name == "columns" else 1)
        each = max(-(-tasks // (32 * x.device.traits.units)), WORTH // 4 // work, 1)
        size, local = (-(-tasks // each),), (1,)
    part = empty((results * chunks,), kernels.partial, x.device) if chunks > 1 else out
    # The first pass finds what the chunks come to.
    for summing in (1, 0) if chunks > 1 else (0,):
        kernel.launch(
            size, local, (out.storage, part.storage, x.storage),
            x.offset, lanes.n, lanes.inner, *lanes.steps, initial,
            chunks, length, tasks, each, summing,
        )  # fmt: skip
    return out


def _lanes(x: Array, axis: int) -> _Lanes | None:
    """Return how an array is walked; None where it had better be copied first."""
    n = x.shape[axis]
    before, after = x.shape[:axis], x.shape[axis + 1 :]
    outer, inner = math.prod(before), math.prod(after)
    if n == 0:
        return _Lanes(outer, 0, inner, (0, 0, 0))
    step = x.strides[axis]
    outer_sizes, (outer_steps,) = collapse(before, [x.strides[:axis]])
    inner_sizes, (inner_steps,) = collapse(after, [x.strides[axis + 1 :]])
    if len(outer_sizes) > 1 or len(inner_sizes) > 1:
        return None
    so, si = (*outer_steps, 0)[0], (*inner_steps, 0)[0]
    # Lanes that lie across each other are put in order: a pass over memory is the least of it.
    crossed = (inner > 1 and abs(si) > abs(step)) or (outer > 1 and 0 < abs(so) < abs(step))
    return None if crossed and n > 1 else _Lanes(outer, n, inner, (so, step, si))


def _plan(lanes: _Lanes, device: Device, kernels: _Kernels) -> tuple[str, int, int]:
    """Return which kernel runs, and into how many chunks of which length it cuts lanes."""
    n, results = lanes.n, lanes.outer * lanes.inner
    traits = device.traits
    side_by_side = lanes.inner >= LANES and lanes.steps[2] == 1
    if traits.local_memory:
        if side_by_side or n < _GROUP // 4:
            name, step, busy = "items", 1, -(-results // traits.group)
        else:
            name, step, busy = "groups", _GROUP, results
        pieces = min(results * n // (8 * _GROUP), 16 * traits.units)
        return name, *cut(n, pieces // busy, step)
    pieces = min(results * n // WORTH, 16 * traits.units)
    if side_by_side and "columns" in kernels.named:
        strips = lanes.outer * -(-lanes.inner // _STRIP)
        # Two passes cost more than a unit that waits, where one strip or more is there for each.
        return "columns", *cut(n, 1 if strips >= traits.units else pieces // strips, 1)
    if lanes.inner == 1 and n >= LANES and "rows" in kernels.named:
        return "rows", *cut(n, 1 if results >= 4 * traits.units else pieces // results, LANES)
    busy = -(-results // traits.group)
    return "items", *cut(n, min(pieces // busy, n // 256), 1)


@dataclass(frozen=True, slots=True)
class _Kernels:
    """The kernels of one scan and two dtypes on one device, and the dtype of its partials."""

    named: dict[str, Kernel]
    partial: DType


@cache
def _kernels(device: Device, operation: Scan, source: DType, target: DType) -> _Kernels:
    partial = accumulator_dtype("result", source, target)
    kind = kind_of(partial)
    names = ["items"]
    if device.traits.local_memory:
        names.append("groups")
    elif has_vectors(device, source, partial):
        names += ["rows", "columns"]
    text = "\n".join(
        [
            *definitions(device, source, target, partial, operation.combine[kind], "T_(v)", "a"),
            f"#define INITIAL ((T)({operation.initial[kind]}))",
            f"#define GROUP {_GROUP}",
            source_of("scan"),
            source_of("scan_group") if device.traits.local_memory else "",
        ]
    )
    kernels = {name: device.kernel(text, name, 3, [np.int64] * 12) for name in names}
    return _Kernels(kernels, partial)
