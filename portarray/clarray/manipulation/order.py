"""The order of axes and elements."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

from portarray.clarray.arguments import Axes, array_of, axes_of, integer_of
from portarray.clarray.engine.copy import assign, copy
from portarray.clarray.manipulation.shapes import reshape
from portarray.clarray.strided import Array, empty, permuted


def flip(x: Array, /, *, axis: Axes | None = None) -> Array:
    """Reverse the order of elements along axes."""
    x = array_of(x, "flip")
    strides, offset = list(x.strides), x.offset
    for flipped in axes_of(axis, x.ndim):
        offset += max(0, x.shape[flipped] - 1) * strides[flipped]
        strides[flipped] = -strides[flipped]
    return x.view(x.shape, tuple(strides), offset)


def moveaxis(x: Array, source: Axes, destination: Axes, /) -> Array:
    """Move axes to other places; the others keep their order."""
    x = array_of(x, "moveaxis")
    sources = axes_of(source, x.ndim, "source")
    destinations = axes_of(destination, x.ndim, "destination")
    if len(sources) != len(destinations):
        raise ValueError(
            f"source {source!r} and destination {destination!r} must name as many axes"
        )
    order = [source_axis for source_axis in range(x.ndim) if source_axis not in sources]
    for target, source_axis in sorted(zip(destinations, sources, strict=True)):
        order.insert(target, source_axis)
    return permuted(x, order)


def permute_dims(x: Array, /, axes: Sequence[int]) -> Array:
    """Put axes in another order."""
    x = array_of(x, "permute_dims")
    order = axes_of(tuple(axes), x.ndim, "axes")
    if len(order) != x.ndim:
        raise ValueError(
            f"axes {axes!r} must name each of the {x.ndim} axes of an array of shape {x.shape} once"
        )
    return permuted(x, order)


def roll(x: Array, /, shift: int | Sequence[int], *, axis: Axes | None = None) -> Array:
    """Shift elements along axes; those that leave at one end come back at the other."""
    x = array_of(x, "roll")
    shifts = tuple(
        [
            integer_of(entry, "shift")
            for entry in (shift if isinstance(shift, Sequence) else (shift,))
        ]
    )
    if axis is None:
        if len(shifts) != 1:
            raise ValueError(f"roll without axis takes one shift, got {shift!r}")
        flat = reshape(x, (-1,)) if x.size else x
        return reshape(roll(flat, shifts[0], axis=0), x.shape) if x.size else copy(x)
    axes = axis if isinstance(axis, Sequence) else (axis,)
    if len(shifts) == 1:
        shifts *= len(axes)
    if len(shifts) != len(axes):
        raise ValueError(
            f"roll got {len(shifts)} shifts and {len(axes)} axes\nHint: give one for each"
        )
    steps = [0] * x.ndim
    for entry, step in zip(axes, shifts, strict=True):
        steps[axes_of(entry, x.ndim)[0]] += step
    out = empty(x.shape, x.dtype, x.device)
    if not x.size:
        return out
    # Along a shifted axis two blocks are exchanged.
    blocks = []
    for size, step in zip(x.shape, steps, strict=True):
        first = step % size
        blocks.append(
            [(0, 0, size)] if first == 0 else [(0, first, size - first), (size - first, 0, first)]
        )
    for parts in itertools.product(*blocks):
        lengths = tuple([length for _, _, length in parts])
        read = sum(at * step for (at, _, _), step in zip(parts, x.strides, strict=True))
        write = sum(at * step for (_, at, _), step in zip(parts, out.strides, strict=True))
        source = x.view(lengths, x.strides, x.offset + read)
        assign(out.view(lengths, out.strides, write), source)
    return out
