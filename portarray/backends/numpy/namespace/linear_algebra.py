"""Products of NumPy arrays."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray.backends.common.blocks import (
    FEW,
    FEW_TERMS,
    INNER_BYTES,
    blocked_inner,
    blocked_matmul,
)
from portarray.backends.numpy.namespace.statistical import accurate_sum

Array = np.ndarray[Any, Any]


def matrix_transpose(x: Array, /) -> Array:
    """Return a view with the last two axes exchanged."""
    return x.mT


def matmul(x1: Array, x2: Array, /) -> Array:
    """Return the matrix product; the sums of many terms are computed in blocks."""
    if x1.ndim == 0 or x1.shape[-1] <= FEW_TERMS or x1.dtype.kind in "biu" or x2.ndim == 0:
        product: Array = np.matmul(x1, x2)
        return product if product.__class__ is np.ndarray else np.asarray(product)
    if x1.ndim == 1 == x2.ndim and x1.shape == x2.shape:
        return np.asarray(_inner(np.vecdot if x1.dtype.kind == "f" else _dot, x1, x2))
    out: Array = blocked_matmul(np.matmul, _sum_of_blocks, np.moveaxis, x1, x2)
    return out


def _sum_of_blocks(x: Array) -> Array:
    return accurate_sum(x, 0, False)


def _dot(x1: Array, x2: Array) -> Any:
    """Return sums of products along the last axis."""
    return np.matmul(x1[..., None, :], x2[..., None])[..., 0, 0]


def vecdot(x1: Array, x2: Array, /, *, axis: int = -1) -> Array:
    """Return the inner product along an axis, of the first operand's conjugate."""
    if x1.shape[axis] <= FEW_TERMS or x1.dtype.kind in "biu" or x1.shape[axis] != x2.shape[axis]:
        # NumPy's stubs do not know axis here.
        return np.asarray(np.vecdot(x1, x2, axis=axis))  # type: ignore[call-overload]
    if x1.ndim == 1 == x2.ndim:
        return np.asarray(_inner(np.vecdot, x1, x2))
    return np.asarray(_inner(np.vecdot, np.moveaxis(x1, axis, -1), np.moveaxis(x2, axis, -1)))


def _inner(product: Callable[[Array, Array], Any], x1: Array, x2: Array) -> Any:
    """Return sums of products along the last axis, in blocks."""
    # BLAS has dozens of lanes for contiguous numbers, and one for others.
    is_contiguous = x1.strides[-1] == x1.itemsize and x2.strides[-1] == x2.itemsize
    lanes = INNER_BYTES // x1.itemsize if x1.dtype.kind == "f" else FEW_TERMS
    terms = lanes if is_contiguous else FEW
    return blocked_inner(product, lambda y: accurate_sum(y, -1, False), x1, x2, terms)


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
    return matmul(matrix1, matrix2).reshape(rows + columns)
