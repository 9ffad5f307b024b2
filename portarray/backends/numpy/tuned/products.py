"""Products with weights."""

from __future__ import annotations

import math

import numpy as np

from portarray.backends.numpy.tuned.blocks import Array, float16, float32

__all__ = ["linear"]

WEIGHTS = 1 << 20
"""Numbers of a float16 matrix that are in memory as float32 at once."""


def linear(x: Array, weight: Array, bias: Array | None = None, /) -> Array:
    """Return ``x @ weight.T + bias``."""
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    out = _narrow(rows, weight) if x.dtype == float16 else rows @ weight.T
    if bias is not None:
        np.add(out, bias, out=out)
    if out.dtype != x.dtype:
        with np.errstate(over="ignore"):  # what is too large for float16 is infinite
            out = out.astype(x.dtype)
    return out.reshape(*x.shape[:-1], len(weight))


def _narrow(x: Array, weight: Array) -> Array:
    """Multiply float16 matrices as float32, a part of the weights at a time."""
    wide = x.astype(float32)
    out = np.empty((len(x), len(weight)), float32)
    step = max(1, WEIGHTS // max(1, weight.shape[1]))
    for start in range(0, len(weight), step):
        part = weight[start : start + step].astype(float32)
        np.matmul(wide, part.T, out=out[:, start : start + step])
    return out
