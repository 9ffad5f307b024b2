"""Keys of ``x[key]``: checked, and turned into NumPy's."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np

from portarray_conformance.reference import kinds
from portarray_conformance.reference.array import Array
from portarray_conformance.reference.kinds import Data, DType


def normalized(x: Array, key: Any) -> tuple[Any, ...]:
    """Return a checked key for NumPy, with an ellipsis so that the result is an array."""
    shape = x.shape
    entries = key if isinstance(key, tuple) else (key,)
    try:
        parts = [_part(shape, part) for part in entries]
    except (TypeError, ValueError) as error:
        # The target may report an IndexError of the key instead.
        without_slices = tuple(slice(None) if isinstance(e, slice) else e for e in entries)
        try:
            normalized(x, without_slices)
        except IndexError:
            raise kinds.with_alternatives(error, IndexError) from None
        raise
    ellipses = sum(part is Ellipsis for part in parts)
    if ellipses > 1:
        raise IndexError("an index can have only one ellipsis ('...')")
    widths = [_width(part) for part in parts]
    used = sum(widths)
    if used > len(shape):
        raise IndexError(f"too many indices: {len(shape)} axes, and {used} were indexed")
    axis = 0
    for position, (part, width) in enumerate(zip(parts, widths, strict=True)):
        if part is Ellipsis:
            axis += len(shape) - used
            continue
        if isinstance(part, np.ndarray):
            parts[position] = _within(part, axis, shape)
        elif type(part) is int and not -shape[axis] <= part < shape[axis]:
            raise IndexError(f"index {part} is out of bounds for axis {axis} of {shape[axis]}")
        axis += width
    arrays = [part for part in parts if isinstance(part, np.ndarray)]
    if len(arrays) > 1:
        try:
            shapes = [p.shape if p.dtype.kind != "b" else (int(p.sum()),) for p in arrays]
            np.broadcast_shapes(*shapes)
        except ValueError as error:
            raise IndexError(f"index arrays do not broadcast: {error}") from None
    return tuple(parts) if ellipses else (*parts, Ellipsis)


def _part(shape: tuple[int, ...], part: Any) -> Any:
    if part is None or part is Ellipsis or type(part) is int:
        return part
    if isinstance(part, slice):
        beyond = max(shape, default=0) + 1
        start, stop, step = [
            value if value is None else max(-beyond, min(operator.index(value), beyond))
            for value in (part.start, part.stop, part.step)
        ]
        if step == 0:
            raise ValueError("slice step cannot be zero")
        return slice(start, stop, step)
    if type(part) is Array:
        if kinds.letter(part.dtype) not in "biu":
            raise IndexError(f"arrays used as indices must be integer or boolean: {part.dtype}")
        part._require_defined()
        return part._data
    if isinstance(part, (bool, np.bool_, list, np.ndarray)):
        index = np.asarray(part)
        if index.size == 0 and index.dtype.kind == "f":  # an empty list
            index = index.astype(np.int64)
        if index.dtype.kind not in "biu":
            raise IndexError(f"arrays used as indices must be integer or boolean: {index.dtype}")
        return index
    try:
        return operator.index(part)
    except TypeError:
        raise IndexError(f"{type(part).__name__} is not an index") from None


def _width(part: Any) -> int:
    if part is None or part is Ellipsis:
        return 0
    return part.ndim if isinstance(part, np.ndarray) and part.dtype.kind == "b" else 1


def _within(index: Data, axis: int, shape: tuple[int, ...]) -> Data:
    """Return a checked index array."""
    if index.dtype.kind == "b":
        covered = shape[axis : axis + index.ndim]
        if index.shape == covered:
            return index
        # The standard allows masks of size 0 along an axis; they select nothing.
        if all(n in (0, m) for n, m in zip(index.shape, covered, strict=True)):
            return np.zeros(covered, dtype=bool)
        raise IndexError(f"a boolean index of shape {index.shape} does not fit {covered}")
    return bounded(index, axis, shape[axis])


def bounded(index: Data, axis: int, length: int) -> Data:
    """Return integers that are in bounds for an axis."""
    if index.size:
        for value in (int(index.min()), int(index.max())):
            if not -length <= value < length:
                raise IndexError(f"index {value} is out of bounds for axis {axis} of {length}")
    return index.astype(np.intp)


def fill_value(value: Any, dtype: DType) -> Data:
    """Return a scalar that is assigned into an array of a dtype."""
    if type(value) is np.ndarray and value.ndim == 0:
        value = value[()]
    scalar = kinds.scalar(value)
    if scalar is None:
        raise kinds.not_array(value, "assignment")
    kind = kinds.letter(dtype)
    if isinstance(scalar, complex) and kind != "c":
        raise TypeError(f"a complex number cannot be assigned into a {dtype} array")
    if isinstance(scalar, float) and kind in "iu" and not math.isfinite(scalar):
        raise ValueError(f"{scalar!r} cannot be assigned into a {dtype} array")
    return kinds.rounded_number(scalar, dtype)


def repeated(shape: tuple[int, ...], key: tuple[Any, ...]) -> Data | None:
    """Return where an assignment writes more than once; the resulting value is undefined there."""
    if not any(isinstance(part, np.ndarray) and part.dtype.kind != "b" for part in key):
        return None
    written = np.arange(math.prod(shape)).reshape(shape)[key].ravel()
    counts = np.bincount(written, minlength=math.prod(shape))
    return (counts > 1).reshape(shape) if (counts > 1).any() else None
