"""Products of NumPy arrays."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def matrix_transpose(x: Array, /) -> Array:
    """Return a view with the last two axes exchanged."""
    return x.mT


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the inner product along an axis, of the first operand's conjugate."""
    # NumPy's stubs do not know axis here.
    return np.asarray(np.vecdot(x1, x2, axis=axis))  # type: ignore[call-overload]


def tensordot(x1: Array, x2: Array, /, *, axes: Any = 2) -> Array:
    """Return the product summed over axes; ``np.dot`` leaves out products with a single zero."""
    if isinstance(axes, int):
        axes = (range(x1.ndim - axes, x1.ndim), range(axes))
    first, second = ([a % x.ndim for a in one] for one, x in zip(axes, (x1, x2), strict=True))
    if [x1.shape[a] for a in first] != [x2.shape[a] for a in second]:
        raise ValueError("shape-mismatch for sum")
    before = [a for a in range(x1.ndim) if a not in first]
    after = [a for a in range(x2.ndim) if a not in second]
    size = math.prod([x1.shape[a] for a in first])
    rows, columns = ([x.shape[a] for a in kept] for x, kept in ((x1, before), (x2, after)))
    left = x1.transpose(before + first).reshape(math.prod(rows), size)
    right = x2.transpose(second + after).reshape(size, math.prod(columns))
    return np.asarray(np.matmul(left, right)).reshape(rows + columns)
