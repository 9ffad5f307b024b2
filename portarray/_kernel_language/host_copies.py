"""Host copies of arrays that overlap in memory as the arrays do.

A kernel sees its writes through overlapping arrays, as on the device.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._array.array import Array
from portarray._kernel_language.arguments import CallSpec
from portarray._launchers.launcher import Launcher, Range

Values = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """The memory of one array argument."""

    position: int  # among the arguments
    memory: Hashable
    first: int  # the address of its first element
    low: int  # addresses of the bytes that it lies between
    high: int
    strides: Range  # in bytes


def on_host(x: Array) -> Values:
    """Return a read-only host copy of an array's values."""
    return x.device._backend.read_host(x.native, x.device.native)


def copies(spec: CallSpec, launcher: Launcher | str, written: list[int]) -> dict[int, Values]:
    """Return host copies by argument position; the same array is copied once."""
    out: dict[int, Values] = {}
    for spans in _together(_spans(spec, launcher, written)):
        alike: dict[Any, list[Span]] = {}
        for span in spans:
            x = spec.args[span.position]
            alike.setdefault((span.first, span.strides, x.shape, x.dtype), []).append(span)
        low = min(span.low for span in spans)
        size = max(span.high for span in spans) - low if len(alike) > 1 else 0
        base = np.empty(size, np.uint8)
        for same in alike.values():
            x = spec.args[same[0].position]
            copy: Values = np.array(on_host(x), order="C")
            if len(alike) > 1:
                values, start = copy, same[0].first - low
                copy = np.ndarray(x.shape, x.dtype, base, start, same[0].strides)
                copy[...] = values
            out.update(dict.fromkeys([span.position for span in same], copy))
    return out


def overlapping(
    spec: CallSpec, launcher: Launcher | str, written: list[int]
) -> tuple[int, int] | None:
    """Return the positions of two arrays that overlap, one of them written; None if none do."""
    for spans in _together(_spans(spec, launcher, written)):
        positions = [span.position for span in spans]
        changed = next((position for position in positions if position in written), None)
        if changed is not None and len(positions) > 1:
            return changed, next(position for position in positions if position != changed)
    return None


def _together(spans: list[Span]) -> list[list[Span]]:
    """Group spans that overlap."""
    groups: list[list[Span]] = []
    ends: dict[Hashable, int] = {}
    last: dict[Hashable, list[Span]] = {}
    for span in sorted(spans, key=lambda span: span.low):
        if span.low < ends.get(span.memory, span.low):
            last[span.memory].append(span)
        else:
            last[span.memory] = [span]
            groups.append(last[span.memory])
        ends[span.memory] = max(ends.get(span.memory, span.high), span.high)
    return groups


def _spans(spec: CallSpec, launcher: Launcher | str, written: list[int]) -> list[Span]:
    arrays = [position for position, x in enumerate(spec.args) if type(x) is Array]
    out = []
    layouts = iter(spec.layouts)
    for position in arrays:
        x = spec.args[position]
        shape, steps, _ = next(layouts)
        strides = tuple([step * x.dtype.itemsize for step in steps])
        if isinstance(launcher, str):  # an array that is passed twice is one
            out.append(Span(position, id(x.native), 0, 0, 1, strides))
            continue
        alone = launcher.immutable or 0 in shape
        if alone or (position in written and launcher.copied(x.native, written=True)):
            out.append(Span(position, ("alone", position), 0, 0, 1, strides))
            continue
        memory, first = launcher.address(x.native)
        far = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
        low = first + sum(min(reach, 0) for reach in far)
        high = first + sum(max(reach, 0) for reach in far) + x.dtype.itemsize
        out.append(Span(position, memory, first, low, high, strides))
    return out
