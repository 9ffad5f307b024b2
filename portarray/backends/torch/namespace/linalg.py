"""The extension ``linalg`` on tensors."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal

import torch
from torch import Tensor

from portarray._config import config
from portarray._result_types import (
    EighResult,
    EigResult,
    QRResult,
    SlogdetResult,
    SVDResult,
)
from portarray.backends.common.blocks import FEW
from portarray.backends.composed.linalg import check_vectors
from portarray.backends.torch.gradients import with_tape
from portarray.backends.torch.namespace.statistical import is_out_of_range, unit_of
from portarray.backends.torch.namespace.statistical import sum as _sum
from portarray.backends.torch.namespace.unsigned import NAMES, modular, moving
from portarray.backends.torch.tracing import is_traced
from portarray.backends.types import Rows

Axes = int | tuple[int, ...]

_BLOCK_BYTES = 2048
"""Bytes of numbers whose powers PyTorch adds in a few lanes."""

# PyTorch has no types for these.
_broadcast_tensors: Callable[..., tuple[Tensor, Tensor]] = torch.broadcast_tensors
_cholesky: Callable[..., Tensor] = torch.linalg.cholesky
_cholesky_ex: Callable[..., tuple[Tensor, Tensor]] = torch.linalg.cholesky_ex
_cross: Callable[..., Tensor] = torch.linalg.cross
_inv: Callable[[Tensor], Tensor] = torch.linalg.inv
_matrix_power: Callable[[Tensor, int], Tensor] = torch.linalg.matrix_power
_matrix_norm: Callable[..., Tensor] = torch.linalg.matrix_norm
_pinv: Callable[..., Tensor] = torch.linalg.pinv
_inv_ex: Callable[[Tensor], tuple[Tensor, Tensor]] = torch.linalg.inv_ex
_solve: Callable[..., Tensor] = torch.linalg.solve
_solve_ex: Callable[..., tuple[Tensor, Tensor]] = torch.linalg.solve_ex
_vector_norm: Callable[..., Tensor] = torch.linalg.vector_norm

# PyTorch's gradient is 0 for singular matrices.
det: Callable[[Tensor], Tensor] = with_tape(torch.linalg.det)
eigvals: Callable[[Tensor], Tensor] = torch.linalg.eigvals
eigvalsh: Callable[[Tensor], Tensor] = torch.linalg.eigvalsh
svdvals: Callable[[Tensor], Tensor] = torch.linalg.svdvals


def cholesky(x: Tensor, /, *, upper: bool = False) -> Tensor:
    """Return the triangular factors of positive definite matrices."""
    # The _ex functions leave the error status on the device.
    return _cholesky(x, upper=upper) if config.check_linalg else _cholesky_ex(x, upper=upper)[0]


def cross(x1: Tensor, x2: Tensor, /, *, axis: int = -1) -> Tensor:
    """Return cross products of vectors of three along an axis; other axes broadcast."""
    check_vectors(x1, x2, axis)
    return _cross(*_broadcast_tensors(x1, x2), dim=axis)


def diagonal(x: Tensor, /, *, offset: int = 0) -> Tensor:
    """Return a view of the diagonals of matrices."""
    return torch.diagonal(x, offset=offset, dim1=-2, dim2=-1)


def eig(x: Tensor, /) -> EigResult[Tensor]:
    """Return eigenvalues and eigenvectors, always complex."""
    return EigResult(*torch.linalg.eig(x))


def eigh(x: Tensor, /) -> EighResult[Tensor]:
    """Return eigenvalues, ascending, and eigenvectors of Hermitian matrices."""
    return EighResult(*torch.linalg.eigh(x))


def inv(x: Tensor, /) -> Tensor:
    """Return inverses."""
    return _inv(x) if config.check_linalg else _inv_ex(x)[0]


def matrix_norm(
    x: Tensor, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> Tensor:
    """Return norms of matrices."""
    if 0 in x.shape and ord in (1, 2, math.inf):
        return torch.sum(torch.abs(x), (-2, -1), keepdim=keepdims)
    compared: dict[object, tuple[int, ...]] = {
        -1: x.shape[-1:],
        -2: x.shape[-2:],
        -math.inf: x.shape[-2:-1],
    }
    if 0 in compared.get(ord, ()):
        raise ValueError(
            f"matrix_norm: ord {ord} is undefined for an empty array of shape {tuple(x.shape)}"
        )
    if x.requires_grad and ord in ("fro", None):
        return _scaled_norm(x, (-2, -1), keepdims=keepdims, ord=2)
    if ord == "fro" or ord is None:
        return vector_norm(x, axis=(-2, -1), keepdims=keepdims)
    return _matrix_norm(x, ord, keepdim=keepdims)


def matrix_rank(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Count the singular values above ``rtol`` times the largest."""
    values = torch.linalg.svdvals(x)
    if rtol is None:
        rtol = max(x.shape[-2:]) * torch.finfo(x.dtype).eps
    if values.shape[-1] == 0:
        return torch.zeros(x.shape[:-2], dtype=torch.int64, device=x.device)
    least = torch.amax(values, -1) * rtol
    return torch.sum(values > least[..., None], -1, dtype=torch.int64)


def pinv(x: Tensor, /, *, rtol: float | Tensor | None = None) -> Tensor:
    """Return Moore-Penrose inverses, ignoring singular values up to ``rtol`` times the largest."""
    return _pinv(x, rtol=rtol)


