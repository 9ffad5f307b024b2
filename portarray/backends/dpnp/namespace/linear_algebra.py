"""Products of dpnp's arrays."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import dpnp
from dpnp import ndarray

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


matmul = _with_half(dpnp.matmul)
matrix_transpose = dpnp.matrix_transpose
tensordot = _with_half(dpnp.tensordot)
vecdot = _with_half(dpnp.vecdot)
