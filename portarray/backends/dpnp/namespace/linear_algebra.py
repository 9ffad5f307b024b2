"""Products of dpnp's arrays."""

from __future__ import annotations

from collections.abc import Sequence

import dpnp
from dpnp import ndarray

from portarray.backends.dpnp.namespace.promotion import pair

matrix_transpose = dpnp.matrix_transpose


def matmul(x1: ndarray, x2: ndarray, /) -> ndarray:
    """Multiply matrices, or stacks of them."""
    return dpnp.matmul(*pair(x1, x2))


def tensordot(
    x1: ndarray, x2: ndarray, /, *, axes: int | tuple[Sequence[int], Sequence[int]] = 2
) -> ndarray:
    """Return sums of products over the axes named in both arrays."""
    return dpnp.tensordot(*pair(x1, x2), axes=axes)


def vecdot(x1: ndarray, x2: ndarray, /, *, axis: int = -1) -> ndarray:
    """Return sums of ``conj(x1) * x2`` along an axis; other axes broadcast."""
    return dpnp.vecdot(*pair(x1, x2), axis=axis)
