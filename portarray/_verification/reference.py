"""Every core kernel in float64 NumPy, written as its definition reads.

Nothing is shared with the versions that run on devices: rows are taken one by one, scores are held
in full, angles are computed one position at a time. :mod:`portarray._verification.bounds` says how
far from these values a version may be.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]


def matmul(x1: Values, x2: Values, /) -> Values:
    """Multiply matrices, vectors and stacks of matrices."""
    result: Values = np.matmul(x1, x2)
    return result


def gemm(
    a: Values,
    b: Values,
    /,
    *,
    out: Values | None = None,
    alpha: float = 1.0,
    beta: float = 0.0,
    transpose_a: bool = False,
    transpose_b: bool = False,
) -> Values:
    """Return a product of two matrices, and the multiple of a third added."""
    product = np.tensordot(a.T if transpose_a else a, b.T if transpose_b else b, axes=1)
    result: Values = alpha * product
    return result if out is None or beta == 0 else result + beta * out


def solve_triangular(
    a: Values,
    b: Values,
    /,
    *,
    lower: bool = False,
    transpose: bool = False,
    unit_diagonal: bool = False,
) -> Values:
    """Return unknowns by substitution, row by row."""
    if transpose:
        a, lower = np.swapaxes(a, -1, -2), not lower
    n = a.shape[-1]
    rows = b[:, None] if b.ndim == 1 else b
    shape = np.broadcast_shapes(a.shape[:-2], rows.shape[:-2])
    x = np.broadcast_to(rows, (*shape, *rows.shape[-2:])).copy()
    for i in range(n) if lower else reversed(range(n)):
        solved = slice(0, i) if lower else slice(i + 1, n)
        x[..., i, :] -= np.einsum("...j,...jk->...k", a[..., i, solved], x[..., solved, :])
        if not unit_diagonal:
            x[..., i, :] /= a[..., i, i, None]
    return x[..., 0] if b.ndim == 1 else x


def linear(x: Values, weight: Values, bias: Values | None = None, /) -> Values:
    """Return the product of each row of x with each row of weight, and the bias added."""
    out = np.tensordot(x, weight, axes=(-1, -1))
    return out if bias is None else out + bias


def embedding(indices: Values, weight: Values, /) -> Values:
    """Return the rows of a table at indices."""
    return weight[indices]


def softmax(x: Values, /, *, axis: int = -1) -> Values:
    """Return exponentials over their sum; NaN where a row is nothing but -inf."""
    return np.apply_along_axis(_softmax_row, axis, x)


def _softmax_row(row: Values) -> Values:
    if np.all(row == -math.inf):
        return np.full_like(row, math.nan)
    e = np.exp(row - np.max(row))
    result: Values = e / math.fsum(e)
    return result


def log_softmax(x: Values, /, *, axis: int = -1) -> Values:
    """Return the logarithm of the softmax."""
    return np.apply_along_axis(_log_softmax_row, axis, x)


def _log_softmax_row(row: Values) -> Values:
    if np.all(row == -math.inf):
        return np.full_like(row, math.nan)
    shifted = row - np.max(row)
    result: Values = shifted - math.log(math.fsum(np.exp(shifted)))
    return result


def silu(x: Values, /) -> Values:
    """Return x times its logistic function, whose exponential never overflows here."""
    e: Values = np.exp(-np.abs(x))
    result: Values = x * np.where(x >= 0, 1.0, e) / (1 + e)
    return result


def gelu(x: Values, /, *, approximate: str = "none") -> Values:
    """Return x times the normal distribution's function, or the common approximation by tanh."""
    if approximate == "tanh":
        inner = math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)
        # (1 + tanh(a)) / 2 without the cancellation where a is far below 0.
        share: Values = np.exp(np.minimum(2 * inner, 0.0)) / (1 + np.exp(-2 * np.abs(inner)))
        return x * share
    phi = [0.5 * math.erfc(-value / math.sqrt(2)) for value in x.ravel().tolist()]
    return x * np.asarray(phi, dtype=np.float64).reshape(x.shape)


def relu(x: Values, /) -> Values:
    """Return x where it is above 0, else 0."""
    return np.where(x > 0, x, 0.0)


def rms_norm(x: Values, weight: Values | None = None, /, *, eps: float = 1e-6) -> Values:
    """Divide each row by the root of its mean square plus eps."""
    out = np.empty_like(x)
    for index in np.ndindex(x.shape[:-1]):
        row = x[index]
        out[index] = row / math.sqrt(math.fsum(row * row) / max(row.size, 1) + eps)
    return out if weight is None else out * weight


