"""Arithmetic of signed integers for compiled functions, where C++ leaves overflow undefined.

MLX compiles fused calls with a C++ compiler on CPUs, which takes ``x + 1 > x`` for true. Unsigned
integers of the same width wrap around, and have the same bits. Narrower integers are ints in C++,
which do not overflow.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import mlx.core as mx

from portarray.backends.mlx.namespace.scalars import array_of

__all__ = ["WRAPPING"]

Function = Callable[..., mx.array]

_UNSIGNED = {mx.int32: mx.uint32, mx.int64: mx.uint64}


def _as_unsigned(function: Function) -> Function:
    def wrapping(*args: Any, **options: Any) -> mx.array:
        dtype = next(x.dtype for x in args if isinstance(x, mx.array))
        unsigned = _UNSIGNED[dtype]
        arrays = [x if isinstance(x, mx.array) else array_of(x, dtype) for x in args]
        others = {
            key: x.astype(unsigned) if isinstance(x, mx.array) else x for key, x in options.items()
        }
        return function(*[x.astype(unsigned) for x in arrays], **others).astype(dtype)

    return wrapping


def _abs(function: Function) -> Function:
    def wrapping(x: mx.array) -> mx.array:
        sign = mx.right_shift(x, 8 * x.dtype.size - 1).astype(_UNSIGNED[x.dtype])  # 0 or -1
        bits = mx.bitwise_xor(x.astype(sign.dtype), sign)
        return mx.subtract(bits, sign).astype(x.dtype)

    return wrapping


def _pow(function: Function) -> Function:
    def wrapping(x1: Any, x2: Any) -> mx.array:
        function(x1, x2)  # refuses negative exponents
        return _as_unsigned(mx.power)(x1, x2)

    return wrapping


WRAPPING: Mapping[str, Callable[[Function], Function]] = {
    "abs": _abs,
    "add": _as_unsigned,
    "diff": _as_unsigned,
    "multiply": _as_unsigned,
    "negative": _as_unsigned,
    "pow": _pow,
    "square": _as_unsigned,
    "subtract": _as_unsigned,
}
"""What makes a function of int32 and int64 one that wraps around, by name."""
