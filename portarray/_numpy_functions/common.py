"""What several chapters share: operands, axes, default dtypes."""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

import portarray as pa
from portarray._array import operands

__all__ = [
    "as_float",
    "axes_of",
    "beside",
    "cast",
    "first_array",
    "flat",
    "index_array",
    "is_float",
    "joined",
    "last_axis",
    "spread",
]


def beside(value: Any, x: Any, name: str = "numpy's function") -> Any:
    """Return an operand as an array: a scalar becomes one on x's device, of their dtype."""
    if type(value) is pa.Array:
        return value
    if operands.scalar(value) is NotImplemented or type(x) is not pa.Array:
        raise operands.refused(value if type(x) is pa.Array else x, name)
    return pa.asarray(value, dtype=pa.result_type(x, operands.scalar(value)), device=x.device)


def first_array(arrays: Iterable[Any], name: str) -> Any:
    """Return the first portarray array among operands."""
    other = None
    for x in arrays:
        if type(x) is pa.Array:
            return x
        other = x
    raise operands.refused(other, name)


def index_array(indices: Any, x: Any) -> Any:
    """Return indices as an array; lists and NumPy arrays of integers are indices here too."""
    if type(indices) is pa.Array:
        return indices
    values = np.asarray(indices)
    if values.dtype.kind not in "iu":
        raise IndexError(f"indices are integers, not {values.dtype}")
    info = pa.__array_namespace_info__()
    return pa.asarray(
        values, dtype=info.default_dtypes(device=x.device)["indexing"], device=x.device
    )


def cast(x: Any, dtype: Any) -> Any:
    """Return an array in a dtype; None leaves it as it is."""
    return x if dtype is None else x.astype(dtype, copy=False)


def is_float(x: Any) -> bool:
    """Tell whether an array has floating-point numbers, real or complex."""
    return bool(pa.isdtype(x.dtype, ("real floating", "complex floating")))


def as_float(x: Any) -> Any:
    """Return an array whose dtype is floating, as NumPy's functions of real numbers compute."""
    return x if is_float(x) else x * 1.0 if x.dtype != pa.bool else pa.where(x, 1.0, 0.0)


def flat(x: Any) -> Any:
    """Return the elements in one axis."""
    return pa.reshape(x, (-1,))


def joined(arrays: Sequence[Any], axis: int | None = 0) -> Any:
    """Concatenate arrays."""
    return pa.concat(list(arrays), axis=axis)


def axes_of(x: Any, axis: Any) -> tuple[int, ...]:
    """Return axes as a tuple of numbers that are not negative; None means all."""
    if axis is None:
        return tuple(range(x.ndim))
    axes = tuple(axis) if isinstance(axis, (tuple, list)) else (axis,)
    found = []
    for one in map(operator.index, axes):
        if not -x.ndim <= one < x.ndim:
            raise np.exceptions.AxisError(one, x.ndim)
        found.append(one % x.ndim)
    return tuple(found)


def last_axis(x: Any, axis: Any) -> tuple[Any, tuple[int, ...]]:
    """Return an array with the axes of a reduction as one, the last; and their numbers."""
    axes = axes_of(x, axis)
    rest = tuple(i for i in range(x.ndim) if i not in axes)
    moved = pa.permute_dims(x, (*rest, *axes))
    size = 1
    for i in axes:
        size *= x.shape[i]
    return pa.reshape(moved, (*(x.shape[i] for i in rest), size)), axes


def spread(x: Any, axes: Sequence[int]) -> Any:
    """Put axes of length one back, for ``keepdims=True``."""
    for axis in sorted(axes):
        x = pa.expand_dims(x, axis=axis)
    return x
