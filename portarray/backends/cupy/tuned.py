"""Core kernels for CuPy: one launch each instead of many.

Tested by compiling them for CPUs, not yet on a GPU: the benchmark rows in ``wins`` are still to be
measured. Attention and products use the generic versions: cuBLAS does most of the work.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import cupy
import numpy as np

from portarray.backends.cupy import neural
from portarray.backends.types import TunedKernel

FLOATING = frozenset({"float16", "float32", "float64"})


def _softmax(x: cupy.ndarray, /, *, axis: int) -> cupy.ndarray:
    return neural.softmax(x, *_exponentials(x, axis))


def _log_softmax(x: cupy.ndarray, /, *, axis: int) -> cupy.ndarray:
    return neural.log_softmax(x, *_exponentials(x, axis))


def _exponentials(x: cupy.ndarray, axis: int) -> tuple[cupy.ndarray, cupy.ndarray]:
    """Return the maximum along an axis and the sum of ``exp(x - maximum)``."""
    top = cupy.max(x, axis=axis, keepdims=True).astype(_wide(x), copy=False)
    return top, neural.exponentials(x, top, axis=axis, keepdims=True)


def _refuse_empty(x: cupy.ndarray, *args: Any, **options: Any) -> str:
    return "" if x.size else "the array is empty"


def _silu(x: cupy.ndarray, /) -> cupy.ndarray:
    return neural.silu(x)


def _gelu(x: cupy.ndarray, /, *, approximate: str) -> cupy.ndarray:
    return neural.gelu_tanh(x) if approximate == "tanh" else neural.gelu(x)


def _rms_norm(x: cupy.ndarray, weight: cupy.ndarray | None, /, *, eps: float) -> cupy.ndarray:
    add = neural.squares if x.dtype == np.float64 else neural.squares32
    square = add(x, axis=-1, keepdims=True) / x.shape[-1]
    return neural.rms_norm(x, square, eps, 1.0 if weight is None else weight)


def _layer_norm(
    x: cupy.ndarray, weight: cupy.ndarray | None, bias: cupy.ndarray | None, /, *, eps: float
) -> cupy.ndarray:
    add = neural.total if x.dtype == np.float64 else neural.total32
    mean = add(x, axis=-1, keepdims=True) / x.shape[-1]
    square = neural.distance(x, mean, axis=-1, keepdims=True) / x.shape[-1]
    weight = 1.0 if weight is None else weight
    return neural.layer_norm(x, mean, square, eps, weight, 0.0 if bias is None else bias)


def _rope(
    x: cupy.ndarray,
    positions: cupy.ndarray | None,
    /,
    *,
    tables: tuple[cupy.ndarray, cupy.ndarray],
    theta: float,
    interleaved: bool,
) -> cupy.ndarray:
    """Rotate pairs, writing into views of the result."""
    cos, sin = tables
    half = cos.shape[-1]
    first, second = slice(0, half), slice(half, 2 * half)
    if interleaved:
        first, second = slice(0, 2 * half, 2), slice(1, 2 * half, 2)
    out = cupy.empty(x.shape, x.dtype)
    pairs = x[..., first], x[..., second]
    neural.rotate(*pairs, cos, sin, out[..., first], out[..., second])
    if 2 * half < x.shape[-1]:
        out[..., 2 * half :] = x[..., 2 * half :]
    return out


def _no_rope(x: cupy.ndarray, positions: Any, /, *, tables: Any, **options: Any) -> str:
    return "" if tables is not None else "without tables the generic version computes the angles"


def _wide(x: cupy.ndarray) -> np.dtype[Any]:
    return np.dtype(np.float64 if x.dtype == np.float64 else np.float32)


def _row(
    function: Callable[..., Any], wins: str, refuses: Callable[..., str] | None = None
) -> tuple[TunedKernel]:
    name = f"portarray's CUDA kernel {function.__name__.removeprefix('_')}"
    return (TunedKernel(function, name, FLOATING, wins, refuses),)


TUNED: Mapping[str, tuple[TunedKernel, ...]] = {
    "softmax": _row(_softmax, "softmax 512x4096", _refuse_empty),
    "log_softmax": _row(_log_softmax, "log_softmax 512x4096", _refuse_empty),
    "silu": _row(_silu, "silu 512x4096"),
    "gelu": _row(_gelu, "gelu 512x4096"),
    "rms_norm": _row(_rms_norm, "rms_norm 512x4096", _refuse_empty),
    "layer_norm": _row(_layer_norm, "layer_norm 512x4096", _refuse_empty),
    "rope": _row(_rope, "rope 32x1024x128", _no_rope),
}
