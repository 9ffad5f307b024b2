"""Index keys: their parts, resolved for one array."""

from __future__ import annotations

from dataclasses import replace
from operator import index as as_index
from typing import Any, TypeAlias

import numpy as np

from portarray.clarray.engine.compaction import compact
from portarray.clarray.engine.copy import copy
from portarray.clarray.engine.gather import Index, Places, combine, unravel
from portarray.clarray.engine.operands import one_device
from portarray.clarray.engine.overlap import overlap
from portarray.clarray.engine.transfer import from_numpy, to_numpy
from portarray.clarray.layout import broadcast_shapes, broadcast_strides, collapse
from portarray.clarray.strided import Array, empty

Shape: TypeAlias = tuple[int, ...]

_LONG = np.dtype(np.int64)
_is_basic = frozenset({int, slice, type(None), type(Ellipsis)}).issuperset


def basic(x: Array, key: Any) -> Array | None:
    """Return the view for a key of integers, slices, None and one Ellipsis; None for other keys.

    A fast path; errors and empty results are left to :class:`Key`.
    """
    parts = key if type(key) is tuple else (key,)
    if not _is_basic(map(type, parts)):
        return None
    sizes, steps, offset = x.shape, x.strides, x.offset
    ellipses = parts.count(Ellipsis)
    unindexed = len(sizes) - len(parts) + parts.count(None) + ellipses  # axes without a part
    if unindexed < 0 or ellipses > 1:
        return None
    shape: list[int] = []
    strides: list[int] = []
    axis = 0
    for part in parts:
        kind = type(part)
        if kind is slice:
            try:
                start, stop, step = part.indices(sizes[axis])
            except (TypeError, ValueError):
                return None
            size = stop - start if step == 1 else len(range(start, stop, step))
            if size <= 0:
                return None
            offset += start * steps[axis]
            shape.append(size)
            strides.append(step * steps[axis])
            axis += 1
        elif kind is int:
            size = sizes[axis]
            if not -size <= part < size:
                return None
            offset += (part if part >= 0 else part + size) * steps[axis]
            axis += 1
        elif part is None:
            shape.append(1)
            strides.append(0)
        else:
            shape += sizes[axis : axis + unindexed]
            strides += steps[axis : axis + unindexed]
            axis += unindexed
    if axis < len(sizes):
        shape += sizes[axis:]
        strides += steps[axis:]
    return None if 0 in shape else x.view(tuple(shape), tuple(strides), offset)


class Key:
    """A key resolved for one array.

    ``shape``, ``strides`` and ``offset`` are the view that its basic parts select, without the axes
    that index arrays select from (``indices``), whose axes are inserted at axis ``index_axis``.
    """

    __slots__ = ("index_axis", "indices", "offset", "shape", "strides")

    def __init__(self, x: Array, key: Any) -> None:
        parts = [_part(x, part) for part in (key if isinstance(key, tuple) else (key,))]
        parts = _expanded(parts, x.shape)
        fancy = any(isinstance(part, Array) for part in parts)
        self.offset = x.offset
        self.indices: list[Index] = []
        self.index_axis = 0
        shape: list[int] = []
        strides: list[int] = []
        axis = 0
        groups = 0  # of adjacent integers and arrays
        inside = False
        for part in parts:
            if part is None or part is Ellipsis or isinstance(part, slice):
                inside = False
                if part is Ellipsis:  # it separates groups even if it covers no axis
                    continue
                if part is None:
                    shape.append(1)
                    strides.append(0)
                    continue
                start, stop, step = part.indices(x.shape[axis])
                length = len(range(start, stop, step))
                if length:
                    self.offset += start * x.strides[axis]
                shape.append(length)
                strides.append(step * x.strides[axis])
                axis += 1
                continue
            if fancy and not inside:
                inside = True
                groups += 1
                self.index_axis = len(shape)
            if isinstance(part, int):
                self.offset += from_start(part, axis, x.shape) * x.strides[axis]
                axis += 1
            elif part.dtype.kind == "b":
                self.indices.append(_mask_index(x, part, axis))
                axis += part.ndim
            else:
                self.indices.append(Index(part, x.shape[axis], x.strides[axis], axis))
                axis += 1
        if groups > 1:
            self.index_axis = 0
        self.shape = tuple(shape)
        self.strides = tuple(strides)

    def places(self, x: Array, *, into: bool = False) -> Places:
        """Return the elements that a key with index arrays selects, to read or write ``into``."""
        shape = _broadcast_indices([entry.array.shape for entry in self.indices])
        if len(self.indices) == 1:
            index = self.indices[0]
            if into:
                index = replace(index, array=unaliased(index.array, x))
        else:
            index = combine(self.indices, shape, x.device)
        sizes, steps = self.shape, self.strides
        leading, trailing = sizes[: self.index_axis], sizes[self.index_axis :]
        return Places(
            leading + shape + trailing,
            self.offset,
            steps[: self.index_axis] + (0,) * len(shape) + steps[self.index_axis :],
            index,
            (0,) * len(leading)
            + broadcast_strides(index.array.shape, index.array.strides, shape)
            + (0,) * len(trailing),
        )


