"""Kernels in NumPy that are right but for one fault, which is chosen by its name."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

__all__ = ["FAULTS", "KERNELS"]

Values = Any  # arrays of NumPy

FAULTS: dict[str, tuple[str, ...]] = {
    "attention": (
        *(
            "causal is off by one",
            "causal is aligned at the start",
            "query heads are dealt in turn",
        ),
        *("masked rows are NaN", "key_length is ignored", "scores are float16"),
        *("the mask is scaled", "the scale is ignored", "no maximum is subtracted"),
    ),
    "softmax": (
        "no maximum is subtracted",
        "exponentials are float16",
        "sums 1 over the wrong axis",
    ),
    "log_softmax": ("it is the logarithm of softmax", "the maximum joins the logarithm"),
    "silu": ("the exponential overflows", "it computes in float16"),
    "gelu": ("approximate is ignored", "it computes in float16"),
    "relu": ("it writes into x", "the dtype is float64", "NaN where x is large"),
    "rms_norm": ("eps is outside the root", "squares are float16", "the weight is ignored"),
    "layer_norm": ("the variance is unbiased", "the variance takes one pass", "the shape is flat"),
    "rope": ("interleaved is ignored", "angles are float16", "the rest is rotated"),
    "cross_entropy": (
        *("the mean counts what is ignored", "smoothing is ignored", "the sum is a mean"),
        "ignored rows count",
    ),
    "gemm": ("beta is ignored", "out is read where beta is 0", "products are float16"),
    "solve_triangular": ("the other half is read", "the diagonal is read", "transpose is ignored"),
    "linear": ("products are float16", "sums are rounded to the dtype", "the bias is ignored"),
    "embedding": ("the last row is cut off",),
}


def half(x: Values) -> Values:
    """Return what float16 makes of values."""
    with np.errstate(over="ignore", invalid="ignore"):
        return x.astype(np.float16).astype(np.float64)


def attention(
    fault: str,
    q: Values,
    k: Values,
    v: Values,
    *,
    scale: float | None,
    causal: bool,
    mask: Values | None,
    key_length: Any,
) -> Values:
    heads, kv_heads = (q.shape[-3], k.shape[-3]) if q.ndim > 2 else (1, 1)
    if heads != kv_heads:
        dealt = fault == "query heads are dealt in turn"
        group = np.arange(heads) % kv_heads if dealt else np.arange(heads) // (heads // kv_heads)
        k, v = k[..., group, :, :], v[..., group, :, :]
    length, keys = q.shape[-2], k.shape[-2]
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    scale = 1.0 if fault == "the scale is ignored" else scale
    scores = q @ np.swapaxes(k, -1, -2) * scale
    if fault == "scores are float16":
        scores = half(scores)
    used = keys if key_length is None or fault == "key_length is ignored" else int(key_length)
    visible = np.broadcast_to(np.arange(keys) < used, scores.shape)
    if causal:
        shift = used - length + (fault == "causal is off by one")
        shift = 0 if fault == "causal is aligned at the start" else shift
        visible = visible & (np.arange(keys) <= np.arange(length)[:, None] + shift)
    if mask is not None and mask.dtype == bool:
        visible = visible & mask
    elif mask is not None:
        scores = scores + mask * (scale if fault == "the mask is scaled" else 1.0)
    scores = np.where(visible, scores, -math.inf)
    top = np.max(scores, axis=-1, keepdims=True)
    if fault == "no maximum is subtracted":
        top = np.zeros_like(top)
    elif fault != "masked rows are NaN":
        top = np.where(top == -math.inf, 0.0, top)
    e = np.exp(scores - top)
    total = np.sum(e, axis=-1, keepdims=True)
    if fault != "masked rows are NaN":
        total = np.where(total == 0, 1.0, total)
    return e / total @ v


def softmax(fault: str, x: Values, *, axis: int) -> Values:
    top = 0.0 if fault == "no maximum is subtracted" else np.max(x, axis=axis, keepdims=True)
    e = np.exp(x - top)
    if fault == "exponentials are float16":
        e = half(e)
    if fault == "sums 1 over the wrong axis":
        axis = 0
    return e / np.sum(e, axis=axis, keepdims=True)


def log_softmax(fault: str, x: Values, *, axis: int) -> Values:
    if fault == "it is the logarithm of softmax":
        return np.log(softmax("", x, axis=axis))
    top = np.max(x, axis=axis, keepdims=True)
    total = np.log(np.sum(np.exp(x - top), axis=axis, keepdims=True))
    if fault == "the maximum joins the logarithm":
        return (x - (top + total).astype(np.float32)).astype(np.float64)
    return x - top - total


def silu(fault: str, x: Values) -> Values:
    if fault == "the exponential overflows":
        return x * np.exp(x) / (1 + np.exp(x))
    e = np.exp(-x)
    return x / (1 + (half(e) if fault else e))


def gelu(fault: str, x: Values, *, approximate: str) -> Values:
    if approximate == "tanh" or fault == "approximate is ignored":
        out = 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3)))
    else:
        out = 0.5 * x * (1 + np.vectorize(math.erf, otypes=[np.float64])(x / math.sqrt(2)))
    return half(out) if fault == "it computes in float16" else out


def relu(fault: str, x: Values) -> Values:
    if fault == "NaN where x is large":
        return np.where(x > 1e3, math.nan, np.maximum(x, 0))
    return np.maximum(x, 0)


def rms_norm(fault: str, x: Values, weight: Values | None, *, eps: float) -> Values:
    squares = half(x * x) if fault == "squares are float16" else x * x
    mean = np.mean(squares, axis=-1, keepdims=True)
    outside = fault == "eps is outside the root"
    out = x / (np.sqrt(mean) + eps if outside else np.sqrt(mean + eps))
    return out if weight is None or fault == "the weight is ignored" else out * weight


def layer_norm(
    fault: str, x: Values, weight: Values | None, bias: Values | None, *, eps: float
) -> Values:
    mean = np.mean(x, axis=-1, keepdims=True)
    if fault == "the variance takes one pass":
        single = x.astype(np.float32)
        squares = np.mean(single * single, axis=-1, keepdims=True)
        variance = np.maximum(squares - mean.astype(np.float32) ** 2, 0)
    else:
        variance = np.mean((x - mean) ** 2, axis=-1, keepdims=True)
    if fault == "the variance is unbiased":
        variance = variance * x.shape[-1] / max(x.shape[-1] - 1, 1)
    out = (x - mean) / np.sqrt(variance + eps)
    out = out if weight is None else out * weight
    out = out if bias is None else out + bias
    return out.ravel() if fault == "the shape is flat" else out


def rope(
    fault: str,
    x: Values,
    positions: Values | None,
    *,
    tables: tuple[Values, Values] | None,
    theta: float,
    interleaved: bool,
) -> Values:
    if tables is None:
        numbers = np.arange(x.shape[-2]) if positions is None else positions
        angles = numbers[..., None] * theta ** (-np.arange(0, x.shape[-1], 2) / x.shape[-1])
        angles = half(angles) if fault == "angles are float16" else angles
        tables = np.cos(angles), np.sin(angles)
    cos, sin = tables
    r = 2 * cos.shape[-1]
    pairs = slice(0, r, 2), slice(1, r, 2)
    if not interleaved or fault == "interleaved is ignored":
        pairs = slice(0, r // 2), slice(r // 2, r)
    out = x.copy()
    a, b = x[..., pairs[0]], x[..., pairs[1]]
    out[..., pairs[0]], out[..., pairs[1]] = a * cos - b * sin, a * sin + b * cos
    if fault == "the rest is rotated":
        out[..., r:] = -x[..., r:]
    return out


def cross_entropy(
    fault: str,
    logits: Values,
    targets: Values,
    *,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
) -> Values:
    counted = targets != ignore_index
    if fault == "ignored rows count":
        counted = np.ones_like(counted)
    logs = log_softmax("", logits, axis=-1)
    index = np.clip(targets, 0, logits.shape[-1] - 1)[..., None]
    losses = -np.take_along_axis(logs, index, axis=-1)[..., 0]
    if fault != "smoothing is ignored":
        losses = (1 - label_smoothing) * losses - label_smoothing * np.mean(logs, axis=-1)
    losses = np.where(counted, losses, 0.0)
    if reduction == "none":
        return losses
    total = np.asarray(np.sum(losses))
    if reduction == "mean" or fault == "the sum is a mean":
        every = fault == "the mean counts what is ignored"
        total = total / (losses.size if every else np.sum(counted))
    return total


def linear(fault: str, x: Values, weight: Values, bias: Values | None) -> Values:
    if fault == "products are float16":
        out = np.stack([np.sum(half(x * row), axis=-1) for row in weight], axis=-1)
    elif fault == "sums are rounded to the dtype":
        out = np.zeros((*x.shape[:-1], weight.shape[0]))
        for i in range(x.shape[-1]):
            out = half(out + x[..., i, None] * weight[:, i])
    else:
        out = x @ weight.T
    return out if bias is None or fault == "the bias is ignored" else out + bias


def embedding(fault: str, indices: Values, weight: Values) -> Values:
    return weight[np.minimum(indices, weight.shape[0] - 1 - bool(fault))]


def gemm(
    fault: str,
    a: Values,
    b: Values,
    *,
    out: Values | None,
    alpha: float,
    beta: float,
    transpose_a: bool,
    transpose_b: bool,
    in_place: bool,
) -> Values:
    a, b = a.T if transpose_a else a, b.T if transpose_b else b
    if fault == "products are float16":
        a, b = half(a), half(b)
    result = alpha * (a @ b)
    if fault == "out is read where beta is 0" and out is not None and not beta:
        return result + out
    return result if out is None or not beta or fault == "beta is ignored" else result + beta * out


def solve_triangular(
    fault: str, a: Values, b: Values, *, lower: bool, transpose: bool, unit_diagonal: bool
) -> Values:
    if fault == "the other half is read":
        lower = not lower
    a = np.tril(a) if lower else np.triu(a)
    if unit_diagonal and fault != "the diagonal is read":
        a = a * (1 - np.eye(a.shape[-1])) + np.eye(a.shape[-1])
    if transpose and fault != "transpose is ignored":
        a = np.swapaxes(a, -1, -2)
    return np.linalg.solve(a, b)


KERNELS: dict[str, Callable[..., Values]] = {
    "attention": attention,
    "softmax": softmax,
    "log_softmax": log_softmax,
    "silu": silu,
    "gelu": gelu,
    "relu": relu,
    "rms_norm": rms_norm,
    "layer_norm": layer_norm,
    "rope": rope,
    "cross_entropy": cross_entropy,
    "gemm": gemm,
    "solve_triangular": solve_triangular,
    "linear": linear,
    "embedding": embedding,
}
