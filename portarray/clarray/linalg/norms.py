"""Norms of vectors and matrices."""

from __future__ import annotations

import math
from typing import Literal

from portarray.clarray import statistical
from portarray.clarray.arguments import Axes, array_of, axes_of
from portarray.clarray.arithmetic import abs as _abs
from portarray.clarray.comparison import not_equal
from portarray.clarray.dtypes import kind_of, real_dtype_of
from portarray.clarray.engine.copy import cast
from portarray.clarray.engine.parts import as_parts
from portarray.clarray.engine.reduction import Reduction, reduce
from portarray.clarray.exponential import pow as _pow
from portarray.clarray.layout import strides_of
from portarray.clarray.linalg.decompositions import svdvals
from portarray.clarray.linalg.lapack import matrices
from portarray.clarray.statistical.scaling import in_range
from portarray.clarray.strided import Array

_SUM = {"real": ("a + b", "0")}
_TWO = Reduction("vector_norm", _SUM, "result", "SQUARE(T_(v))", "sqrt(a)")
_ONE = Reduction("vector_norm", _SUM, "result", "fabs(T_(v))")


def vector_norm(
    x: Array, /, *, axis: Axes | None = None, keepdims: bool = False, ord: float = 2
) -> Array:
    """Return norms of vectors."""
    x = array_of(x, "vector_norm")
    if kind_of(x.dtype) not in ("real", "complex"):
        raise TypeError(
            f"vector_norm takes floating-point arrays, got dtype {x.dtype}\n"
            f"Hint: convert with astype"
        )
    axes = axes_of(axis, x.ndim)
    norm = _norm(x, axes, keepdims, ord)
    if not 1 < ord < math.inf:
        return norm
    return in_range(norm, lambda y: _norm(y, axes, True, ord), x, axes, keepdims, ord)


def _norm(x: Array, axes: tuple[int, ...], keepdims: bool, ord: float) -> Array:
    dtype = real_dtype_of(x.dtype)
    if ord == 2:
        return _euclidean(x, axes, keepdims)
    if ord == 0:
        count = statistical.sum(not_equal(x, 0), axis=axes, keepdims=keepdims)
        return cast(count, dtype)
    if ord == 1 and x.dtype.kind != "c":
        return reduce(_ONE, x, axes, keepdims, dtype)
    sizes = _abs(x)
    if ord == math.inf:
        if x.size == 0:  # of no elements it is 0
            return statistical.sum(sizes, axis=axes, keepdims=keepdims)
        return statistical.max(sizes, axis=axes, keepdims=keepdims)
    if ord == -math.inf:
        return statistical.min(sizes, axis=axes, keepdims=keepdims)
    if ord == 1:
        return statistical.sum(sizes, axis=axes, keepdims=keepdims, dtype=dtype)
    powers = _pow(sizes, float(ord))
    return _pow(statistical.sum(powers, axis=axes, keepdims=keepdims, dtype=dtype), 1 / ord)


def _euclidean(x: Array, axes: tuple[int, ...], keepdims: bool) -> Array:
    """Return square roots of sums of squares, of complex numbers' parts."""
    dtype = real_dtype_of(x.dtype)
    if x.dtype.kind != "c":
        return reduce(_TWO, x, axes, keepdims, dtype)
    squares = reduce(_TWO, as_parts(x), (*axes, x.ndim), keepdims, dtype)
    shape = squares.shape[:-1] if keepdims else squares.shape
    return squares.view(shape, strides_of(shape), squares.offset)


def matrix_norm(
    x: Array, /, *, keepdims: bool = False, ord: float | Literal["fro", "nuc"] | None = "fro"
) -> Array:
    """Return norms of matrices."""
    x = matrices(x, "matrix_norm")
    rows, columns = x.ndim - 2, x.ndim - 1
    if ord is None or ord == "fro":
        return vector_norm(x, axis=(rows, columns), keepdims=keepdims)
    dtype = real_dtype_of(x.dtype)
    if ord in (1, -1, math.inf, -math.inf):
        over = rows if ord in (1, -1) else columns
        sums = statistical.sum(_abs(x), axis=over, keepdims=True, dtype=dtype)
        if x.size == 0 and ord in (1, math.inf):
            return statistical.sum(sums, axis=(rows, columns), keepdims=keepdims)
        extreme = statistical.max if ord in (1, math.inf) else statistical.min
        return extreme(sums, axis=(rows, columns), keepdims=keepdims)
    values = svdvals(x)
    if ord == "nuc":
        norms = statistical.sum(values, axis=-1, dtype=dtype)
    elif ord == 2:
        largest = statistical.max if values.size else statistical.sum
        norms = largest(values, axis=-1)
    elif ord == -2:
        norms = statistical.min(values, axis=-1)
    else:
        raise ValueError(
            f"matrix_norm: ord is {ord!r}\nHint: use 'fro', 'nuc', 1, -1, 2, -2, inf or -inf"
        )
    shape = (*norms.shape, 1, 1) if keepdims else norms.shape
    return norms.view(shape, strides_of(shape), norms.offset)
