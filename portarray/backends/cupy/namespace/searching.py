"""Where in an array something is."""

from __future__ import annotations

from typing import Literal

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.cupy.namespace.promotion import Operand, Scalar, common, fixed, result_type
from portarray.backends.cupy.namespace.statistical import places

__all__ = ["argmax", "argmin", "count_nonzero", "nonzero", "searchsorted", "where"]

Axes = int | tuple[int, ...]


def argmax(x: ndarray, /, *, axis: int | None = None, keepdims: bool = False) -> ndarray:
    """Return the index of the first largest element; of the first NaN where there is one."""
    return x.argmax(axis, keepdims=keepdims)


def argmin(x: ndarray, /, *, axis: int | None = None, keepdims: bool = False) -> ndarray:
    """Return the index of the first smallest element; of the first NaN where there is one."""
    return x.argmin(axis, keepdims=keepdims)


def count_nonzero(x: ndarray, /, *, axis: Axes | None = None, keepdims: bool = False) -> ndarray:
    """Count the elements that are not 0."""
    reduced = places(x, axis)
    if not reduced:
        return (x != 0).astype(np.int64)
    counts = cupy.count_nonzero(x, reduced).astype(np.int64, copy=False)
    if keepdims:  # CuPy's own has no such option before version 14
        shape = [1 if place in reduced else size for place, size in enumerate(x.shape)]
        return counts.reshape(shape)
    return counts


def nonzero(x: ndarray, /) -> tuple[ndarray, ...]:
    """Return the indices of the elements that are not 0, an array for each axis."""
    if x.ndim == 0:
        raise ValueError("nonzero needs at least one axis; a 0-d array has no indices")
    return tuple(x.nonzero())


def searchsorted(
    x1: ndarray,
    x2: ndarray | Scalar,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: ndarray | None = None,
) -> ndarray:
    """Return where elements would be inserted into a sorted array; NaN sorts last."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted's side must be 'left' or 'right', got {side!r}")
    dtype = result_type(x1, x2)
    x1 = x1.astype(dtype, copy=False)
    x2 = x2.astype(dtype, copy=False) if isinstance(x2, ndarray) else cupy.asarray(x2, dtype)
    return cupy.searchsorted(x1, x2, side, sorter)


def where(condition: ndarray, x1: Operand, x2: Operand, /) -> ndarray:
    """Choose from x1 where the condition is true, else from x2."""
    if not isinstance(x1, ndarray) and not isinstance(x2, ndarray):
        x1 = cupy.asarray(x1, result_type(x1, x2))
    x1, x2, dtype = common(x1, x2)
    return cupy.where(condition, fixed(x1, dtype), fixed(x2, dtype))
