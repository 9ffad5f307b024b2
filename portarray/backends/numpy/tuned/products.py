"""Products with weights."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np

from portarray.backends.numpy.tuned import threads
from portarray.backends.numpy.tuned.blocks import Array, float16, float32

__all__ = ["linear"]

WEIGHTS = 1 << 20
"""Numbers of a float16 matrix that are in memory as float32 at once."""

DOT = 4096
"""Length of a row from which on BLAS reads a matrix as fast as its rows one by one."""

FEW = 64
"""Rows up to which the product is taken the other way round."""

SHARED = 3 << 18
"""Numbers of a matrix from which on several threads read it."""


def linear(x: Array, weight: Array, bias: Array | None = None, /) -> Array:
    """Return ``x @ weight.T + bias``."""
    count = math.prod(x.shape[:-1])
    if x.dtype == float16:
        out = _narrow(x.reshape(count, x.shape[-1]), weight)
    elif count == 1 and x.size < DOT:
        out = _by_row(x.reshape(-1), weight)
    elif count <= FEW:
        # OpenBLAS brings its second matrix into another order: this way round, the small one.
        out = np.ascontiguousarray((weight @ x.reshape(count, x.shape[-1]).T).T)
    else:
        out = x.reshape(count, x.shape[-1]) @ weight.T
    if bias is not None:
        np.add(out, bias, out=out)
    if out.dtype != x.dtype:
        with np.errstate(over="ignore"):  # what is too large for float16 is infinite
            out = out.astype(x.dtype)
    return out.reshape(*x.shape[:-1], len(weight))


def _by_row(x: Array, weight: Array) -> Array:
    """Multiply a matrix with a vector, one row after the other.

    Models read more weights for one token than caches hold. From memory OpenBLAS's product of a
    matrix with a vector, which goes through several rows at a time, is half as fast as this.
    """
    out = np.empty(len(weight), x.dtype)
    among = threads.count() if weight.size >= SHARED else 1
    if among == 1:
        np.vecdot(weight, x, out=out)
        return out
    step = -(-len(weight) // (2 * among))

    def work(starts: Iterator[int]) -> None:
        for start in starts:
            np.vecdot(weight[start : start + step], x, out=out[start : start + step])

    threads.shared(work, range(0, len(weight), step), among=among)
    return out


def _narrow(x: Array, weight: Array) -> Array:
    """Multiply float16 matrices as float32, a part of the weights at a time."""
    wide = x.astype(float32)
    out = np.empty((len(x), len(weight)), float32)
    step = max(1, WEIGHTS // max(1, weight.shape[1]))
    for start in range(0, len(weight), step):
        part = weight[start : start + step].astype(float32)
        np.matmul(wide, part.T, out=out[:, start : start + step])
    return out
