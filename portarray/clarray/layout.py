"""Shapes and strides, counted in elements."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

Shape = tuple[int, ...]


@lru_cache(maxsize=4096)
def strides_of(shape: Shape) -> Shape:
    """Return the strides of a C-contiguous array."""
    strides = [1] * len(shape)
    for axis in range(len(shape) - 2, -1, -1):
        strides[axis] = strides[axis + 1] * shape[axis + 1]
    return tuple(strides)


def is_contiguous(shape: Shape, strides: Shape) -> bool:
    """Return whether an array is C-contiguous; axes of length 1 may have any stride."""
    expected = 1
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size == 0:
            return True
        if size != 1:
            if stride != expected:
                return False
            expected *= size
    return True


def repeats(shape: Shape, strides: Shape) -> bool:
    """Return whether elements share an address because an axis is broadcast."""
    return 0 not in shape and any(
        not step and size > 1 for size, step in zip(shape, strides, strict=True)
    )


def broadcast_shapes(*shapes: Shape) -> Shape:
    """Return the shape that all broadcast to."""
    result = [1] * max((len(shape) for shape in shapes), default=0)
    for shape in shapes:
        for axis in range(-len(shape), 0):
            size = shape[axis]
            if size != 1:
                if result[axis] not in (1, size):
                    raise ValueError(
                        f"shapes {', '.join(map(str, shapes))} cannot be broadcast together: "
                        f"sizes {result[axis]} and {size} on axis {axis}"
                    )
                result[axis] = size
    return tuple(result)


def broadcasts_to(shape: Shape, target: Shape) -> bool:
    """Return whether a shape broadcasts to exactly another one."""
    return len(shape) <= len(target) and all(
        size in (1, length) for size, length in zip(reversed(shape), reversed(target), strict=False)
    )


def broadcast_strides(shape: Shape, strides: Shape, target: Shape) -> Shape:
    """Return the strides of an array broadcast to ``target``: 0 along repeated axes."""
    added = len(target) - len(shape)
    return (0,) * added + tuple(
        0 if size == 1 else stride for size, stride in zip(shape, strides, strict=True)
    )


def collapse(shape: Shape, strides: Sequence[Shape]) -> tuple[Shape, tuple[Shape, ...]]:
    """Merge adjacent axes that have one stride in every operand, and drop axes of length 1.

    No axis is left of one element; an empty array has one of length 0.
    """
    sizes: list[int] = []
    collapsed: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        if size == 1:
            continue
        steps = [entry[axis] for entry in strides]
        if sizes and all(
            walk[-1] == step * size for walk, step in zip(collapsed, steps, strict=True)
        ):
            sizes[-1] *= size
            for walk, step in zip(collapsed, steps, strict=True):
                walk[-1] = step
        else:
            sizes.append(size)
            for walk, step in zip(collapsed, steps, strict=True):
                walk.append(step)
    if math.prod(shape) == 0:
        return (0,), tuple((0,) for _ in strides)
    return tuple(sizes), tuple(map(tuple, collapsed))


def reshaped_strides(shape: Shape, strides: Shape, target: Shape) -> Shape | None:
    """Return the strides of a view with another shape; None if the elements must be copied."""
    if math.prod(target) == 0:
        return strides_of(target)
    sizes, (steps,) = collapse(shape, (strides,))
    # Target axes must split each merged axis exactly.
    result = [0] * len(target)
    position = len(target) - 1
    for size, step in zip(reversed(sizes), reversed(steps), strict=True):
        remaining = size
        while remaining > 1:
            if target[position] != 1:
                if remaining % target[position]:
                    return None
                remaining //= target[position]
            result[position] = step
            step *= target[position]
            position -= 1
    # The remaining axes have length 1 and may have any stride.
    for axis in range(position, -1, -1):
        result[axis] = result[axis + 1] * target[axis + 1] if axis + 1 < len(target) else 1
    return tuple(result)
