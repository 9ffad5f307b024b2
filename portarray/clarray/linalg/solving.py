"""Inverses, determinants and linear systems, by NumPy's LAPACK on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._result_types import SlogdetResult
from portarray.clarray.arguments import array_of, default_dtype
from portarray.clarray.dtypes import kind_of, promote
from portarray.clarray.engine import host
from portarray.clarray.engine.operands import one_device
from portarray.clarray.linalg.lapack import matrices, on_host, square
from portarray.clarray.strided import Array

NumpyArray = np.ndarray[Any, Any]


@host.served
def det(x: Array, /) -> Array:
    """Return determinants."""
    result: Array = on_host(np.linalg.det, square(x, "det"))
    return result


@host.served
def slogdet(x: Array, /) -> SlogdetResult[Array]:
    """Return the sign and the logarithm of the magnitude of determinants."""
    return SlogdetResult(*on_host(lambda a: tuple(np.linalg.slogdet(a)), square(x, "slogdet")))


@host.served
def inv(x: Array, /) -> Array:
    """Return inverses."""
    result: Array = on_host(np.linalg.inv, square(x, "inv"))
    return result


@host.served
def solve(x1: Array, x2: Array, /) -> Array:
    """Return the solutions of linear systems ``x1 @ solution = x2``."""
    a, b = square(x1, "solve", "x1"), array_of(x2, "solve", "x2")
    if b.ndim != 1:
        b = matrices(b, "solve", "x2")
    elif kind_of(b.dtype) not in ("real", "complex"):
        raise TypeError(f"solve takes floating-point arrays, but x2 is of dtype {b.dtype}")
    one_device("solve", a, b)
    if a.shape[-1] != b.shape[0 if b.ndim == 1 else -2]:
        raise ValueError(
            f"solve: x1 and x2 have different numbers of rows: shapes {a.shape} and {b.shape}"
        )
    dtype = promote(a.dtype, b.dtype)
    work = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    result: Array = host.run(
        lambda p, q: np.linalg.solve(p.astype(work, copy=False), q.astype(work, copy=False)),
        a,
        b,
        dtype=dtype,
    )
    return result


@host.served
def pinv(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return pseudo-inverses (Moore and Penrose), by singular values."""
    x = matrices(x, "pinv")
    limit = _limit(rtol, x)
    result: Array = on_host(lambda a: np.linalg.pinv(a, rtol=limit), x)
    return result


@host.served
def matrix_rank(x: Array, /, *, rtol: float | Array | None = None) -> Array:
    """Return how many singular values are not 0."""
    x = matrices(x, "matrix_rank")
    limit = _limit(rtol, x)

    def rank(a: NumpyArray) -> NumpyArray:
        if 0 in a.shape[-2:]:  # NumPy would take the maximum of no singular values
            return np.zeros(a.shape[:-2], np.intp)
        return np.asarray(np.linalg.matrix_rank(host.full(a), rtol=limit))

    result: Array = host.run(rank, x, dtype=default_dtype(x.device, "integral"))
    return result


def _limit(rtol: float | Array | None, x: Array) -> Any:
    """Return a tolerance for NumPy; for 16-bit dtypes a default of their precision."""
    if isinstance(rtol, Array):
        one_device("rtol", x, rtol)
        return host.view(rtol)
    if rtol is None and x.dtype.itemsize == 2:
        eps = 2.0**-10 if x.dtype == np.float16 else 2.0**-7
        return max(x.shape[-2:]) * eps
    return rtol