def layer_norm(
    x: Values, weight: Values | None = None, bias: Values | None = None, /, *, eps: float = 1e-5
) -> Values:
    """Subtract each row's mean and divide by the root of its variance plus eps."""
    out = np.empty_like(x)
    for index in np.ndindex(x.shape[:-1]):
        row = x[index]
        centred = row - math.fsum(row) / max(row.size, 1)
        out[index] = centred / math.sqrt(math.fsum(centred * centred) / max(row.size, 1) + eps)
    out = out if weight is None else out * weight
    return out if bias is None else out + bias


def rope_tables(
    positions: Values, dimensions: int, /, *, theta: float = 10000.0
) -> tuple[Values, Values]:
    """Return cosines and sines of position times ``theta ** (-2 i / dimensions)``."""
    rates = [theta ** (-2 * i / dimensions) for i in range(dimensions // 2)]
    angles = np.asarray(positions, dtype=np.float64)[..., None] * np.asarray(rates)
    return np.cos(angles), np.sin(angles)


def rope(
    x: Values,
    positions: Values | None = None,
    /,
    *,
    tables: tuple[Values, Values] | None = None,
    theta: float = 10000.0,
    interleaved: bool = False,
) -> Values:
    """Rotate pairs of features: (i, i + r/2), or (2i, 2i + 1) where interleaved."""
    if tables is None:
        angles_at = np.arange(x.shape[-2]) if positions is None else positions
        tables = rope_tables(np.broadcast_to(angles_at, x.shape[:-1]), x.shape[-1], theta=theta)
    cos, sin = tables
    half = cos.shape[-1]
    out = x.copy()
    for i in range(half):
        first, second = (2 * i, 2 * i + 1) if interleaved else (i, i + half)
        a, b = x[..., first], x[..., second]
        out[..., first] = a * cos[..., i] - b * sin[..., i]
        out[..., second] = a * sin[..., i] + b * cos[..., i]
    return out


def attention(
    q: Values,
    k: Values,
    v: Values,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Values | None = None,
    key_length: int | None = None,
) -> Values:
    """Return, query by query, the mean of the values weighted by the softmax of the scores.

    A query that sees no key gives zeros.
    """
    if q.ndim == 2:
        full = None if mask is None else np.broadcast_to(mask, (q.shape[0], k.shape[0]))[None]
        q, k, v = q[None], k[None], v[None]
        stacked = attention(q, k, v, scale=scale, causal=causal, mask=full, key_length=key_length)
        only: Values = stacked[0]
        return only
    length, keys = q.shape[-2], k.shape[-2]
    used = keys if key_length is None else key_length
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    group = q.shape[-3] // k.shape[-3]
    shown = None if mask is None else np.broadcast_to(mask, (*q.shape[:-1], keys))
    out = np.zeros((*q.shape[:-1], v.shape[-1]))
    for index in np.ndindex(q.shape[:-1]):
        *batch, head, i = index
        kv_index = (*batch, head // group)
        last = i + (used - length) if causal else used - 1
        visible = np.arange(keys) <= min(last, used - 1)
        scores = scale * (k[kv_index] @ q[index])
        if shown is not None:
            if shown.dtype == bool:
                visible &= shown[index]
            else:
                scores = scores + shown[index]
                visible &= shown[index] != -math.inf
        if visible.any():
            out[index] = _softmax_row(scores[visible]) @ v[kv_index][visible]
    return out


def cross_entropy(
    logits: Values,
    targets: Values,
    /,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Values:
    """Return each row's loss, their sum, or their mean over the rows that are not ignored."""
    losses = np.zeros(targets.shape)
    counted = 0
    for index in np.ndindex(targets.shape):
        if targets[index] == ignore_index:
            continue
        counted += 1
        logs = _log_softmax_row(logits[index])
        losses[index] = -logs[targets[index]]
        if label_smoothing:
            smoothing_loss = -math.fsum(logs) / logs.size
            losses[index] = (1 - label_smoothing) * losses[index] + label_smoothing * smoothing_loss
    if reduction == "none":
        return losses
    total = _sum(losses.ravel().tolist())
    if reduction == "mean":
        total = total / counted if counted else math.nan
    return np.asarray(total)


def _sum(values: Sequence[float]) -> float:
    """Return a sum that was rounded once; infinities and NaN are kept."""
    return math.fsum(values) if all(map(math.isfinite, values)) else float(np.sum(values))