def qr(x: Tensor, /, *, mode: Literal["reduced", "complete"] = "reduced") -> QRResult[Tensor]:
    """Return orthonormal and upper triangular factors."""
    return QRResult(*torch.linalg.qr(x, mode=mode))


def slogdet(x: Tensor, /) -> SlogdetResult[Tensor]:
    """Return sign and logarithm of the absolute value of determinants."""
    return SlogdetResult(*torch.linalg.slogdet(x))


def solve(x1: Tensor, x2: Tensor, /) -> Tensor:
    """Solve ``x1 @ x = x2``: one right side for 1-d x2, else matrices of columns."""
    if x2.ndim != 1 and x2.ndim == x1.ndim - 1 and x1.shape[:-1] == x2.shape:
        # PyTorch would treat x2 as a stack of vectors.
        x2 = x2[None]
    return _solve(x1, x2) if config.check_linalg else _solve_ex(x1, x2)[0]


def svd(x: Tensor, /, *, full_matrices: bool = True) -> SVDResult[Tensor]:
    """Return singular vectors and singular values, descending."""
    return SVDResult(*torch.linalg.svd(x, full_matrices=full_matrices))


def trace(x: Tensor, /, *, offset: int = 0, dtype: torch.dtype | None = None) -> Tensor:
    """Return the sums of diagonals; integers widen."""
    return _sum(diagonal(x, offset=offset), axis=-1, dtype=dtype)


def vector_norm(
    x: Tensor, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2
) -> Tensor:
    """Return norms over axes, over all for None."""
    if axis == () or x.ndim == 0:
        # Norms of one number, except the 0th, are its absolute value. For PyTorch () means all
        # axes.
        size = torch.abs(x)
        return (size != 0).to(size.dtype) if ord == 0 else size
    if 0 in x.shape and (ord == math.inf or -math.inf < ord < 0):
        # Norms of no elements are 0; a negative power of 0 is infinite. PyTorch refuses both.
        least = 0 if ord > 0 else math.inf
        return torch.sum(torch.abs(x), axis, keepdim=keepdims) + least
    if x.requires_grad and ord not in (0, 1, math.inf, -math.inf):
        return _scaled_norm(x, axis, keepdims=keepdims, ord=ord)
    if ord < 1 or ord == math.inf:
        return _vector_norm(x, ord=ord, dim=axis, keepdim=keepdims)
    if x.dtype.itemsize == 2:
        wide = vector_norm(x.float(), axis=axis, keepdims=keepdims, ord=ord)
        return wide.to(x.dtype)

    if not x.is_cpu or is_traced(x) or torch.compiler.is_compiling():  # values are unknown
        if ord == 1 or not x.numel():
            return _vector_norm(x, ord=ord, dim=axis, keepdim=keepdims)
        return _scaled_norm(x, axis, keepdims=keepdims, ord=ord)
    is_flat = (axis is None or x.ndim == 1) and not keepdims and x.is_contiguous()
    if x.numel() <= (2 * _BLOCK_BYTES // x.dtype.itemsize if is_flat else FEW):
        norm = _vector_norm(x, ord=ord, dim=axis, keepdim=keepdims)
    else:  # PyTorch adds the powers one after another
        terms = _norms_of_blocks(x.view(-1), ord) if is_flat else x
        size = torch.abs(terms) if terms.is_complex() or ord != 2 else terms
        powers = size * size if ord == 2 else torch.pow(size, ord)
        norm = torch.pow(torch.sum(powers, None if is_flat else axis, keepdim=keepdims), 1 / ord)
    if ord == 1 or not x.numel() or not is_out_of_range(norm, ord):
        return norm
    return _scaled_norm(x, axis, keepdims=keepdims, ord=ord)


def _norms_of_blocks(x: Tensor, ord: float) -> Tensor:
    """Return norms of blocks of a contiguous vector."""
    terms = _BLOCK_BYTES // x.dtype.itemsize
    blocks, remainder = divmod(x.shape[0], terms)
    if not remainder:
        return _vector_norm(x.view(blocks, terms), ord=ord, dim=1)
    whole = blocks * terms
    norms = _vector_norm(x[:whole].view(blocks, terms), ord=ord, dim=1)
    return torch.cat((norms, _vector_norm(x[whole:], ord=ord)[None]))


def _scaled_norm(x: Tensor, axis: Axes | None, *, keepdims: bool, ord: float) -> Tensor:
    """Return norms and their gradients where squares or powers of elements over- or underflow.

    The elements are divided by a power of two near the largest, which is exact.
    """
    if not x.numel():
        return _vector_norm(x, ord=ord, dim=axis, keepdim=keepdims)
    axes = tuple(range(x.ndim)) if axis is None else axis
    unit = unit_of(x, axes)
    # Complex infinity divided by 1 is NaN.
    size = x.abs() if x.is_complex() else x
    norm = _vector_norm(size / unit, ord=ord, dim=axis, keepdim=True) * unit
    return norm if keepdims else norm.squeeze(axes)


BY_DTYPE: Rows = {
    "cross": {NAMES: modular(cross)},
    "matrix_power": {"iufc": _matrix_power, NAMES: moving(_matrix_power)},
    "outer": {"iufc": torch.outer, NAMES: modular(torch.outer)},
}
