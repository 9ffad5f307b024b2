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
    """Return the product summed over axes; np.tensordot's ``np.dot`` skips products with zeros."""
    if isinstance(axes, int):
        axes = (range(x1.ndim - axes, x1.ndim), range(axes))
    summed1, summed2 = (
        [a % x.ndim for a in operand_axes] for operand_axes, x in zip(axes, (x1, x2), strict=True)
    )
    if [x1.shape[a] for a in summed1] != [x2.shape[a] for a in summed2]:
        raise ValueError("tensordot: the sizes of the summed axes differ")
    free1 = [a for a in range(x1.ndim) if a not in summed1]
    free2 = [a for a in range(x2.ndim) if a not in summed2]
    size = math.prod([x1.shape[a] for a in summed1])
    rows, columns = ([x.shape[a] for a in free] for x, free in ((x1, free1), (x2, free2)))
    matrix1 = x1.transpose(free1 + summed1).reshape(math.prod(rows), size)
    matrix2 = x2.transpose(summed2 + free2).reshape(size, math.prod(columns))
    return np.asarray(np.matmul(matrix1, matrix2)).reshape(rows + columns)
