"""How an array is seen by a reduction: axes that stay and axes that go, as few as possible."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

from portarray.clarray.layout import collapse

Shape = tuple[int, ...]

_MOST_AXES = 3
"""Axes of each sort that kernels walk; an array with more is copied first."""


@dataclass(frozen=True, slots=True)
class Walk:
    """An array as a reduction walks through it, in elements."""

    kept: Shape
    kept_steps: Shape
    gone: Shape
    gone_steps: Shape
    start: int

    @property
    def results(self) -> int:
        """How many results there are."""
        return math.prod(self.kept)

    @property
    def total(self) -> int:
        """How many elements there are to each result."""
        return math.prod(self.gone)


@lru_cache(maxsize=4096)
def reduced_shape(shape: Shape, axes: Shape, keepdims: bool) -> Shape:
    """Return the shape of the result of a reduction."""
    if keepdims:
        return tuple([1 if axis in axes else size for axis, size in enumerate(shape)])
    return tuple([size for axis, size in enumerate(shape) if axis not in axes])


@lru_cache(maxsize=4096)
def walk(shape: Shape, strides: Shape, axes: Shape, ordered: bool = False) -> Walk | None:
    """Return how a reduction over some axes walks through an array."""
    kept = [axis for axis in range(len(shape)) if axis not in axes]
    gone = sorted(axes)
    start = 0
    steps = list(strides)
    if not ordered:
        for axis in gone:
            if steps[axis] < 0:
                start += steps[axis] * (shape[axis] - 1)
                steps[axis] = -steps[axis]
        # The axis with the smallest step goes last; one that repeats its elements goes first.
        gone.sort(key=lambda axis: (steps[axis] != 0, -steps[axis]))
    kept_sizes, (kept_steps,) = collapse(
        tuple(shape[axis] for axis in kept), [tuple(steps[axis] for axis in kept)]
    )
    gone_sizes, (gone_steps,) = collapse(
        tuple(shape[axis] for axis in gone), [tuple(steps[axis] for axis in gone)]
    )
    if len(kept_sizes) > _MOST_AXES or len(gone_sizes) > (1 if ordered else _MOST_AXES):
        return None
    return Walk(kept_sizes, kept_steps, gone_sizes, gone_steps, start)
