"""Where in an array something is."""

from __future__ import annotations

from typing import Literal

import cupy
import numpy as np
from cupy import ndarray

from portarray.backends.cupy.namespace.scalars import Operand, dtype_of, fixed
from portarray.backends.cupy.namespace.statistical import Axes, places
from portarray.backends.types import Rows

PLAIN: Rows = {
    "argmax": {"iuf": ndarray.argmax},
    "argmin": {"iuf": ndarray.argmin},
}

argmax = cupy.argmax
argmin = cupy.argmin


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
    x2: Operand,
    /,
    *,
    side: Literal["left", "right"] = "left",
    sorter: ndarray | None = None,
) -> ndarray:
    """Return where elements would be inserted into a sorted array; NaN sorts last."""
    if side not in ("left", "right"):
        raise ValueError(f"searchsorted's side must be 'left' or 'right', got {side!r}")
    return cupy.searchsorted(x1, cupy.asarray(x2, x1.dtype), side, sorter)


def where(condition: ndarray, x1: Operand, x2: Operand, /) -> ndarray:
    """Choose from x1 where the condition is true, else from x2."""
    dtype = dtype_of(x1, x2)
    return cupy.where(condition, fixed(x1, dtype), fixed(x2, dtype))
