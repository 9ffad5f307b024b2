"""Copies of arrays on the host that lie in memory as the arrays do.

What a kernel writes into one array it reads from another one that overlaps it, as on the device.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from portarray._array.array import Array
from portarray._kernel_language.arguments import Asked
from portarray._launchers.launcher import Launcher, Range

Values = np.ndarray[Any, Any]


@dataclass(frozen=True, slots=True)
class Span:
    """Where an array lies."""

    place: int  # among the arguments
    memory: Hashable
    first: int  # the address of its first element
    low: int  # addresses of the bytes that it lies between
    high: int
    strides: Range  # in bytes


def on_host(x: Array) -> Values:
    """Return an array's values, for reading only, also where NumPy cannot read its memory."""
    return x.device._backend.read_host(x.native, x.device.native)


def copies(asked: Asked, launcher: Launcher | str, written: list[int]) -> dict[int, Values]:
    """Return copies of the arrays by their places; one for those that are the same."""
    out: dict[int, Values] = {}
    for spans in _together(_spans(asked, launcher, written)):
        alike: dict[Any, list[Span]] = {}
        for span in spans:
            x = asked.args[span.place]
            alike.setdefault((span.first, span.strides, x.shape, x.dtype), []).append(span)
        low = min(span.low for span in spans)
        size = max(span.high for span in spans) - low if len(alike) > 1 else 0
        base = np.empty(size, np.uint8)
        for same in alike.values():
            x = asked.args[same[0].place]
            made: Values = np.array(on_host(x), order="C")
            if len(alike) > 1:
                values, start = made, same[0].first - low
                made = np.ndarray(x.shape, x.dtype, base, start, same[0].strides)
                made[...] = values
            out.update(dict.fromkeys([span.place for span in same], made))
    return out


def _together(spans: list[Span]) -> list[list[Span]]:
    """Return those together between whose bytes there is no gap."""
    found: list[list[Span]] = []
    ends: dict[Hashable, int] = {}
    last: dict[Hashable, list[Span]] = {}
    for span in sorted(spans, key=lambda span: span.low):
        if span.low < ends.get(span.memory, span.low):
            last[span.memory].append(span)
        else:
            last[span.memory] = [span]
            found.append(last[span.memory])
        ends[span.memory] = max(ends.get(span.memory, span.high), span.high)
    return found


def _spans(asked: Asked, launcher: Launcher | str, written: list[int]) -> list[Span]:
    arrays = [place for place, x in enumerate(asked.args) if type(x) is Array]
    out = []
    layouts = iter(asked.layouts)
    for place in arrays:
        x = asked.args[place]
        shape, steps, _ = next(layouts)
        strides = tuple([step * x.dtype.itemsize for step in steps])
        if isinstance(launcher, str):  # an array that is passed twice is one
            out.append(Span(place, id(x.native), 0, 0, 1, strides))
            continue
        alone = launcher.immutable or 0 in shape
        if alone or (place in written and launcher.copied(x.native, written=True)):
            out.append(Span(place, ("alone", place), 0, 0, 1, strides))
            continue
        memory, first = launcher.address(x.native)
        far = [(n - 1) * stride for n, stride in zip(shape, strides, strict=True)]
        low = first + sum(min(one, 0) for one in far)
        high = first + sum(max(one, 0) for one in far) + x.dtype.itemsize
        out.append(Span(place, memory, first, low, high, strides))
    return out
