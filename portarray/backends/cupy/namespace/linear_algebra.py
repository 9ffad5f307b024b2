"""Products of matrices and vectors."""

from __future__ import annotations

import math
from collections.abc import Sequence

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace.manipulation import broadcast_arrays, together

__all__ = ["matmul", "matrix_transpose", "tensordot", "vecdot"]


def matmul(x1: ndarray, x2: ndarray, /) -> ndarray:
    """Return the matrix product, of stacks too; 1-d arrays are a row and a column."""
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul takes no 0-d array; multiply does")
    return cupy.matmul(x1, x2)


def matrix_transpose(x: ndarray, /) -> ndarray:
    """Return a view with the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose needs at least 2 axes, got {x.ndim}")
    return cupy.swapaxes(x, -1, -2)


def tensordot(
    x1: ndarray,
    x2: ndarray,
    /,
    *,
    axes: int | tuple[Sequence[int], Sequence[int]] = 2,
) -> ndarray:
    """Return sums of products over the axes named in both arrays."""
    x1, x2 = together([x1, x2])
    if isinstance(axes, int):
        first = list(range(x1.ndim - axes, x1.ndim))
        second = list(range(axes))
    else:
        first = [axis % x1.ndim for axis in axes[0]]
        second = [axis % x2.ndim for axis in axes[1]]
    sizes1 = [x1.shape[axis] for axis in first]
    sizes2 = [x2.shape[axis] for axis in second]
    if sizes1 != sizes2:
        raise ValueError(f"tensordot's axes have sizes {sizes1} and {sizes2}, which differ")
    free1 = [axis for axis in range(x1.ndim) if axis not in first]
    free2 = [axis for axis in range(x2.ndim) if axis not in second]
    shape1 = tuple(x1.shape[axis] for axis in free1)
    shape2 = tuple(x2.shape[axis] for axis in free2)
    summed = math.prod(sizes1)
    rows = x1.transpose(free1 + first).reshape(math.prod(shape1), summed)
    columns = x2.transpose(second + free2).reshape(summed, math.prod(shape2))
    return cupy.matmul(rows, columns).reshape(shape1 + shape2)


def vecdot(x1: ndarray, x2: ndarray, /, *, axis: int = -1) -> ndarray:
    """Return sums of ``conj(x1) * x2`` along an axis; other axes broadcast."""
    x1, x2 = together([x1, x2])
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot's axis {axis} has sizes {x1.shape[axis]} and {x2.shape[axis]}, which differ"
        )
    x1, x2 = broadcast_arrays(cupy.moveaxis(x1, axis, -1), cupy.moveaxis(x2, axis, -1))
    if x1.dtype.kind == "c":
        x1 = x1.conj()
    return cupy.matmul(x1[..., None, :], x2[..., :, None])[..., 0, 0]
