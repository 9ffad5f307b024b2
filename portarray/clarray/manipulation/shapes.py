"""Shapes; all functions but ``reshape`` always return views."""

from __future__ import annotations

import math
from collections.abc import Sequence

from portarray.clarray import layout
from portarray.clarray.arguments import Axes, ShapeLike, array_of, axes_of, integer_of, shape_of
from portarray.clarray.engine.copy import copy as _copy
from portarray.clarray.strided import Array, new_array, permuted

_are_int = frozenset({int}).issuperset


def broadcast_arrays(*arrays: Array) -> tuple[Array, ...]:
    """Broadcast arrays to a common shape."""
    for position, x in enumerate(arrays):
        array_of(x, "broadcast_arrays", f"argument {position}")
    shape = layout.broadcast_shapes(*[x.shape for x in arrays])
    return tuple(broadcast_to(x, shape) for x in arrays)


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """Return the shape that shapes broadcast to."""
    return layout.broadcast_shapes(*[shape_of(shape) for shape in shapes])


def broadcast_to(x: Array, /, shape: ShapeLike) -> Array:
    """Return a view of an array broadcast to a shape."""
    x = array_of(x, "broadcast_to")
    target = shape_of(shape)
    if target == x.shape:
        return x.view(x.shape, x.strides, x.offset)
    current = x.shape
    if not layout.broadcasts_to(current, target):
        raise ValueError(
            f"broadcast_to: shape {current} cannot be broadcast to {target}; aligned from the last "
            f"axis, sizes must be equal or 1"
        )
    return x.view(target, layout.broadcast_strides(current, x.strides, target), x.offset)


def expand_dims(x: Array, /, axis: Axes) -> Array:
    """Insert axes of length 1."""
    x = array_of(x, "expand_dims")
    added = len(axis) if isinstance(axis, Sequence) else 1
    places = set(axes_of(axis, x.ndim + added))
    existing = iter(zip(x.shape, x.strides, strict=True))
    pairs = [(1, 0) if position in places else next(existing) for position in range(x.ndim + added)]
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
                f"reshape: {x.shape} to {target} needs a copy, because of the strides {x.strides}\n"
                f"Hint: pass copy=None"
            )
        x = _copy(x)
        strides = layout.strides_of(target)
    return x.view(target, strides, x.offset)


def _inferred(shape: ShapeLike, current: tuple[int, ...]) -> tuple[int, ...]:
    """Return a shape with the inferred size in place of -1."""
    plain = isinstance(shape, tuple) and _are_int(map(type, shape))
    lengths = list(shape) if isinstance(shape, Sequence) else [shape]
    sizes = lengths if plain else [integer_of(length, "shape") for length in lengths]
    total = math.prod(current)
    if sizes.count(-1) == 1:
        position = sizes.index(-1)
        others = math.prod(sizes[:position] + sizes[position + 1 :])
        # Of an empty array any size would fit.
        if others <= 0 or total % others:
            raise ValueError(
                f"reshape: an array of shape {current} ({total} elements) does not fit {shape!r}"
            )
        sizes[position] = total // others
    target = tuple(sizes) if plain and min(sizes, default=0) >= 0 else shape_of(sizes)
    if math.prod(target) != total:
        raise ValueError(
            f"reshape: {current} has {total} elements, {target} has {math.prod(target)}"
        )
    return target


def squeeze(x: Array, /, axis: Axes) -> Array:
    """Remove axes of length 1."""
    x = array_of(x, "squeeze")
    gone = set(axes_of(axis, x.ndim))
    for removed in sorted(gone):
        if x.shape[removed] != 1:
            raise ValueError(
                f"squeeze: axis {removed} of shape {x.shape} has length {x.shape[removed]}, not 1"
            )
    return permuted(x, [removed for removed in range(x.ndim) if removed not in gone])