def _broadcast_indices(shapes: list[Shape]) -> Shape:
    """Return the shape that index arrays broadcast to, or raise an IndexError."""
    try:
        return broadcast_shapes(*shapes)
    except ValueError:
        raise IndexError(
            f"index arrays of shapes {', '.join(map(str, shapes))} cannot be broadcast together"
        ) from None


def _part(x: Array, part: Any) -> Any:
    """Return a part of a key as None, Ellipsis, a slice, an int, or an index array."""
    if part is None or part is Ellipsis or type(part) is int:
        return part
    if isinstance(part, slice):
        if part.step is not None and as_index(part.step) == 0:
            raise ValueError(f"indexing: the step of {part} is zero")
        return part
    if isinstance(part, (bool, np.bool_)):
        part = np.asarray(part)
    if isinstance(part, (Array, np.ndarray)):
        kind = part.dtype.kind
        if kind not in "biu":
            raise IndexError(
                f"arrays used as indices have an integer or boolean dtype, got {part.dtype}\n"
                f"Hint: convert with astype(index, int64)"
            )
        if kind != "b" and part.ndim == 0:
            return int(to_numpy(part) if isinstance(part, Array) else part)
        if isinstance(part, np.ndarray):
            return from_numpy(part, x.device)
        one_device("indexing", x, part)
        return part
    try:
        # Other libraries' arrays of one element have __index__ too.
        if getattr(part, "shape", ()) != () or "bool" in str(getattr(part, "dtype", "")):
            raise TypeError
        return as_index(part)
    except TypeError:
        kind = type(part)
        raise IndexError(
            f"{kind.__module__}.{kind.__qualname__} is not an index\n"
            f"Hint: use integers, slices, None, "
            f"Ellipsis, or integer or boolean arrays of clarray or NumPy"
        ) from None


def _expanded(parts: list[Any], shape: Shape) -> list[Any]:
    """Return a key's parts with a slice for each axis that it leaves out."""
    used = sum(
        part.ndim if isinstance(part, Array) and part.dtype.kind == "b" else 1
        for part in parts
        if part is not None and part is not Ellipsis
    )
    if used > len(shape):
        raise IndexError(
            f"too many indices: the array has {len(shape)} axes, and {used} were indexed"
        )
    missing = [slice(None)] * (len(shape) - used)
    where = [position for position, part in enumerate(parts) if part is Ellipsis]
    if len(where) > 1:
        raise IndexError("an index can have only one ellipsis ('...')")
    if not where:
        return parts + missing
    return parts[: where[0] + 1] + missing + parts[where[0] + 1 :]


def from_start(index: int, axis: int, shape: Shape) -> int:
    """Return an integer index, counted from the start, or raise an IndexError."""
    size = shape[axis]
    if not -size <= index < size:
        raise IndexError(f"index {index} is out of bounds for axis {axis} with size {size}")
    return index + size if index < 0 else index


def _mask_index(x: Array, mask: Array, axis: int) -> Index:
    """Return the index of the elements for which a mask over some axes is true."""
    covered = x.shape[axis : axis + mask.ndim]
    steps = x.strides[axis : axis + mask.ndim]
    if mask.shape != covered:
        # The standard allows a mask of size 0 along an axis; it selects nothing.
        if not all(length in (0, size) for length, size in zip(mask.shape, covered, strict=True)):
            wrong = next(k for k, n in enumerate(mask.shape) if n not in (0, covered[k]))
            raise IndexError(
                f"a boolean index of shape {mask.shape} does not fit the array: along axis "
                f"{axis + wrong} it has size {mask.shape[wrong]} and the array {covered[wrong]}"
            )
        return Index(empty((0,), _LONG, x.device), 0, 0, axis, checked=True)
    positions = compact(mask)
    sizes, (strides,) = collapse(covered, [steps])
    if len(sizes) > 1:
        unravel(positions, sizes, strides)
        strides = (1,)
    return Index(positions, 0, strides[0] if strides else 0, axis, checked=True)


def unaliased(index: Array, x: Array) -> Array:
    """Return an index array, copied if it overlaps the array that is written."""
    return copy(index) if overlap(index, x) else index


def full_mask(x: Array, key: Any) -> Array | None:
    """Return the mask of a key that is one mask of the array's shape; None for other keys."""
    if isinstance(key, tuple):
        if len(key) != 1:
            return None
        key = key[0]
    if isinstance(key, (Array, np.ndarray)) and key.dtype.kind == "b" and key.shape == x.shape:
        mask: Array = _part(x, key)
        return mask
    return None
