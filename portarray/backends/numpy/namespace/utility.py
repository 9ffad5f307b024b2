"""Testing NumPy arrays for truth, and their differences."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

Axis = int | tuple[int, ...] | None


def all(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Tell whether every value is true."""
    return np.logical_and.reduce(x, axis, np.dtype(bool), None, keepdims)  # type: ignore[no-any-return]


def any(x: Array, /, *, axis: Axis = None, keepdims: bool = False) -> Array:
    """Tell whether any value is true."""
    return np.logical_or.reduce(x, axis, np.dtype(bool), None, keepdims)  # type: ignore[no-any-return]


def diff(
    x: Array,
    /,
    *,
    axis: int = -1,
    n: int = 1,
    prepend: Array | None = None,
    append: Array | None = None,
) -> Array:
    """Return the differences of neighbours; NumPy would take None for an object to prepend."""
    ends = {"prepend": prepend, "append": append}
    given = {side: values for side, values in ends.items() if values is not None}
    return np.diff(x, n=n, axis=axis, **given)
