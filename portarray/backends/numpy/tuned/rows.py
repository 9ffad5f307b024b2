"""Norms, activations, rotary embedding and losses in few passes over blocks of rows."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray.backends.composed.indexing import check_within
from portarray.backends.numpy.tuned.blocks import (
    SMALL,
    Array,
    by_rows,
    by_values,
    float16,
    float32,
    in_blocks,
    wide,
)

__all__ = ["cross_entropy", "gelu", "layer_norm", "rms_norm", "rope", "silu"]

DOT = 8192
"""Length of a row up to which BLAS computes its sum in the calling thread."""


def _sums(x: Array) -> Array:
    """Return the sum of each row, as a column."""
    size = x.shape[-1]
    # A product with ones is twice as fast as NumPy's sum.
    sums = x.sum(-1) if size > DOT else np.vecdot(x, np.ones(size, x.dtype))
    column: Array = sums[:, None]
    return column


def _mean_squares(x: Array) -> Array:
    """Return the mean of the squares of each row, as a column."""
    sums = np.square(x).sum(-1) if x.shape[-1] > DOT else np.vecdot(x, x)
    column: Array = sums[:, None] / x.dtype.type(x.shape[-1])
    return column


def _silu(x: Array, out: Array) -> None:
    np.negative(x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(x, out, out=out)


def silu(x: Array, /) -> Array:
    """Return ``x * sigmoid(x)``."""
    return by_values(_silu, x)


def _gelu_tanh(x: Array, out: Array) -> None:
    # (1 + tanh(z)) / 2 is 1 / (1 + exp(-2 z)).
    slope = -2 * math.sqrt(2 / math.pi)
    np.multiply(x, x, out=out)
    np.multiply(out, 0.044715 * slope, out=out)
    np.add(out, slope, out=out)
    np.multiply(out, x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(x, out, out=out)


# Coefficients of x**0, x**2, ... of -logit(Phi(x)) / x for |x| up to 6.5, where Phi is the normal
# distribution function: a minimax fit to SciPy's log_ndtr. The largest error of Phi(x) is 3e-8.
# Beyond 6.5 both tend to 0 and 1.
_LOGIT = (
    -1.5957698829207205,
    -0.07266616914818945,
    6.518995171659713e-05,
    1.1061238708414062e-04,
    -7.929488756954429e-06,
    2.645266715951743e-07,
    -3.512341234098079e-09,
)


def _gelu_exact(x: Array, out: Array) -> None:
    squares = np.multiply(x, x)
    np.multiply(squares, _LOGIT[-1], out=out)
    for coefficient in _LOGIT[-2:0:-1]:
        np.add(out, coefficient, out=out)
        np.multiply(out, squares, out=out)
    np.add(out, _LOGIT[0], out=out)
    np.multiply(out, x, out=out)
    np.exp(out, out=out)
    np.add(out, 1, out=out)
    np.divide(x, out, out=out)


def gelu(x: Array, /, *, approximate: str = "none") -> Array:
    """Return x times the normal distribution function of x, to float32's precision."""
    return by_values(_gelu_tanh if approximate == "tanh" else _gelu_exact, x)


def not_by_tanh(x: Array, /, *, approximate: str = "none") -> str:
    """Return why :func:`gelu` is not accurate enough for float64."""
    return "" if approximate == "tanh" else "its error function is exact to float32 only"


def rms_norm(x: Array, weight: Array | None = None, /, *, eps: float = 1e-6) -> Array:
    """Divide the last axis by the root of its mean square."""
    size = x.shape[-1]
    if x.size == size and 0 < size <= DOT and x.dtype != float16:
        # One row, as in decoding: calls take longer than the computation.
        row = x.reshape(size)
        mean = float(row.dot(row)) / size
        if mean < math.inf:
            out: Array = x * (1 / math.sqrt(mean + eps))
            if weight is not None:
                np.multiply(out, weight, out=out)
            return out
    factor = None if weight is None else wide(weight)

    def kernel(x: Array, out: Array) -> None:
        np.multiply(x, 1 / np.sqrt(_mean_squares(x) + x.dtype.type(eps)), out=out)
        if factor is not None:
            np.multiply(out, factor, out=out)

    return by_rows(kernel, x)


