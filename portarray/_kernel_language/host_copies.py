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
from portarray.backends.launching import Launcher, Range

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


def copies(asked: Asked, launcher: Launcher | str, written: list[int]) -> dict[int, Values]:
    """Return copies of the arrays by their places; one for those that are the same."""
    out: dict[int, Values] = {}
    for spans in overlapping(asked, launcher, written):
        one = spans[0]
        x = asked.args[one.place]
        if all(same_array(asked, one, other) for other in spans):
            out.update(dict.fromkeys([span.place for span in spans], np.array(x, order="C")))
            continue
        low = min(span.low for span in spans)
        base = np.empty(max(span.high for span in spans) - low, np.uint8)
        for span in spans:
            x = asked.args[span.place]
            view: Values = np.ndarray(x.shape, x.dtype, base, span.first - low, span.strides)
            view[...] = np.asarray(x)
            out[span.place] = view
    return out


def overlapping(asked: Asked, launcher: Launcher | str, written: list[int]) -> list[list[Span]]:
    """Return where the arrays lie as the kernel sees them, those that overlap together."""
    spans = _spans(asked, launcher, written)
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


def same_array(asked: Asked, one: Span, other: Span) -> bool:
    """Tell whether two that overlap are one array."""
    x, y = asked.args[one.place], asked.args[other.place]
    return (one.first, one.strides, x.shape, x.dtype) == (
        *(other.first, other.strides, y.shape, y.dtype),
    )
