"""The layout of an array for a reduction: outer and reduced axes, merged to as few as possible."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from portarray.clarray.layout import collapse

Shape = tuple[int, ...]

_MOST_AXES = 3
"""Kept, or reduced, axes that kernels loop over; an array with more is copied first."""


@dataclass(frozen=True, slots=True)
class ReductionLayout:
    """The outer and the reduced axes of an array, and the offset of its first element."""

    outer: Shape
    outer_steps: Shape
    reduced: Shape
    reduced_steps: Shape
    start: int

    @property
    def results(self) -> int:
        """How many results there are."""
        return math.prod(self.outer)

    @property
    def total(self) -> int:
        """How many elements each result has."""
        return math.prod(self.reduced)


@lru_cache(maxsize=4096)
def reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """Return the shape of the result of a reduction."""
    if keepdims:
        return tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])


@lru_cache(maxsize=4096)
def reduction_layout(
    shape: Shape, strides: Shape, axes: Shape, ordered: bool = False
) -> ReductionLayout | None:
    """Return the layout for a reduction over some axes; None if there are too many axes."""
    outer = [axis for axis in range(len(shape)) if axis not in axes]
    reduced = sorted(axes)
    start = 0
    steps = list(strides)
    if not ordered:
        for axis in reduced:
            if steps[axis] < 0:
                start += steps[axis] * (shape[axis] - 1)
                steps[axis] = -steps[axis]
        # By descending stride, after axes that are broadcast.
        reduced.sort(key=lambda axis: (steps[axis] != 0, -steps[axis]))
    outer_sizes, (outer_steps,) = collapse(
        tuple(shape[axis] for axis in outer), [tuple(steps[axis] for axis in outer)]
    )
    reduced_sizes, (reduced_steps,) = collapse(
        tuple(shape[axis] for axis in reduced), [tuple(steps[axis] for axis in reduced)]
    )
    if len(outer_sizes) > _MOST_AXES or len(reduced_sizes) > (1 if ordered else _MOST_AXES):
        return None
    return ReductionLayout(outer_sizes, outer_steps, reduced_sizes, reduced_steps, start)
