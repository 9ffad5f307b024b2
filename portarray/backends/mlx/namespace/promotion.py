"""Which dtype operands meet in, and Python scalars made into arrays.

The rule is :mod:`portarray.backends.promotion`'s. MLX's own differs: it makes float32 of uint64 and
a signed integer, and complex64 of float64 and complex numbers.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import Any

import mlx.core as mx
import numpy as np

from portarray.backends import promotion
from portarray.backends.mlx.devices import CPU_DTYPES

__all__ = [
    "BITS",
    "COMPLEX",
    "FLOATING",
    "INTEGRAL",
    "SIGNED",
    "UNSIGNED",
    "Scalar",
    "array_of",
    "default_float",
    "default_int",
    "on_cpu",
    "pair",
    "promote",
    "promote_types",
    "scalar_dtype",
    "single",
    "together",
    "widest_float",
]

Scalar = builtins.bool | int | float | complex

# MLX's dtypes are equal and hash alike, but no single objects: compare with ==, never with `is`.
SIGNED = (mx.int8, mx.int16, mx.int32, mx.int64)
UNSIGNED = (mx.uint8, mx.uint16, mx.uint32, mx.uint64)
INTEGRAL = frozenset(SIGNED + UNSIGNED)
FLOATING = frozenset({mx.float16, mx.bfloat16, mx.float32, mx.float64})
COMPLEX = frozenset({mx.complex64})

BITS = {
    mx.float16: mx.int16,
    mx.bfloat16: mx.int16,
    mx.float32: mx.int32,
    mx.float64: mx.int64,
}
"""Each real dtype to the integer dtype in which its bits can be seen."""

_LIMITS = {dtype: mx.iinfo(dtype) for dtype in INTEGRAL}
_HAS_GPU = mx.is_available(mx.gpu)


def on_cpu() -> builtins.bool:
    """Tell whether operations run on the CPU now."""
    return not _HAS_GPU or mx.default_device().type == mx.cpu


def default_float() -> mx.Dtype:
    """Return the default real dtype, which matches the default complex one."""
    return mx.float32


def widest_float() -> mx.Dtype:
    """Return the most precise real dtype to compute in: GPUs lack float64."""
    return mx.float64 if on_cpu() else mx.float32


def default_int() -> mx.Dtype:
    """Return the default integer dtype."""
    return mx.int64


_RULE = promotion.Native(CPU_DTYPES)
promote = _RULE.promote
promote_types = _RULE.promote_two

# complex128 is nowhere: what MLX has for it is complex64.
_COMPLEX = np.dtype(np.complex64)
_DEFAULTS: dict[str, np.dtype[Any]] = {
    "i": np.dtype(np.int64),
    "f": np.dtype(np.float32),
    "c": _COMPLEX,
}


def scalar_dtype(scalar: Scalar, dtype: mx.Dtype) -> mx.Dtype:
    """Return the dtype that a Python scalar and a dtype meet in.

    Raises
    ------
    TypeError
        For a complex scalar with float64: they meet in complex128, which MLX lacks.
    """
    if isinstance(scalar, complex) and dtype == mx.float64:
        return promote_types(dtype, mx.complex64)
    return _RULE.scalar_dtype(scalar, dtype, _DEFAULTS)


def array_of(scalar: Scalar, dtype: mx.Dtype) -> mx.array:
    """Return a 0-d array of a Python scalar of a kind that the dtype can hold.

    Raises
    ------
    OverflowError
        If an integer is beyond the range of an integer dtype, where MLX would wrap it.
    """
    if dtype in INTEGRAL:
        limits = _LIMITS[dtype]
        if not limits.min <= scalar <= limits.max:  # type: ignore[operator]
            raise OverflowError(
                f"{scalar} is outside the range of {dtype}, {limits.min} to {limits.max}"
            )
        if scalar > _LIMITS[mx.int64].max:  # type: ignore[operator]
            # MLX reads Python integers as int64: https://github.com/ml-explore/mlx/pull/4365
            wrapped = int(scalar) - 2**64  # type: ignore[arg-type]
            return mx.view(mx.array(wrapped, dtype=mx.int64), dtype)
    elif scalar.__class__ is int and dtype != mx.bool_:
        return mx.array(float(scalar), dtype=dtype)
    return mx.array(scalar, dtype=dtype)


def pair(x1: mx.array | Scalar, x2: mx.array | Scalar) -> tuple[mx.array, mx.array]:
    """Return two operands as arrays of one dtype; one of them may be a Python scalar."""
    if isinstance(x1, mx.array):
        first = x1.dtype
        if isinstance(x2, mx.array):
            second = x2.dtype
            if first == second:
                return x1, x2
            dtype = promote_types(first, second)
            return x1.astype(dtype), x2.astype(dtype)
        dtype = scalar_dtype(x2, first)
        return (x1 if dtype == first else x1.astype(dtype)), array_of(x2, dtype)
    if isinstance(x2, mx.array):
        array, scalar = pair(x2, x1)
        return scalar, array
    raise TypeError(
        f"at least one operand must be an MLX array, "
        f"got {type(x1).__name__} and {type(x2).__name__}"
    )


def together(arrays: Sequence[mx.array]) -> list[mx.array]:
    """Return arrays converted to the dtype that they all meet in."""
    dtype = promote(*[x.dtype for x in arrays])
    return [x if x.dtype == dtype else x.astype(dtype) for x in arrays]


def single(function: Callable[..., mx.array], *operands: mx.array) -> mx.array:
    """Call a function that is made for float32 and float64; half precision goes through float32."""
    dtype = operands[0].dtype
    if dtype.size > 2:
        return function(*operands)
    return function(*[x.astype(mx.float32) for x in operands]).astype(dtype)
