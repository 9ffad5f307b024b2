"""Linear algebra: products, norms, decompositions."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from portarray._namespace import pa
from portarray._numpy_functions.common import (
    as_arrays,
    as_float,
    axes_of,
    flat,
    with_axes,
)
from portarray._numpy_functions.table import category

serves = category("Linear algebra")


# --- products ----------------------------------------------------------------------------------


@serves(order="a b out")
def dot(a: Any, b: Any) -> Any:
    x, y = as_arrays(a, b, name="dot")
    if not x.ndim or not y.ndim:
        return x * y
    if x.ndim <= 2 and y.ndim <= 2:
        return pa.matmul(x, y)
    return pa.tensordot(x, y, axes=((x.ndim - 1,), (max(0, y.ndim - 2),)))


@serves()
def inner(a: Any, b: Any) -> Any:
    x, y = as_arrays(a, b, name="inner")
    if not x.ndim or not y.ndim:
        return x * y
    return pa.tensordot(x, y, axes=((x.ndim - 1,), (y.ndim - 1,)))


@serves(order="a b out")
def outer(a: Any, b: Any) -> Any:
    x, y = map(flat, as_arrays(a, b, name="outer"))
    return x[:, None] * y[None, :]


@serves("tensordot", order="a b axes")
def tensordot(a: Any, b: Any, axes: Any = 2) -> Any:
    if not isinstance(axes, int):
        first, second = (tuple(part) if np.ndim(part) else (part,) for part in axes)
        axes = axes_of(a, first), axes_of(b, second)
    return pa.tensordot(a, b, axes=axes)


@serves("linalg.multi_dot", order="arrays")
def multi_dot(arrays: Any) -> Any:
    return functools.reduce(pa.matmul, arrays)


@serves()
def kron(a: Any, b: Any) -> Any:
    x, y = as_arrays(a, b, name="kron")
    n = max(x.ndim, y.ndim)
    x, y = (pa.reshape(z, (1,) * (n - z.ndim) + z.shape) for z in (x, y))
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
    product = pa.linalg.cross(pa.broadcast_to(x, shape), pa.broadcast_to(y, shape))
    return pa.moveaxis(product, -1, axisc)


def vecdot_of_windows(x: Any, y: Any) -> Any:
    """Return the products of y with each window of x, zero-padded on both sides.

    One array operation per element of y, or Fourier transforms for long y.
    """
    n, m = x.size, y.size
    count = n + m - 1
    if m > _MANY and pa.result_type(x, y).kind == "f":
        size = 2 ** math.ceil(math.log2(count))
        product = pa.fft.rfft(x, n=size) * pa.fft.rfft(pa.flip(y), n=size)
        return pa.fft.irfft(product, n=size)[:count]
    pad = pa.zeros((m - 1,), dtype=x.dtype, device=x.device)
    padded = pa.concat([pad, x, pad])
    products = padded[:count] * y[0]
    for shift in range(1, m):
        products = products + padded[shift : shift + count] * y[shift]
    return products


_MANY = 128
"""Longest convolution kernel that does not use Fourier transforms."""


# --- norms and numbers -------------------------------------------------------------------------


@serves("linalg.norm")
def norm(x: Any, ord: Any = None, axis: Any = None, keepdims: Any = False) -> Any:
    x = as_float(x)
    if axis is None and ord is None:
        result = pa.linalg.vector_norm(x)
        return pa.reshape(result, (1,) * x.ndim) if keepdims else result
    axes = axes_of(x, axis)
    if len(axes) == 1:
        ord = 2 if ord is None else ord
        return pa.linalg.vector_norm(x, axis=axes[0], keepdims=bool(keepdims), ord=ord)
    if len(axes) != 2:
        raise ValueError(f"norm: ord={ord!r} needs one or two axes, not {len(axes)}")
    moved = pa.moveaxis(x, axes, (-2, -1))
    result = pa.linalg.matrix_norm(moved, ord="fro" if ord is None else ord)
    return with_axes(result, axes) if keepdims else result


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


@serves("linalg.matrix_rank")
def matrix_rank(A: Any, tol: Any = None, hermitian: bool = False, rtol: Any = None) -> Any:  # noqa: N803
    if tol is not None:
        return pa.count_nonzero(pa.linalg.svdvals(A) > tol, axis=-1)
    return pa.linalg.matrix_rank(A, rtol=rtol)


# --- decompositions and equations --------------------------------------------------------------


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


def _half(a: Any, triangle: str) -> Any:
    """Return the Hermitian matrix with one given triangle."""
    if triangle.upper() not in ("L", "U"):
        raise ValueError(f"eigh: UPLO={triangle!r} is not 'L' or 'U'")
    x = as_float(a)
    if triangle.upper() == "L":
        return pa.tril(x) + pa.conj(pa.tril(x, k=-1).mT)
    return pa.triu(x) + pa.conj(pa.triu(x, k=1).mT)


@serves("linalg.pinv")
def pinv(a: Any, rcond: Any = None, hermitian: bool = False, *, rtol: Any = None) -> Any:
    limit = rcond if rtol is None else rtol
    if limit is None:
        limit = 1e-15  # NumPy's default, and not the standard's
    return pa.linalg.pinv(as_float(a), rtol=limit)


@serves("linalg.tensorinv")
def tensorinv(a: Any, ind: int = 2) -> Any:
    shape = a.shape[ind:] + a.shape[:ind]
    rows = math.prod(a.shape[:ind])
    return pa.reshape(pa.linalg.inv(pa.reshape(as_float(a), (rows, -1))), shape)


@serves("linalg.tensorsolve")
def tensorsolve(a: Any, b: Any, axes: Any = None) -> Any:
    if axes is not None:
        moved = axes_of(a, tuple(axes))
        outer = tuple(i for i in range(a.ndim) if i not in moved)
        a = pa.permute_dims(a, outer + moved)
    shape = a.shape[b.ndim :]
    matrix = pa.reshape(as_float(a), (b.size, math.prod(shape)))
    return pa.reshape(pa.linalg.solve(matrix, flat(as_float(b))), shape)


# Functions of one expression.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "linalg.cholesky": lambda a, upper=False: pa.linalg.cholesky(as_float(a), upper=upper),
    "linalg.cross": lambda x1, x2, axis=-1: pa.linalg.cross(x1, x2, axis=axis),
    "linalg.det": lambda a: pa.linalg.det(as_float(a)),
    "linalg.diagonal": lambda x, offset=0: pa.linalg.diagonal(x, offset=offset),
    "linalg.eig": lambda a: pa.linalg.eig(as_float(a)),
    "linalg.eigh": lambda a, UPLO="L": pa.linalg.eigh(_half(a, UPLO)),  # noqa: N803
    "linalg.eigvals": lambda a: pa.linalg.eigvals(as_float(a)),
    "linalg.eigvalsh": lambda a, UPLO="L": pa.linalg.eigvalsh(_half(a, UPLO)),  # noqa: N803
    "linalg.inv": lambda a: pa.linalg.inv(as_float(a)),
    "linalg.matmul": lambda x1, x2: pa.matmul(x1, x2),
    "linalg.matrix_power": lambda a, n: pa.linalg.matrix_power(a, n),
    "linalg.outer": lambda x1, x2: pa.linalg.outer(x1, x2),
    "linalg.slogdet": lambda a: pa.linalg.slogdet(as_float(a)),
    "linalg.solve": lambda a, b: pa.linalg.solve(as_float(a), as_float(b)),
    "linalg.svdvals": lambda x: pa.linalg.svdvals(as_float(x)),
    "linalg.tensordot": lambda x1, x2, axes=2: tensordot(x1, x2, axes),
    "linalg.trace": lambda x, offset=0, dtype=None: pa.linalg.trace(x, offset=offset, dtype=dtype),
    "linalg.vecdot": lambda x1, x2, axis=-1: pa.vecdot(x1, x2, axis=axis),
    "vdot": lambda a, b: pa.vecdot(flat(a), flat(b)),
}
for _name, _function in _FUNCTIONS.items():
    serves(_name)(_function)
