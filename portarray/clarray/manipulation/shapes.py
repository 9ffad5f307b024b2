"""Shapes; all functions but ``reshape`` always return views."""

from __future__ import annotations

import math
from collections.abc import Sequence

from portarray.clarray import layout
from portarray.clarray.arguments import (
    Axes,
    ShapeLike,
    array_of,
    axes_of,
    integer_of,
    shape_of,
)
from portarray.clarray.engine.copy import copy as _copy
from portarray.clarray.strided import Array, new_array, permuted

_are_int = frozenset({int}).issuperset


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to a common shape."""
    for place, one in enumerate(arrays):
        array_of(one, "broadcast_arrays", f"argument {place}")
    shape = layout.broadcast_shapes(*[one.shape for one in arrays])
    return tuple(broadcast_to(one, shape) for one in arrays)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    return layout.broadcast_shapes(*[shape_of(one) for one in shapes])


def broadcast_to(x: Array, /, shape: ShapeLike) -> Array:
    """Return a view of an array broadcast to a shape."""
    x = array_of(x, "broadcast_to")
    target = shape_of(shape)
    if target == x.shape:
        return x.view(x.shape, x.strides, x.offset)
    own = x.shape
    if not layout.broadcasts_to(own, target):
        raise ValueError(
            f"an array of shape {own} does not broadcast to {target}; sizes must be equal or 1, "
            f"counted from the last axis"
        )
    return x.view(target, layout.broadcast_strides(own, x.strides, target), x.offset)


def expand_dims(x: Array, /, axis: Axes) -> Array:
    """Insert axes of length 1."""
    x = array_of(x, "expand_dims")
    added = len(axis) if isinstance(axis, Sequence) else 1
    places = set(axes_of(axis, x.ndim + added))
    own = iter(zip(x.shape, x.strides, strict=True))
    pairs = [(1, 0) if one in places else next(own) for one in range(x.ndim + added)]
    return x.view(tuple([size for size, _ in pairs]), tuple([step for _, step in pairs]), x.offset)


def reshape(x: Array, /, shape: ShapeLike, *, copy: bool | None = None) -> Array:
    """Return an array with another shape, a view if possible."""
    x = array_of(x, "reshape")
    target = _inferred(shape, x.shape)
    if copy:
        x = _copy(x)
    if x.contiguous:
        return new_array(x.storage, x.dtype, target, layout.strides_of(target), x.offset, True)
    strides = layout.reshaped_strides(x.shape, x.strides, target)
    if strides is None:
        if copy is False:
            raise ValueError(
                f"reshape from {x.shape} to {target} needs a copy, for the elements of a view with "
                f"strides {x.strides} are not in that order; pass copy=None"
            )
        x = _copy(x)
        strides = layout.strides_of(target)
    return x.view(target, strides, x.offset)


def _inferred(shape: ShapeLike, own: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape of as many elements, with the size in place of -1."""
    plain = isinstance(shape, tuple) and _are_int(map(type, shape))
    given = list(shape) if isinstance(shape, Sequence) else [shape]
    sizes = given if plain else [integer_of(one, "shape") for one in given]
    total = math.prod(own)
    if sizes.count(-1) == 1:
        place = sizes.index(-1)
        rest = math.prod(sizes[:place] + sizes[place + 1 :])
        # Of an empty array any size would fit.
        if rest <= 0 or total % rest:
            raise ValueError(f"an array of shape {own} has no shape {shape!r}: {total} elements")
        sizes[place] = total // rest
    target = tuple(sizes) if plain and min(sizes, default=0) >= 0 else shape_of(sizes)
    if math.prod(target) != total:
        raise ValueError(
            f"an array of shape {own} has {total} elements, shape {target} has {math.prod(target)}"
        )
    return target


def squeeze(x: Array, /, axis: Axes) -> Array:
    """Remove axes of length 1."""
    x = array_of(x, "squeeze")
    gone = set(axes_of(axis, x.ndim))
    for one in sorted(gone):
        if x.shape[one] != 1:
            raise ValueError(
                f"squeeze removes axes of length 1, but axis {one} of an array of shape {x.shape} "
                f"has length {x.shape[one]}"
            )
    return permuted(x, [one for one in range(x.ndim) if one not in gone])
