"""Searching functions on arrays."""

from __future__ import annotations

from typing import Literal

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.cupy.namespace.scalars import Operand, dtype_of, fixed
from portarray.backends.cupy.namespace.statistical import Axes, normalize_axes
from portarray.backends.types import Rows

DIRECT: Rows = {
    "argmax": {"iuf": ndarray.argmax},
    "argmin": {"iuf": ndarray.argmin},
}

argmax = cupy.argmax
argmin = cupy.argmin


def count_nonzero(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Count the elements that are not 0."""
    reduced = normalize_axes(x, axis)
    if not reduced:
        return (x != 0).astype(np.int64)
    counts = cupy.count_nonzero(x, reduced).astype(np.int64, copy=False)
    if keepdims:  # cupy.count_nonzero has this option since version 14
        shape = [1 if dim in reduced else size for dim, size in enumerate(x.shape)]
        return counts.reshape(shape)
    return counts


def nonzero(x: ndarray, /) -> tuple[ndarray, ...]:
    """Return the indices of the elements that are not 0, an array for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero: needs at least 1 axis, got a 0-d array")
    return tuple(x.nonzero())


def searchsorted(
    x1: ndarray,
    x2: Operand,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: ndarray | None = None,
) -> ndarray:
    """Return where elements would be inserted into a sorted array; NaN sorts last."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted: side must be 'left' or 'right', got {side!r}")
    return cupy.searchsorted(x1, cupy.asarray(x2, x1.dtype), side, sorter)


def where(condition: ndarray, x1: Operand, x2: Operand, /) -> ndarray:
    """Choose from x1 where the condition is true, else from x2."""
    dtype = dtype_of(x1, x2)
    return cupy.where(condition, fixed(x1, dtype), fixed(x2, dtype))
