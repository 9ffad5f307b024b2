"""Products of matrices and vectors.

PyTorch multiplies matrices of integers only on the CPU, and of uint16, uint32 and uint64 nowhere:
sums of products are the same on the bits of unsigned integers.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from portarray.backends.common.blocks import (
    FEW_TERMS,
    INNER_BYTES,
    blocked_inner,
    blocked_matmul,
)
from portarray.backends.composed.linear_algebra import as_matrices, restore_vectors
from portarray.backends.torch.namespace.unsigned import NAMES, modular
from portarray.backends.types import Rows

# PyTorch has no types for these.
_broadcast_shapes: Callable[..., tuple[int, ...]] = torch.broadcast_shapes
_broadcast_tensors: Callable[..., tuple[Tensor, Tensor]] = torch.broadcast_tensors


def matmul(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Return the matrix product; on CPUs the sums of many terms are computed in blocks."""
    if x1.ndim == 0 or x1.size(-1) <= FEW_TERMS or x2.ndim == 0 or not x1.is_cpu:
        return torch.matmul(x1, x2)
    if x1.ndim == 1 == x2.ndim and x1.shape == x2.shape:
        return _inner(x1, x2)
    out: Tensor = blocked_matmul(torch.matmul, _sum_of_blocks, torch.moveaxis, x1, x2)
    return out


def _sum_of_blocks(x: Tensor) -> Tensor:
    return torch.sum(x, 0)


def _inner(x1: Tensor, x2: Tensor) -> Tensor:
    """Return sums of products along the last axis; BLAS adds one after another in each lane."""
    if x1.dtype.itemsize == 2:
        return torch.sum(x1.float() * x2.float(), -1).to(x1.dtype)
    if x1.stride(-1) == 1 == x2.stride(-1) and x1.dtype is x2.dtype and not x1.is_complex():
        terms = INNER_BYTES // x1.dtype.itemsize
        if x1.ndim == 1 == x2.ndim and x1.shape[0] <= terms:
            return torch.dot(x1, x2)
        try:  # in one pass over memory
            arrays = x1.numpy(), x2.numpy()
        except (RuntimeError, TypeError):
            return torch.sum(x1 * x2, -1)  # PyTorch's transformations follow the tensors
        with np.errstate(all="ignore"):
            out: Tensor = blocked_inner(_vecdot, _last_sum, *arrays, terms)
        return out
    return torch.sum(x1 * x2, -1)


def _vecdot(x1: Any, x2: Any) -> Tensor:
    """Return inner products of NumPy arrays along the last axis."""
    return torch.from_numpy(np.asarray(np.vecdot(x1, x2)))


def _last_sum(x: Tensor) -> Tensor:
    return torch.sum(x, -1)


def _integer_matmul(x1: Tensor, x2: Tensor) -> Tensor:
    if x1.device.type == "cpu":
        return torch.matmul(x1, x2)
    return _sum_of_outer_products(x1, x2)


def _sum_of_outer_products(x1: Tensor, x2: Tensor) -> Tensor:
    """Multiply matrices one column and row at a time, needing memory only for the result."""
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul: 0-d tensors are not matrices\nHint: call multiply")
    rows, columns = as_matrices(x1, x2)
    stack = _broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    out = rows.new_zeros((*stack, rows.shape[-2], columns.shape[-1]))
    for k in range(rows.shape[-1]):
        out += rows[..., :, k, None] * columns[..., None, k, :]
    return restore_vectors(out, x1, x2)  # type: ignore[no-any-return]


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return a view with the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose: needs at least 2 axes, got {x.ndim}")
    return x.mT


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return sums of ``conj(x1) * x2`` along an axis; other axes broadcast."""
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot: axis {axis} has different sizes {x1.shape[axis]} and {x2.shape[axis]}"
        )
    if x1.dtype.is_complex:
        x1 = torch.conj_physical(x1)
    inexact = x1.dtype.is_floating_point or x1.dtype.is_complex
    if inexact and x1.device.type == "cpu" and x1.shape[axis] > FEW_TERMS:
        if x1.ndim == 1 == x2.ndim:
            return _inner(x1, x2)
        return _inner(torch.movedim(x1, axis, -1), torch.movedim(x2, axis, -1))
    multiply = torch.matmul if inexact else _integer_matmul
    if x1.ndim == 1 == x2.ndim:
        return multiply(x1, x2)
    x1, x2 = _broadcast_tensors(torch.movedim(x1, axis, -1), torch.movedim(x2, axis, -1))
    return multiply(x1[..., None, :], x2[..., :, None])[..., 0, 0]


BY_DTYPE: Rows = {
    "matmul": {"iu": _integer_matmul, NAMES: modular(_integer_matmul)},
    "vecdot": {NAMES: modular(vecdot)},
}