def layer_norm(
    x: Array, weight: Array | None = None, bias: Array | None = None, /, *, eps: float = 1e-5
) -> Array:
    """Normalize the last axis to mean 0 and variance 1."""
    factor = None if weight is None else wide(weight)
    added = None if bias is None else wide(bias)

    def kernel(x: Array, out: Array) -> None:
        np.subtract(x, _sums(x) / x.dtype.type(x.shape[-1]), out=out)
        np.multiply(out, 1 / np.sqrt(_mean_squares(out) + x.dtype.type(eps)), out=out)
        if factor is not None:
            np.multiply(out, factor, out=out)
        if added is not None:
            np.add(out, added, out=out)

    return by_rows(kernel, x)


def rope(
    x: Array,
    positions: Array | None = None,
    /,
    *,
    tables: tuple[Array, Array] | None = None,
    theta: float = 10000.0,
    interleaved: bool = False,
) -> Array:
    """Rotate pairs of features by angles that grow with the position."""
    dtype = float32 if x.dtype == float16 else x.dtype
    if tables is None:
        positions = np.arange(x.shape[-2]) if positions is None else positions
        steps = np.arange(0, x.shape[-1], 2) * (-math.log(theta) / x.shape[-1])
        angles = positions[..., None].astype(np.float64) * np.exp(steps)
        tables = np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)
    cos, sin = (wide(table) for table in tables)
    half = cos.shape[-1]
    if x.size <= SMALL and not interleaved and 2 * half == x.shape[-1] and x.dtype == dtype:
        out: Array = x * np.concatenate((cos, cos), -1)
        swapped = np.concatenate((x[..., half:], x[..., :half]), -1)
        np.multiply(swapped, np.concatenate((-sin, sin), -1), out=swapped)
        np.add(out, swapped, out=out)
        return out
    out = np.empty(x.shape, x.dtype)
    if 2 * half != x.shape[-1]:
        out[..., 2 * half :] = x[..., 2 * half :]
    if interleaved:
        turn: Any = np.empty(cos.shape, np.result_type(dtype, np.complex64))
        turn.real, turn.imag = cos, sin
        first, second = turn, None
    else:
        # Arrays as wide as x: NumPy is fastest on contiguous memory.
        first, second = np.concatenate((cos, cos), -1), np.concatenate((-sin, sin), -1)

    def rotate(x: Array, out: Array, first: Array, second: Array | None) -> None:
        part = wide(x[..., : 2 * half])
        if second is None:
            pairs = np.ascontiguousarray(part).view(first.dtype)
            out[..., : 2 * half] = (pairs * first).view(dtype)
            return
        swapped = np.empty_like(part)
        swapped[..., :half] = part[..., half:]
        swapped[..., half:] = part[..., :half]
        np.multiply(swapped, second, out=swapped)
        if out.dtype == dtype:
            target = out[..., : 2 * half]
            np.multiply(part, first, out=target)
            np.add(target, swapped, out=target)
        else:
            out[..., : 2 * half] = np.add(part * first, swapped, out=swapped)

    if first.ndim > 2 or x.ndim < 3:
        rotate(x, out, first, second)
        return out
    heads, rotated = x.reshape(-1, *x.shape[-2:]), out.reshape(-1, *x.shape[-2:])

    def work(start: int, stop: int) -> None:
        rotate(heads[start:stop], rotated[start:stop], first, second)

    in_blocks(work, len(heads), x.shape[-1] * x.shape[-2])
    return out


def cross_entropy(
    logits: Array,
    targets: Array,
    /,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Array:
    """Return the cross entropy between logits and target classes."""
    size = logits.shape[-1]
    rows = logits.reshape(targets.size, size)
    counted = targets.reshape(-1) != ignore_index
    classes = np.where(counted, targets.reshape(-1), 0)
    check_within(classes, size, -1, lowest=0)
    dtype = float32 if logits.dtype == float16 else logits.dtype
    losses = np.empty(targets.size, dtype)

    def work(start: int, stop: int) -> None:
        x = wide(rows[start:stop])
        shifted = x - x.max(-1, keepdims=True)
        block_losses = -np.take_along_axis(shifted, classes[start:stop, None], -1)[:, 0]
        if label_smoothing:
            block_losses *= 1 - label_smoothing
            block_losses -= label_smoothing * shifted.mean(-1)
        # The rows' exponentials sum to at least 1.
        losses[start:stop] = block_losses + np.log(_sums(np.exp(shifted, out=shifted)))[:, 0]

    in_blocks(work, len(rows), size)
    losses = np.where(counted, losses, dtype.type(0))
    if reduction == "none":
        return losses.reshape(targets.shape).astype(logits.dtype, copy=False)
    total = losses.sum()
    if reduction == "mean":
        with np.errstate(invalid="ignore"):
            total = total / dtype.type(np.count_nonzero(counted))
    return np.asarray(total, logits.dtype)
