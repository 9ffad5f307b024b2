"""Linear algebra: products, norms, decompositions."""

from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

import portarray as pa
from portarray._numpy_functions.common import (
    as_float,
    axes_of,
    beside,
    flat,
    spread,
)
from portarray._numpy_functions.table import chapter

serves = chapter("Linear algebra")


# --- products ----------------------------------------------------------------------------------


@serves(order="a b out")
def dot(a: Any, b: Any) -> Any:
    array = a if type(a) is pa.Array else b
    x, y = beside(a, array, "dot"), beside(b, array, "dot")
    if not x.ndim or not y.ndim:
        return x * y
    if x.ndim <= 2 and y.ndim <= 2:
        return pa.matmul(x, y)
    return pa.tensordot(x, y, axes=((x.ndim - 1,), (max(0, y.ndim - 2),)))


@serves()
def vdot(a: Any, b: Any) -> Any:
    return pa.vecdot(flat(a), flat(b))


@serves()
def inner(a: Any, b: Any) -> Any:
    array = a if type(a) is pa.Array else b
    x, y = beside(a, array, "inner"), beside(b, array, "inner")
    if not x.ndim or not y.ndim:
        return x * y
    return pa.tensordot(x, y, axes=((x.ndim - 1,), (y.ndim - 1,)))


@serves(order="a b out")
def outer(a: Any, b: Any) -> Any:
    array = a if type(a) is pa.Array else b
    x, y = flat(beside(a, array, "outer")), flat(beside(b, array, "outer"))
    return x[:, None] * y[None, :]


@serves("linalg.outer")
def linalg_outer(x1: Any, x2: Any) -> Any:
    return pa.linalg.outer(x1, x2)


@serves("tensordot", order="a b axes")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if not isinstance(axes, int):
        first, second = (tuple(one) if np.ndim(one) else (one,) for one in axes)
        axes = axes_of(a, first), axes_of(b, second)
    return pa.tensordot(a, b, axes=axes)


@serves("linalg.tensordot")
def linalg_tensordot(x1: Any, x2: Any, axes: Any = 2) -> Any:
    return tensordot(x1, x2, axes)


@serves("linalg.matmul")
def matmul(x1: Any, x2: Any) -> Any:
    return pa.matmul(x1, x2)


@serves("linalg.vecdot")
def vecdot(x1: Any, x2: Any, axis: int = -1) -> Any:
    return pa.vecdot(x1, x2, axis=axis)


@serves("linalg.multi_dot", order="arrays")
def multi_dot(arrays: Any) -> Any:
    return functools.reduce(pa.matmul, arrays)


@serves("linalg.matrix_power")
def matrix_power(a: Any, n: int) -> Any:
    return pa.linalg.matrix_power(a, n)


@serves()
def kron(a: Any, b: Any) -> Any:
    array = a if type(a) is pa.Array else b
    x, y = beside(a, array, "kron"), beside(b, array, "kron")
    n = max(x.ndim, y.ndim)
    x, y = (pa.reshape(one, (1,) * (n - one.ndim) + one.shape) for one in (x, y))
    shape = tuple(p * q for p, q in zip(x.shape, y.shape, strict=True))
    wide = pa.reshape(x, tuple(k for p in x.shape for k in (p, 1)))
    long = pa.reshape(y, tuple(k for q in y.shape for k in (1, q)))
    return pa.reshape(wide * long, shape)


@serves()
def cross(
    a: Any, b: Any, axisa: int = -1, axisb: int = -1, axisc: int = -1, axis: Any = None
) -> Any:
    if axis is not None:
        axisa = axisb = axisc = axis
    x, y = pa.moveaxis(a, axisa, -1), pa.moveaxis(b, axisb, -1)
    shape = pa.broadcast_shapes(x.shape, y.shape)
    found = pa.linalg.cross(pa.broadcast_to(x, shape), pa.broadcast_to(y, shape))
    return pa.moveaxis(found, -1, axisc)


@serves("linalg.cross")
def linalg_cross(x1: Any, x2: Any, axis: int = -1) -> Any:
    return pa.linalg.cross(x1, x2, axis=axis)


def vecdot_of_windows(x: Any, y: Any) -> Any:
    """Return the products of y with each window of x, which is padded by zeros on both sides.

    One array operation for each element of y; through Fourier transforms where they are many.
    """
    n, m = x.size, y.size
    count = n + m - 1
    if m > _MANY and pa.result_type(x, y).kind == "f":
        size = 2 ** math.ceil(math.log2(count))
        product = pa.fft.rfft(x, n=size) * pa.fft.rfft(pa.flip(y), n=size)
        return pa.fft.irfft(product, n=size)[:count]
    pad = pa.zeros((m - 1,), dtype=x.dtype, device=x.device)
    padded = pa.concat([pad, x, pad])
    found = padded[:count] * y[0]
    for place in range(1, m):
        found = found + padded[place : place + count] * y[place]
    return found


_MANY = 128
"""Elements from which on a convolution goes through Fourier transforms."""


# --- norms and numbers -------------------------------------------------------------------------


