"""Products of matrices and vectors."""

from __future__ import annotations

import cupy
from cupy import ndarray


def matmul(x1: ndarray, x2: ndarray, /) -> ndarray:
    """Return matrix products; a 1-d array is a row or a column."""
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul: 0-d arrays are not matrices\nHint: call multiply")
    return cupy.matmul(x1, x2)


def matrix_transpose(x: ndarray, /) -> ndarray:
    """Return a view with the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: needs at least 2 axes, got {x.ndim}")
    return cupy.swapaxes(x, -1, -2)
