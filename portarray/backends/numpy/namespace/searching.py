"""Searching NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def count_nonzero(
    x: Array, /, *, axis: int | tuple[int, ...] | None = None, keepdims: bool = False
) -> Array:
    """Count the elements that are not zero, as an array also where one count is all."""
    return np.asarray(np.count_nonzero(x, axis=axis, keepdims=keepdims))