@serves("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x = as_float(x)
    if axis is None and ord is None:
        found = pa.linalg.vector_norm(x)
        return pa.reshape(found, (1,) * x.ndim) if keepdims else found
    axes = axes_of(x, axis)
    if len(axes) == 1:
        ord = 2 if ord is None else ord
        return pa.linalg.vector_norm(x, axis=axes[0], keepdims=bool(keepdims), ord=ord)
    if len(axes) != 2:
        raise ValueError(f"norm: ord={ord!r} is for one or two axes, not {len(axes)}")
    moved = pa.moveaxis(x, axes, (-2, -1))
    found = pa.linalg.matrix_norm(moved, ord="fro" if ord is None else ord)
    return spread(found, axes) if keepdims else found


@serves("linalg.vector_norm")
def vector_norm(x: Any, axis: Any = None, keepdims: Any = False, ord: Any = 2) -> Any:
    return pa.linalg.vector_norm(as_float(x), axis=axis, keepdims=bool(keepdims), ord=ord)


@serves("linalg.matrix_norm")
def matrix_norm(x: Any, keepdims: Any = False, ord: Any = "fro") -> Any:
    return pa.linalg.matrix_norm(as_float(x), keepdims=bool(keepdims), ord=ord)


@serves("linalg.cond")
def cond(x: Any, p: Any = None) -> Any:
    if p is None or p in (2, -2):
        s = pa.linalg.svdvals(x)
        return s[..., -1] / s[..., 0] if p == -2 else s[..., 0] / s[..., -1]
    return pa.linalg.matrix_norm(x, ord=p) * pa.linalg.matrix_norm(pa.linalg.inv(x), ord=p)


@serves("linalg.det")
def det(a: Any) -> Any:
    return pa.linalg.det(as_float(a))


@serves("linalg.slogdet")
def slogdet(a: Any) -> Any:
    return pa.linalg.slogdet(as_float(a))


@serves("linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, rtol: Any = None) -> Any:  # noqa: N803
    if tol is not None:
        return pa.count_nonzero(pa.linalg.svdvals(A) > tol, axis=-1)
    return pa.linalg.matrix_rank(A, rtol=rtol)


@serves("linalg.trace")
def linalg_trace(x: Any, offset: int = 0, dtype: Any = None) -> Any:
    return pa.linalg.trace(x, offset=offset, dtype=dtype)


@serves("linalg.diagonal")
def linalg_diagonal(x: Any, offset: int = 0) -> Any:
    return pa.linalg.diagonal(x, offset=offset)


# --- decompositions and equations --------------------------------------------------------------


@serves("linalg.cholesky")
def cholesky(a: Any, upper: bool = False) -> Any:
    return pa.linalg.cholesky(as_float(a), upper=upper)


@serves("linalg.qr")
def qr(a: Any, mode: Any = "reduced") -> Any:
    if mode == "r":
        return pa.linalg.qr(as_float(a))[1]
    return pa.linalg.qr(as_float(a), mode=mode)


@serves("linalg.svd")
def svd(
    a: Any, full_matrices: bool = True, compute_uv: bool = True, hermitian: bool = False
) -> Any:
    if not compute_uv:
        return pa.linalg.svdvals(as_float(a))
    return pa.linalg.svd(as_float(a), full_matrices=full_matrices)


@serves("linalg.svdvals")
def svdvals(x: Any) -> Any:
    return pa.linalg.svdvals(as_float(x))


def _half(a: Any, triangle: str) -> Any:
    """Return the Hermitian matrix of which one triangle is given."""
    if triangle.upper() not in ("L", "U"):
        raise ValueError(f"UPLO={triangle!r}: use L or U")
    x = as_float(a)
    if triangle.upper() == "L":
        return pa.tril(x) + pa.conj(pa.tril(x, k=-1).mT)
    return pa.triu(x) + pa.conj(pa.triu(x, k=1).mT)


@serves("linalg.eigh")
def eigh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    return pa.linalg.eigh(_half(a, UPLO))


@serves("linalg.eigvalsh")
def eigvalsh(a: Any, UPLO: str = "L") -> Any:  # noqa: N803
    return pa.linalg.eigvalsh(_half(a, UPLO))


@serves("linalg.eig")
def eig(a: Any) -> Any:
    return pa.linalg.eig(as_float(a))


@serves("linalg.eigvals")
def eigvals(a: Any) -> Any:
    return pa.linalg.eigvals(as_float(a))


@serves("linalg.inv")
def inv(a: Any) -> Any:
    return pa.linalg.inv(as_float(a))


@serves("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    limit = rcond if rtol is None else rtol
    if limit is None:
        limit = 1e-15  # NumPy's default, and not the standard's
    return pa.linalg.pinv(as_float(a), rtol=limit)


@serves("linalg.solve")
def solve(a: Any, b: Any) -> Any:
    return pa.linalg.solve(as_float(a), as_float(b))


@serves("linalg.tensorinv")
def tensorinv(a: Any, ind: int = 2) -> Any:
    shape = a.shape[ind:] + a.shape[:ind]
    rows = math.prod(a.shape[:ind])
    return pa.reshape(pa.linalg.inv(pa.reshape(as_float(a), (rows, -1))), shape)


@serves("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    if axes is not None:
        moved = axes_of(a, tuple(axes))
        rest = tuple(i for i in range(a.ndim) if i not in moved)
        a = pa.permute_dims(a, rest + moved)
    shape = a.shape[b.ndim :]
    matrix = pa.reshape(as_float(a), (b.size, math.prod(shape)))
    return pa.reshape(pa.linalg.solve(matrix, flat(as_float(b))), shape)
