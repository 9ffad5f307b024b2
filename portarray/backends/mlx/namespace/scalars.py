"""Python scalars as arrays, MLX's dtypes by kind, and where operations run."""

from __future__ import annotations

import builtins
from collections.abc import Callable

import mlx.core as mx

from portarray.backends.types import Rows

Scalar = builtins.bool | int | float | complex

# MLX's dtypes are not singletons: compare them with ==, never with `is`.
UNSIGNED = frozenset((mx.uint8, mx.uint16, mx.uint32, mx.uint64))
INTEGRAL = UNSIGNED | {mx.int8, mx.int16, mx.int32, mx.int64}
HALF = frozenset((mx.float16, mx.bfloat16))
FLOATING = HALF | {mx.float32, mx.float64}

HAS_GPU = mx.is_available(mx.gpu)

_LIMITS = {dtype: (int(mx.iinfo(dtype).min), int(mx.iinfo(dtype).max)) for dtype in INTEGRAL}
_INT64_MAX = _LIMITS[mx.int64][1]


def on_cpu() -> builtins.bool:
    """Return whether operations run on the CPU now."""
    return not HAS_GPU or mx.default_device().type == mx.cpu


def wide(x: mx.array) -> mx.array:
    """Return 16-bit floating-point arrays as float32, others unchanged."""
    return x.astype(mx.float32) if x.dtype in HALF else x


def widest_float() -> mx.Dtype:
    """Return the most precise real dtype to compute in: GPUs lack float64."""
    return mx.float64 if on_cpu() else mx.float32


def default_dtype(scalar: Scalar) -> mx.Dtype:
    """Return the default dtype of a Python scalar's kind."""
    if isinstance(scalar, builtins.bool):
        return mx.bool_
    if isinstance(scalar, int):
        return mx.int64
    return mx.float32 if isinstance(scalar, float) else mx.complex64


def array_of(scalar: Scalar, dtype: mx.Dtype) -> mx.array:
    """Return a 0-d array of a Python scalar, or raise OverflowError where MLX would wrap it."""
    if dtype in _LIMITS:
        low, high = _LIMITS[dtype]
        if not low <= scalar <= high:  # type: ignore[operator]
            raise OverflowError(f"{scalar} is outside the range of {dtype}, {low} to {high}")
        if scalar > _INT64_MAX:  # type: ignore[operator]
            # MLX reads Python integers as int64: https://github.com/ml-explore/mlx/pull/4365
            return mx.view(mx.array(int(scalar) - 2**64, dtype=mx.int64), dtype)  # type: ignore[arg-type]
    elif scalar.__class__ is int and dtype != mx.bool_:
        return mx.array(float(scalar), dtype=dtype)
    return mx.array(scalar, dtype=dtype)


def refuse_double(name: str, x: mx.array) -> None:
    """Raise TypeError for operands with complex128 results, which MLX returns as complex64."""
    if x.dtype == mx.float64:
        raise TypeError(
            f"{name}: MLX does not have complex128, the result of float64\n"
            f"Hint: convert with pa.astype(x, pa.float32)"
        )


def inplace(rows: Rows, *names: str) -> Rows:
    """Return rows of in-place operators for functions in a table.

    They assign to ``x[...]``; MLX reuses the memory of the old values if nothing else refers to it.
    """
    return {
        name: {kinds: _assigning(function) for kinds, function in rows[name].items()}
        for name in names
    }


def _assigning(function: Callable[..., mx.array]) -> Callable[..., mx.array]:
    def assigned(x: mx.array, value: mx.array | Scalar) -> mx.array:
        if value.__class__ is not mx.array:
            value = array_of(value, x.dtype)  # type: ignore[arg-type]
        x[...] = function(x, value)
        return x

    return assigned
