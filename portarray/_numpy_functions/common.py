"""Helpers for operands, axes and default dtypes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from portarray._array import conversion, operands
from portarray._namespace import pa

__all__ = [
    "as_float",
    "axes_of",
    "as_array",
    "as_arrays",
    "cast",
    "first_array",
    "flat",
    "index_array",
    "is_float",
    "joined",
    "last_axis",
    "sums_at",
    "with_axes",
]


def as_array(value: Any, x: Any, name: str = "numpy's function") -> Any:
    """Return an operand as an array on x's device; a scalar has their result dtype."""
    if type(value) is pa.Array:
        return value
    if type(x) is not pa.Array:
        raise operands.refused(x, name)
    value = conversion.beside(value, x, name)
    if type(value) is pa.Array:
        return value
    if operands.scalar(value) is NotImplemented:
        raise operands.refused(value, name)
    return pa.asarray(value, dtype=pa.result_type(x, operands.scalar(value)), device=x.device)


def as_arrays(*values: Any, name: str = "numpy's function") -> list[Any]:
    """Return operands, one of them an array, as arrays."""
    first = first_array(values, name)
    return [as_array(x, first, name) for x in values]


def first_array(arrays: Iterable[Any], name: str) -> Any:
    """Return the first portarray array among operands."""
    last = None
    for x in arrays:
        if type(x) is pa.Array:
            return x
        last = x
    raise operands.refused(last, name)


def index_array(indices: Any, x: Any) -> Any:
    """Return indices as an array; lists and NumPy arrays of integers are accepted."""
    if type(indices) is pa.Array:
        return indices
    values = np.asarray(indices)
    if values.dtype.kind not in "iu":
        raise IndexError(f"indices must be integers, not {values.dtype}")
    info = pa.__array_namespace_info__()
    return pa.asarray(
        values, dtype=info.default_dtypes(device=x.device)["indexing"], device=x.device
    )


def cast(x: Any, dtype: Any) -> Any:
    """Return an array in a dtype; None returns it unchanged."""
    return x if dtype is None else x.astype(dtype, copy=False)


def is_float(x: Any) -> bool:
    """Return whether an array is real or complex floating-point."""
    return bool(pa.isdtype(x.dtype, ("real floating", "complex floating")))


def as_float(x: Any) -> Any:
    """Convert integers and booleans to floating point, as NumPy does."""
    return x if is_float(x) else x * 1.0 if x.dtype != pa.bool else pa.where(x, 1.0, 0.0)


def flat(x: Any) -> Any:
    """Flatten an array."""
    return pa.reshape(x, (-1,))


def sums_at(positions: Any, weights: Any, length: int) -> Any:
    """Return the sum of the weights at each position from 0 to ``length - 1``."""
    start = pa.zeros((length,), dtype=weights.dtype, device=weights.device)
    # Without the check of names beyond the standard: NumPy's own function was called.
    return pa.scatter_add.__wrapped__(start, positions, weights)


def joined(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Concatenate arrays."""
    return pa.concat(list(arrays), axis=axis)


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """Return axes as a tuple of non-negative indices; None means all."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    normalized = []
    for index in map(operator.index, axes):
        if not -x.ndim <= index < x.ndim:
            raise np.exceptions.AxisError(index, x.ndim)
        normalized.append(index % x.ndim)
    return tuple(normalized)


def last_axis(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return an array with the reduced axes merged into the last, and the axes' indices."""
    axes = axes_of(x, axis)
    outer = tuple(i for i in range(x.ndim) if i not in axes)
    moved = pa.permute_dims(x, (*outer, *axes))
    size = 1
    for i in axes:
        size *= x.shape[i]
    return pa.reshape(moved, (*(x.shape[i] for i in outer), size)), axes


def with_axes(x: Any, axes: Sequence[int]) -> Any:
    """Insert axes of length 1, for ``keepdims=True``."""
    for axis in sorted(axes):
        x = pa.expand_dims(x, axis=axis)
    return x
