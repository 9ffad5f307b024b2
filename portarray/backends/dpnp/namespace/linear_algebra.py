"""Products of dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import dpnp
from dpnp import ndarray

Product = Callable[..., ndarray]


def _with_half(product: Product) -> Product:
    """Return a product that takes float16 arrays, for which oneMKL has no vectors."""

    @wraps(product)
    def with_half(x1: ndarray, x2: ndarray, /, **options: Any) -> ndarray:
        if x1.dtype != dpnp.float16:
            return product(x1, x2, **options)
        wide = product(x1.astype(dpnp.float32), x2.astype(dpnp.float32), **options)
        return wide.astype(dpnp.float16)

    return with_half


matmul = _with_half(dpnp.matmul)
matrix_transpose = dpnp.matrix_transpose
tensordot = _with_half(dpnp.tensordot)
vecdot = _with_half(dpnp.vecdot)
