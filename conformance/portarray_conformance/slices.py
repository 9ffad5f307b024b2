"""References for functions that work along axes, computed slice by slice."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import numpy as np

from portarray_conformance.promotion import SIGNED, UNSIGNED
from portarray_conformance.target import NumpyArray, Target

Axis: TypeAlias = int | tuple[int, ...] | None


def reduced_axes(axis: Axis, ndim: int) -> tuple[int, ...]:
    """Return the axes that a reduction removes, counted from the front."""
    if axis is None:
        return tuple(range(ndim))
    listed = (axis,) if isinstance(axis, int) else axis
    return tuple(sorted(a % ndim for a in listed))


def along(
    x: NumpyArray, axis: Axis, function: Callable[[NumpyArray], Any], *, keepdims: bool = False
) -> NumpyArray:
    """Return a reduction of x: the function of each slice along the axes, in row-major order."""
    gone = reduced_axes(axis, x.ndim)
    remaining = tuple(a for a in range(x.ndim) if a not in gone)
    lengths = tuple(x.shape[a] for a in remaining)
    slices = x.transpose(remaining + gone).reshape(
        math.prod(lengths), math.prod(x.shape[a] for a in gone)
    )
    first = [function(part) for part in slices]
    out = np.empty(len(first), dtype=np.asarray(first[0]).dtype if first else x.dtype)
    for position, value in enumerate(first):
        out[position] = value
    shape = tuple(1 if a in gone else n for a, n in enumerate(x.shape)) if keepdims else lengths
    return out.reshape(shape)


def scan(x: NumpyArray, axis: int, step: Callable[[Any, Any], Any], start: Any) -> NumpyArray:
    """Return the running results along an axis, the start included as the first."""
    moved = np.moveaxis(x, axis, 0)
    out = np.empty((moved.shape[0] + 1, *moved.shape[1:]), dtype=x.dtype)
    out[0] = start
    for position in range(moved.shape[0]):
        out[position + 1] = step(out[position], moved[position])
    return np.moveaxis(out, 0, axis)


def accumulator(target: Target, name: str) -> str:
    """Return the dtype of a sum or product without a ``dtype`` keyword.

    Integers narrower than the default integer dtype are summed in it, unsigned ones in the
    unsigned dtype of as many bits.
    """
    default = target.default("integral")
    bits = int(default.removeprefix("int"))
    for family in (SIGNED, UNSIGNED):
        if name in family and int(name.lstrip("uint")) < bits:
            return family[SIGNED.index(default)]
    return name


def first_extreme(values: Sequence[Any], better: Callable[[Any, Any], bool]) -> int:
    """Return the index of the best value, the first of equal ones; the first NaN wins."""
    best = 0
    for index, value in enumerate(values):
        if value != value:
            return index
        if better(value, values[best]):
            best = index
    return best
