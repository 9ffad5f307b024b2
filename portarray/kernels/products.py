"""Products with weights."""

from __future__ import annotations

from typing import TYPE_CHECKING

from portarray._array.kernel import Kernel
from portarray.kernels import generic

if TYPE_CHECKING:
    from portarray._array.array import Array

__all__ = ["embedding", "linear", "matmul"]

_MATMUL = Kernel("matmul", generic.matmul)
_LINEAR = Kernel("linear", generic.linear)
_EMBEDDING = Kernel("embedding", generic.embedding, leads=1)


def matmul(x1: Array, x2: Array, /) -> Array:
    """Multiply matrices."""
    return _MATMUL(x1, x2)


def linear(x: Array, weight: Array, bias: Array | None = None, /) -> Array:
    """Return ``x @ weight.T + bias``."""
    return _LINEAR(x, weight, bias)


def embedding(indices: Array, weight: Array, /) -> Array:
    """Return the rows of a table at indices."""
    return _EMBEDDING(indices, weight)
