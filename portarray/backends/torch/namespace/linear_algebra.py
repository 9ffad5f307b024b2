"""Products of matrices and vectors.

PyTorch multiplies integers on the CPU only, and uint16, uint32 and uint64 nowhere: sums of products
are the same on the bits of unsigned integers.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from portarray.backends.torch.namespace.unsigned import NAMES, modular
from portarray.backends.types import Rows

matmul = torch.matmul

# PyTorch has no types for these.
_broadcast_shapes: Callable[..., tuple[int, ...]] = torch.broadcast_shapes
_broadcast_tensors: Callable[..., tuple[Tensor, Tensor]] = torch.broadcast_tensors


def _integer_matmul(x1: Tensor, x2: Tensor) -> Tensor:
    if x1.device.type == "cpu":
        return torch.matmul(x1, x2)
    return _sum_of_outer_products(x1, x2)


def _sum_of_outer_products(x1: Tensor, x2: Tensor) -> Tensor:
    """Multiply matrices one column and row at a time, with no more memory than the result's."""
    if x1.ndim == 0 or x2.ndim == 0:
        raise ValueError("matmul takes no 0-d tensor; multiply does")
    rows = x1[None] if x1.ndim == 1 else x1
    columns = x2[:, None] if x2.ndim == 1 else x2
    if rows.shape[-1] != columns.shape[-2]:
        raise ValueError(
            f"matmul of shapes {tuple(x1.shape)} and {tuple(x2.shape)}: "
            f"{rows.shape[-1]} columns meet {columns.shape[-2]} rows"
        )
    stack = _broadcast_shapes(rows.shape[:-2], columns.shape[:-2])
    out = rows.new_zeros((*stack, rows.shape[-2], columns.shape[-1]))
    for k in range(rows.shape[-1]):
        out += rows[..., :, k, None] * columns[..., None, k, :]
    if x2.ndim == 1:
        out = out.squeeze(-1)
    if x1.ndim == 1:
        out = out.squeeze(-1 if x2.ndim == 1 else -2)
    return out


def matrix_transpose(x: Tensor, /) -> Tensor:
    """Return a view with the last two axes exchanged."""
    if x.ndim < 2:
        raise ValueError(f"matrix_transpose needs at least 2 axes, got {x.ndim}")
    return x.mT


def vecdot(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return sums of ``conj(x1) * x2`` along an axis; other axes broadcast."""
    if x1.shape[axis] != x2.shape[axis]:
        raise ValueError(
            f"vecdot's axis {axis} has sizes {x1.shape[axis]} and {x2.shape[axis]}, which differ"
        )
    if x1.dtype.is_complex:
        x1 = torch.conj_physical(x1)
    inexact = x1.dtype.is_floating_point or x1.dtype.is_complex
    multiply = torch.matmul if inexact else _integer_matmul
    if x1.ndim == 1 == x2.ndim:
        return multiply(x1, x2)
    x1, x2 = _broadcast_tensors(torch.movedim(x1, axis, -1), torch.movedim(x2, axis, -1))
    return multiply(x1[..., None, :], x2[..., :, None])[..., 0, 0]


ROWS: Rows = {
    "matmul": {"iu": _integer_matmul, NAMES: modular(_integer_matmul)},
    "vecdot": {NAMES: modular(vecdot)},
}
