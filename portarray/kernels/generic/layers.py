"""Softmax, activations, normalization and losses."""

from __future__ import annotations

import math
from typing import Any

from portarray.kernels.generic.conversion import as_dtype, cast_back, negative_out_of_bounds, widen


def softmax(xp: Any, x: Any, /, *, axis: int) -> Any:
    """Divide exponentials by their sum, after subtracting the maximum."""
    if x.shape[axis] == 0:  # max of an empty axis raises
        return x
    wide = widen(xp, x)
    powers = xp.exp(wide - xp.max(wide, axis=axis, keepdims=True))
    return cast_back(xp, powers / xp.sum(powers, axis=axis, keepdims=True), x)


def log_softmax(xp: Any, x: Any, /, *, axis: int) -> Any:
    """Subtract the logarithm of the sum of exponentials."""
    if x.shape[axis] == 0:
        return x
    wide = widen(xp, x)
    below = wide - xp.max(wide, axis=axis, keepdims=True)
    total = xp.sum(xp.exp(below), axis=axis, keepdims=True)
    return cast_back(xp, below - xp.log(total), x)


def silu(xp: Any, x: Any, /) -> Any:
    """Multiply by the sigmoid."""
    from portarray.backends.composed.exponential import expit  # many programs do without

    wide = widen(xp, x)
    return cast_back(xp, wide * expit(xp, wide), x)


def gelu(xp: Any, x: Any, /, *, approximate: str) -> Any:
    """Multiply by the normal distribution function, or by its approximation with tanh."""
    wide = widen(xp, x)
    if approximate == "tanh":
        from portarray.backends.composed.exponential import expit

        # (1 + tanh(y)) / 2 is sigmoid(2 y), which does not cancel far below 0. Beyond 30 it is 0
        # or 1 in every dtype, and powers of large numbers would overflow.
        y = xp.clip(wide, -30.0, 30.0)
        y = math.sqrt(8 / math.pi) * (y + 0.044715 * y * y * y)
        return cast_back(xp, wide * expit(xp, y), x)
    from portarray.backends.composed.special.normal import normal_tail  # many programs do without

    tail = normal_tail(xp, xp.abs(wide))
    return cast_back(xp, wide * xp.where(wide < 0, tail, 1 - tail), x)


def relu(xp: Any, x: Any, /) -> Any:
    """Return the larger of x and 0, whose gradient at 0 is 0."""
    return xp.where(x <= 0, 0.0, x)


def rms_norm(xp: Any, x: Any, weight: Any, /, *, eps: float) -> Any:
    """Divide by the root of the mean square."""
    wide = widen(xp, x)
    out = wide / xp.sqrt(_mean(xp, wide * wide) + eps)
    return cast_back(xp, out if weight is None else out * widen(xp, weight), x)


def layer_norm(xp: Any, x: Any, weight: Any, bias: Any, /, *, eps: float) -> Any:
    """Subtract the mean and divide by the standard deviation."""
    wide = widen(xp, x)
    centred = wide - _mean(xp, wide)
    out = centred / xp.sqrt(_mean(xp, centred * centred) + eps)
    if weight is not None:
        out = out * widen(xp, weight)
    return cast_back(xp, out if bias is None else out + widen(xp, bias), x)


def _mean(xp: Any, x: Any) -> Any:
    """Return the mean of the last axis, 0 if it is empty."""
    return xp.sum(x, axis=-1, keepdims=True) / max(x.shape[-1], 1)


def cross_entropy(
    xp: Any,
    logits: Any,
    targets: Any,
    /,
    *,
    reduction: str,
    ignore_index: int,
    label_smoothing: float,
) -> Any:
    """Return the negative log-likelihood of the target classes."""
    wide = widen(xp, logits)
    below = wide - xp.max(wide, axis=-1, keepdims=True)
    total = xp.log(xp.sum(xp.exp(below), axis=-1))
    limits = xp.iinfo(targets.dtype)
    counts = None
    if limits.min <= ignore_index <= limits.max:
        counts = targets != ignore_index
        targets = xp.where(counts, targets, 0)
    targets = negative_out_of_bounds(xp, targets, logits.shape[-1])
    due = xp.take_along_axis(below, targets[..., None], axis=-1)[..., 0]
    losses = total - due
    if label_smoothing:
        even = total - xp.sum(below, axis=-1) / logits.shape[-1]
        losses = (1 - label_smoothing) * losses + label_smoothing * even
    losses = losses if counts is None else xp.where(counts, losses, 0.0)
    if reduction == "none":
        return cast_back(xp, losses, logits)
    loss = xp.sum(losses)
    if reduction == "mean":
        total_count = (
            math.prod(losses.shape) if counts is None else xp.sum(as_dtype(xp, counts, wide.dtype))
        )
        loss = loss / total_count
    return cast_back(xp, loss, logits)
