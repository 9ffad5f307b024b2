"""Diagonals and triangles."""

from __future__ import annotations

import math
from typing import Any

from portarray.clarray.arguments import array_of, integer_of
from portarray.clarray.creation.filled import zeros
from portarray.clarray.engine.arrange import triangle
from portarray.clarray.engine.copy import copy, fill
from portarray.clarray.strided import Array


def eye(
    n_rows: int,
    n_cols: int | None = None,
    /,
    *,
    k: int = 0,
    dtype: Any = None,
    device: object = None,
) -> Array:
    """Return a matrix with ones on one diagonal and zeros elsewhere."""
    rows = integer_of(n_rows, "n_rows")
    columns = rows if n_cols is None else integer_of(n_cols, "n_cols")
    k = integer_of(k, "k")
    out = zeros((rows, columns), dtype=dtype, device=device)
    length = min(rows, columns - k) if k >= 0 else min(rows + k, columns)
    if length > 0:
        start = k if k >= 0 else -k * columns
        fill(out.view((length,), (columns + 1,), out.offset + start), 1)
    return out


def tril(x: Array, /, *, k: int = 0) -> Array:
    """Return the lower triangles of matrices, zero above them."""
    return _triangle(x, k, "tril")


def triu(x: Array, /, *, k: int = 0) -> Array:
    """Return the upper triangles of matrices, zero below them."""
    return _triangle(x, k, "triu")


def _triangle(x: Array, k: int, function: str) -> Array:
    x = array_of(x, function)
    k = integer_of(k, "k")
    if x.ndim < 2:
        raise ValueError(f"{function} got shape {x.shape}; it needs matrices, shape (..., M, N)")
    rows, columns = x.shape[-2:]
    # A kernel's argument has 64 bits; beyond these diagonals nothing changes.
    k = max(-rows - 1, min(k, columns + 1))
    if math.prod(x.shape) == 0:
        return copy(x)
    return triangle(x, k, upper=function == "triu")
