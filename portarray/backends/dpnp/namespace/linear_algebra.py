"""Products of dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial, wraps
from typing import Any

import dpnp
from dpnp import ndarray

from portarray.backends.common.blocks import FEW_TERMS, blocked_matmul

Product = Callable[..., ndarray]


def _with_half(product: Product) -> Product:
    """Return a product that computes float16 in float32, as oneMKL does not vectorize float16.

    It copies broadcast operands, which oneMKL refuses.
    """

    @wraps(product)
    def with_half(x1: ndarray, x2: ndarray, /, **options: Any) -> ndarray:
        if 0 in x1.strides:
            x1 = dpnp.ascontiguousarray(x1)
        if 0 in x2.strides:
            x2 = dpnp.ascontiguousarray(x2)
        if x1.dtype != dpnp.float16:
            return product(x1, x2, **options)
        out = product(x1.astype(dpnp.float32), x2.astype(dpnp.float32), **options)
        return out.astype(dpnp.float16)

    return with_half


def _matmul(x1: ndarray, x2: ndarray, /) -> ndarray:
    if x1.ndim == 0 or x1.shape[-1] <= 4 * FEW_TERMS or x2.ndim == 0 or x1.dtype.kind in "biu":
        return dpnp.matmul(x1, x2)
    if x1.ndim == 1 == x2.ndim and x1.shape == x2.shape:
        return dpnp.sum(x1 * x2)
    return blocked_matmul(dpnp.matmul, partial(dpnp.sum, axis=0), dpnp.moveaxis, x1, x2)


def _vecdot(x1: ndarray, x2: ndarray, /, *, axis: int = -1) -> ndarray:
    if x1.shape[axis] <= FEW_TERMS or x1.dtype.kind in "biu" or x1.shape[axis] != x2.shape[axis]:
        return dpnp.vecdot(x1, x2, axis=axis)
    x1, x2 = dpnp.moveaxis(x1, axis, -1), dpnp.moveaxis(x2, axis, -1)
    return dpnp.sum((dpnp.conj(x1) if x1.dtype.kind == "c" else x1) * x2, axis=-1)


matmul = _with_half(_matmul)
matrix_transpose = dpnp.matrix_transpose
tensordot = _with_half(dpnp.tensordot)
vecdot = _with_half(_vecdot)
