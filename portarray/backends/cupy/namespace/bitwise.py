"""Bitwise operations on integer and boolean arrays."""

from __future__ import annotations

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.promotion import Operand, common, of_two

__all__ = [
    "bitwise_and", "bitwise_invert", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift",
    "bitwise_xor",
]  # fmt: skip

bitwise_and = of_two(cupy.bitwise_and)
bitwise_invert = cupy.invert
bitwise_or = of_two(cupy.bitwise_or)
bitwise_xor = of_two(cupy.bitwise_xor)


def bitwise_left_shift(x1: Operand, x2: Operand, /) -> ndarray:
    """Return ``x1 << x2``; 0 where all bits are shifted out."""
    x1, x2, _ = common(x1, x2)
    return kernels.left_shift(x1, x2)


def bitwise_right_shift(x1: Operand, x2: Operand, /) -> ndarray:
    """Return ``x1 >> x2``, filling with the sign."""
    x1, x2, _ = common(x1, x2)
    return kernels.right_shift(x1, x2)
