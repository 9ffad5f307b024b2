"""Which memory arrays cover: what orders tasks that read and write."""

from __future__ import annotations

import math
from collections.abc import Hashable
from typing import Any, NamedTuple

from portarray._array import base, native_arrays, results
from portarray._devices.device import Device
from portarray._movement import array_moves
from portarray.backends import registry

__all__ = [
    "Extent",
    "assign",
    "blank",
    "evaluate",
    "extent_of",
    "is_immutable",
    "is_native",
    "meet",
    "moved",
    "place_of",
]


class Extent(NamedTuple):
    """The bytes that an array covers: those from ``begin`` to ``end`` if it is ``dense``.

    ``steps`` are the strides in bytes, without signs, and the lengths of the axes that are longer
    than one; ``item`` bytes lie together. It is hashable: equal arrays have equal extents.
    """

    memory: Hashable
    start: int
    end: int
    steps: tuple[tuple[int, int], ...]
    item: int
    dense: bool


def place_of(x: Any) -> Device | None:
    """Return the device of an array, portarray's or a native one; None for all else."""
    if type(x) is base.array_type:
        return x._dispatch.device._home
    return native_arrays.device_of(x)


def extent_of(x: Any) -> Extent | None:
    """Return what an array covers; None where it has no elements.

    Arrays without memory that changes are their own extent: an ``Array`` is another after each
    assignment, so that it counts by its identity.
    """
    if type(x) is base.array_type:
        native, backend = x._native, x._dispatch.device._backend
        itemsize = x._dispatch.dtype.itemsize
    else:
        owner = registry.owner(x)
        assert owner is not None  # asked before
        native, backend = x, owner
        itemsize = 0
    memory_extent = backend.extent(native)
    if memory_extent is None:
        return Extent(("array", id(x)), 0, 1, (), 1, True)
    shape = native.shape
    size = math.prod(shape)
    if not size:
        return None
    memory, start, strides = memory_extent
    if start < 0:
        return Extent(memory, 0, 1 << 64, (), 1 << 64, False)
    if not itemsize:
        itemsize = native.dtype.itemsize
    nbytes = size * itemsize
    if strides is None:
        return Extent(memory, start, start + nbytes, (), nbytes, True)
    span = itemsize
    steps = []
    for stride, length in zip(strides, shape, strict=True):
        if length > 1 and stride:
            if stride < 0:
                start += stride * (length - 1)
                stride = -stride
            span += stride * (length - 1)
            steps.append((stride, length))
    if span == nbytes and _is_packed(steps, itemsize):
        return Extent(memory, start, start + span, (), nbytes, True)
    return Extent(memory, start, start + span, tuple(steps), itemsize, False)


def _is_packed(steps: list[tuple[int, int]], itemsize: int) -> bool:
    """Return whether elements lie next to each other, in any order of the axes."""
    for stride, length in sorted(steps):
        if stride != itemsize:
            return False
        itemsize *= length
    return True


def meet(first: Extent, second: Extent) -> bool:
    """Return whether two extents of one memory may share elements.

    They do not if their addresses modulo some stride are in two disjoint ranges. This separates
    columns, tiles of matrices, and odd from even elements.
    """
    if first.end <= second.start or second.end <= first.start:
        return False
    if first.dense and second.dense:
        return True
    for modulus in {stride for stride, _ in (*first.steps, *second.steps)}:
        apart = (second.start - first.start) % modulus
        if _width(first, modulus) <= apart <= modulus - _width(second, modulus):
            return False
    return True


def _width(extent: Extent, modulus: int) -> int:
    """Return the length of the range that holds an extent's addresses modulo a number."""
    width = extent.item
    for stride, length in extent.steps:
        if stride % modulus:
            width += stride * (length - 1)
    return width


def moved(x: Any, device: Device, *, copy: bool) -> Any:
    """Return an array on another device, native where it is native; shared unless ``copy``."""
    if type(x) is base.array_type:
        return array_moves.moved(x, device, copy=copy or None)
    here = native_arrays.device_of(x)
    assert here is not None  # asked before
    there = array_moves.moved(
        native_arrays.from_native(x, here, copy=None), device, copy=copy or None
    )
    return there._native


def blank(x: Any, device: Device) -> Any:
    """Return an array like another on a device, whose values are not set."""
    if type(x) is base.array_type:
        return base.NAMESPACE[0].empty(x.shape, dtype=x.dtype, device=device)
    here = native_arrays.device_of(x)
    assert here is not None  # asked before
    like = native_arrays.from_native(x, here, copy=None)
    return base.NAMESPACE[0].empty(like.shape, dtype=like.dtype, device=device)._native


def assign(x: Any, value: Any) -> None:
    """Write the values of an array on any device into another."""
    if type(x) is not base.array_type:
        here = native_arrays.device_of(x)
        assert here is not None  # asked before
        x = native_arrays.from_native(x, here, copy=None)
    if type(value) is not base.array_type:
        owner = native_arrays.device_of(value)
        assert owner is not None
        value = results.wrap(value, owner)
    x[...] = array_moves.moved(value, x.device, copy=None)


def is_native(x: Any) -> bool:
    """Return whether an array is not portarray's."""
    return type(x) is not base.array_type


def is_immutable(device: Device) -> bool:
    """Return whether a device's native arrays never change."""
    return device._backend.immutable


def evaluate(x: Any) -> None:
    """Compute the late values of an array, or of those of a container, in this thread."""
    if isinstance(x, dict):
        evaluate(list(x.values()))
    elif isinstance(x, (list, tuple)):
        for item in x:
            evaluate(item)
    elif type(x) is base.array_type:
        x._dispatch.device._backend.evaluate(x._native)
