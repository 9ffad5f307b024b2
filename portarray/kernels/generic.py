"""Core kernels, written once in the standard's names.

Each takes a namespace of native arrays first, then native arrays and every option; what users give
was checked before. Nothing here is portarray's: any namespace of the standard will do.
"""

from __future__ import annotations

import math
from typing import Any

__all__ = [
    "attention",
    "cross_entropy",
    "embedding",
    "gelu",
    "layer_norm",
    "linear",
    "log_softmax",
    "matmul",
    "relu",
    "rms_norm",
    "rope",
    "rope_tables",
    "silu",
    "softmax",
]

QUERIES = 256  # queries whose scores are in memory at once


def _wide(xp: Any, x: Any) -> Any:
    """Return x in a dtype to compute in: narrow floating-point dtypes become float32."""
    return x if x.dtype == xp.float32 or _is(xp, x, "float64") else xp.astype(x, xp.float32)


def _is(xp: Any, x: Any, name: str) -> bool:
    """Tell whether x has a dtype that not every device has."""
    dtype = getattr(xp, name, None)
    return dtype is not None and x.dtype == dtype


def _place(xp: Any, x: Any) -> Any:
    """Return the device of an array; where its library's arrays do not say, the namespace's."""
    return x.device if hasattr(x, "device") else xp.device


def _back(xp: Any, wide: Any, x: Any) -> Any:
    """Return a result in x's dtype."""
    return wide if wide.dtype == x.dtype else xp.astype(wide, x.dtype)


def matmul(xp: Any, x1: Any, x2: Any, /) -> Any:
    return xp.matmul(x1, x2)


def linear(xp: Any, x: Any, weight: Any, bias: Any = None, /) -> Any:
    out = xp.matmul(x, xp.matrix_transpose(weight))
    return out if bias is None else out + bias


def embedding(xp: Any, indices: Any, weight: Any, /) -> Any:
    rows = xp.take(weight, xp.reshape(indices, (-1,)), axis=0)
    return xp.reshape(rows, (*indices.shape, weight.shape[1]))


def softmax(xp: Any, x: Any, /, *, axis: int = -1) -> Any:
    wide = _wide(xp, x)
    e = xp.exp(wide - xp.max(wide, axis=axis, keepdims=True))
    return _back(xp, e / xp.sum(e, axis=axis, keepdims=True), x)


def log_softmax(xp: Any, x: Any, /, *, axis: int = -1) -> Any:
    wide = _wide(xp, x)
    shifted = wide - xp.max(wide, axis=axis, keepdims=True)
    return _back(xp, shifted - xp.log(xp.sum(xp.exp(shifted), axis=axis, keepdims=True)), x)


def silu(xp: Any, x: Any, /) -> Any:
    wide = _wide(xp, x)
    return _back(xp, wide / (1 + xp.exp(-wide)), x)


def gelu(xp: Any, x: Any, /, *, approximate: str = "none") -> Any:
    if approximate == "none":
        raise NotImplementedError("exact gelu is being written")
    wide = _wide(xp, x)
    inner = math.sqrt(2 / math.pi) * (wide + 0.044715 * wide * wide * wide)
    return _back(xp, 0.5 * wide * (1 + xp.tanh(inner)), x)


def relu(xp: Any, x: Any, /) -> Any:
    return xp.maximum(x, 0)


def rms_norm(xp: Any, x: Any, weight: Any = None, /, *, eps: float = 1e-6) -> Any:
    wide = _wide(xp, x)
    out = wide / xp.sqrt(xp.mean(wide * wide, axis=-1, keepdims=True) + eps)
    return _back(xp, out if weight is None else out * _wide(xp, weight), x)


def layer_norm(
    xp: Any, x: Any, weight: Any = None, bias: Any = None, /, *, eps: float = 1e-5
) -> Any:
    wide = _wide(xp, x)
    centred = wide - xp.mean(wide, axis=-1, keepdims=True)
    out = centred / xp.sqrt(xp.mean(centred * centred, axis=-1, keepdims=True) + eps)
    out = out if weight is None else out * _wide(xp, weight)
    return _back(xp, out if bias is None else out + _wide(xp, bias), x)


def rope_tables(
    xp: Any, positions: Any, /, *, dimensions: int, theta: float, dtype: Any
) -> tuple[Any, Any]:
    """Return cosines and sines of shape ``positions.shape + (dimensions // 2,)`` in a dtype."""
    wide = xp.float64 if getattr(xp, "float64", None) is not None else xp.float32
    steps = xp.arange(0, dimensions, 2, dtype=wide, device=_place(xp, positions))
    rates = xp.exp(steps * (-math.log(theta) / dimensions))
    angles = xp.astype(positions, wide)[..., None] * rates
    return xp.astype(xp.cos(angles), dtype), xp.astype(xp.sin(angles), dtype)


