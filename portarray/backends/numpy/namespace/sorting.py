"""Sorting NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.backends.numpy.namespace.manipulation import flip

Array = np.ndarray[Any, Any]


def argsort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the indices that sort an array along an axis."""
    if not descending:
        return np.argsort(x, axis=axis, stable=stable or None)
    # Reversed before and after, so that equal elements keep their order.
    indices = np.argsort(flip(x, axis=axis), axis=axis, stable=stable or None)
    result: Array = x.shape[axis] - 1 - flip(indices, axis=axis)
    return result


def sort(x: Array, /, *, axis: int = -1, descending: bool = False, stable: bool = True) -> Array:
    """Return the elements in order along an axis."""
    result = np.sort(x, axis=axis, stable=stable or None)
    return flip(result, axis=axis) if descending else result
