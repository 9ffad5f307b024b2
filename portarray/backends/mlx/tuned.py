"""Core kernels for MLX: its fused functions, and fewer passes than the generic versions.

On CPUs most of MLX's fused functions are composed of plain ones. There each operation is a pass
over memory, matrix products are twice as fast if the second matrix is contiguous, and float16 is
not vectorized, so it is widened first. On GPUs (never tested) 16-bit arrays are passed to MLX's
fused functions unchanged.

float64 (CPU only) uses the generic kernels: MLX computes exponentials and norms in float32
(mlx/backend/cpu/simd/math.h, mlx/fast.cpp).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx

from portarray.backends.mlx import attention, limits
from portarray.backends.mlx.namespace.floating import REAL
from portarray.backends.mlx.namespace.scalars import on_cpu, wide
from portarray.backends.types import TunedKernel

FLOATING = frozenset({"float16", "bfloat16", "float32"})

_FEW = 4  # rows up to which copying the transposed weight does not pay


def _linear(x: mx.array, weight: mx.array, bias: mx.array | None, /) -> mx.array:
    """Multiply by a transposed weight, made contiguous on CPUs."""
    rows = x.reshape(-1, x.shape[-1]) if x.ndim > 2 else x
    if on_cpu():
        rows, matrix = wide(rows), wide(weight).T
        if rows.size > _FEW * rows.shape[-1]:
            matrix = mx.contiguous(matrix)
        out = mx.matmul(rows, matrix)
        if bias is not None:
            out = out + wide(bias)
        out = _as(out, x)
    elif bias is None:
        out = mx.matmul(rows, weight.T)
    else:
        out = mx.addmm(bias, rows, weight.T)
    return out.reshape(*x.shape[:-1], weight.shape[0]) if x.ndim > 2 else out


def _no_linear(x: mx.array, weight: mx.array, bias: mx.array | None, /) -> str:
    return "" if x.size and weight.size else "there are no elements"


def _softmax(x: mx.array, /, *, axis: int) -> mx.array:
    return _as(mx.softmax(_widened(x), axis=axis, precise=True), x)


def _no_softmax(x: mx.array, /, *, axis: int) -> str:
    return _no_norm(x) or ("MLX's own is not faster on processors" if on_cpu() else "")


def _silu(x: mx.array, /) -> mx.array:
    if x.dtype == mx.float32:
        out: mx.array = x / (1 + REAL.exp(-x))  # MLX's own is inaccurate far from 0
        return out
    x32 = wide(x)
    return _as(x32 / (1 + mx.exp(-x32)), x)


def _gelu(x: mx.array, /, *, approximate: str) -> mx.array:
    x32 = wide(x)
    if approximate == "tanh":
        # (1 + tanh(y)) / 2 is 1 / (1 + exp(-2 y)), which does not cancel far below 0.
        slope = -math.sqrt(8 / math.pi)
        return _as(x32 / (1 + mx.exp(x32 * (slope + 0.044715 * slope * (x32 * x32)))), x)
    return _as(x32 * (0.5 + 0.5 * mx.erf(x32 * math.sqrt(0.5))), x)


def _rms_norm(x: mx.array, weight: mx.array | None, /, *, eps: float) -> mx.array:
    weight = None if weight is None else _widened(weight)
    return _as(mx.fast.rms_norm(_widened(x), weight, eps), x)


def _no_norm(x: mx.array, /, *_: Any, **__: Any) -> str:
    return "" if x.size else "MLX's loops over empty arrays may never end"


def _layer_norm(
    x: mx.array, weight: mx.array | None, bias: mx.array | None, /, *, eps: float
) -> mx.array:
    weight = None if weight is None else _widened(weight)
    bias = None if bias is None else _widened(bias)
    return _as(mx.fast.layer_norm(_widened(x), weight, bias, eps), x)


def _rope(
    x: mx.array,
    positions: mx.array | None,
    /,
    *,
    tables: tuple[mx.array, mx.array],
    theta: float,
    interleaved: bool,
) -> mx.array:
    """Multiply pairs by cosines and swapped pairs by sines: two passes and a sum."""
    x32 = wide(x)
    cos, sin = (wide(table) for table in tables)
    half = cos.shape[-1]
    rotated = x32 if 2 * half == x.shape[-1] else x32[..., : 2 * half]
    shape = (half, 2) if interleaved else (2, half)
    pairs = rotated.reshape(*x.shape[:-1], *shape)
    axis = -1 if interleaved else -2
    swapped = pairs[..., ::-1] if interleaved else pairs[..., ::-1, :]
    out = pairs * mx.expand_dims(cos, axis) + swapped * mx.stack([-sin, sin], axis)
    out = out.reshape(rotated.shape)
    return _as(out if rotated is x32 else mx.concatenate([out, x32[..., 2 * half :]], -1), x)


def _no_rope(x: mx.array, positions: mx.array | None, /, *, tables: Any, **_: Any) -> str:
    if tables is None:
        return "MLX computes angles in float32, and far positions need more"
    return "" if x.size else "there are no elements"


def _widened(x: mx.array) -> mx.array:
    """Widen 16-bit arrays to float32 on CPUs; on GPUs MLX's functions accept them."""
    return wide(x) if on_cpu() else x


def _as(out: mx.array, x: mx.array) -> mx.array:
    return out if out.dtype == x.dtype else out.astype(x.dtype)


def _row(
    function: Callable[..., Any],
    name: str,
    wins: str,
    refuses: Callable[..., str] | None = None,
    *,
    arrays: int = 2,
    is_valid: Callable[..., bool] | None = None,
) -> tuple[TunedKernel]:
    """Return a row of the table; ``arrays`` as in :func:`limits.bounded`."""
    guarded = limits.bounded(name, function, arrays=arrays)
    return (TunedKernel(guarded, name, FLOATING, wins, refuses, is_valid=is_valid),)


TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "linear": _row(_linear, "mlx.core.matmul", "linear prompt 1536x576", _no_linear),
    "softmax": _row(_softmax, "mlx.core.softmax", "softmax 512x4096", _no_softmax, arrays=4),
    "silu": _row(_silu, "one exponential and a quotient", "silu 512x4096", arrays=3),
    "gelu": _row(_gelu, "mlx.core.erf", "gelu 512x4096", arrays=1),
    "relu": _row(lambda x, /: mx.maximum(x, 0.0), "mlx.core.maximum", "relu 512x576", arrays=1),
    "rms_norm": _row(_rms_norm, "mlx.core.fast.rms_norm", "rms_norm 1x576", _no_norm),
    "layer_norm": _row(
        _layer_norm, "mlx.core.fast.layer_norm", "layer_norm 512x4096", _no_norm, arrays=3
    ),
    "rope": _row(_rope, "mlx.core.multiply and add", "rope 32x1024x128", _no_rope),
    "attention": _row(
        attention.attention,
        "attention in blocks",
        "attention 9x1024x64 causal",
        attention.refuses,
        is_valid=attention.is_valid,
    ),
}