def rope(
    xp: Any,
    x: Any,
    positions: Any = None,
    /,
    *,
    tables: tuple[Any, Any] | None = None,
    theta: float = 10000.0,
    interleaved: bool = False,
) -> Any:
    wide = _wide(xp, x)
    if tables is None:
        if positions is None:
            positions = xp.arange(x.shape[-2], device=_place(xp, x))
        tables = rope_tables(xp, positions, dimensions=x.shape[-1], theta=theta, dtype=wide.dtype)
    cos, sin = (_wide(xp, table) for table in tables)
    half = cos.shape[-1]
    rotated, rest = wide[..., : 2 * half], wide[..., 2 * half :]
    if interleaved:
        pairs = xp.reshape(rotated, (*rotated.shape[:-1], half, 2))
        a, b = pairs[..., 0], pairs[..., 1]
    else:
        a, b = rotated[..., :half], rotated[..., half:]
    first, second = a * cos - b * sin, a * sin + b * cos
    if interleaved:
        out = xp.reshape(xp.stack([first, second], axis=-1), rotated.shape)
    else:
        out = xp.concat([first, second], axis=-1)
    return _back(xp, out if rest.shape[-1] == 0 else xp.concat([out, rest], axis=-1), x)


def attention(
    xp: Any,
    q: Any,
    k: Any,
    v: Any,
    /,
    *,
    scale: float | None = None,
    causal: bool = False,
    mask: Any = None,
    key_length: Any = None,
) -> Any:
    if key_length is not None:
        n = int(key_length)
        k, v = k[..., :n, :], v[..., :n, :]
        mask = mask if mask is None or mask.shape[-1] == 1 else mask[..., :n]
    heads = q.shape[-3] if q.ndim > 2 else 1
    kv_heads = k.shape[-3] if k.ndim > 2 else 1
    if kv_heads != heads:
        k, v = (xp.repeat(part, heads // kv_heads, axis=-3) for part in (k, v))
    scale = 1 / math.sqrt(q.shape[-1]) if scale is None else scale
    length, keys = q.shape[-2], k.shape[-2]
    parts = []
    for start in range(0, length, QUERIES) or (0,):
        stop = min(start + QUERIES, length)
        scores = _wide(xp, xp.matmul(q[..., start:stop, :], xp.matrix_transpose(k))) * scale
        if mask is not None:
            part = mask if mask.ndim < 2 or mask.shape[-2] == 1 else mask[..., start:stop, :]
            if mask.dtype == xp.bool:
                scores = xp.where(part, scores, -math.inf)
            else:
                scores = scores + _wide(xp, part)
        if causal:
            place = _place(xp, q)
            last = xp.arange(start, stop, device=place) + (keys - length)
            seen = xp.arange(keys, device=place) <= last[:, None]
            scores = xp.where(seen, scores, -math.inf)
        if keys == 0:
            parts.append(xp.matmul(xp.astype(scores, q.dtype), v))
            continue
        top = xp.max(scores, axis=-1, keepdims=True)
        e = xp.exp(scores - xp.where(top == -math.inf, 0.0, top))
        total = xp.sum(e, axis=-1, keepdims=True)
        weights = e / xp.where(total == 0, 1.0, total)
        parts.append(xp.matmul(_back(xp, weights, q), v))
    return parts[0] if len(parts) == 1 else xp.concat(parts, axis=-2)


def cross_entropy(
    xp: Any,
    logits: Any,
    targets: Any,
    /,
    *,
    reduction: str = "mean",
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Any:
    logs = log_softmax(xp, _wide(xp, logits))
    classes = logits.shape[-1]
    kept = targets != ignore_index
    safe = xp.where(kept, targets, 0)
    picked = xp.take_along_axis(logs, safe[..., None], axis=-1)[..., 0]
    losses = -picked
    if label_smoothing:
        spread = -xp.sum(logs, axis=-1) / classes
        losses = (1 - label_smoothing) * losses + label_smoothing * spread
    losses = xp.where(kept, losses, 0.0)
    if reduction == "none":
        return _back(xp, losses, logits)
    total = xp.sum(losses)
    if reduction == "mean":
        total = total / xp.sum(xp.astype(kept, losses.dtype))
    return _back(xp, total, logits)
