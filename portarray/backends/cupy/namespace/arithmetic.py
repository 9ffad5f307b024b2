"""Arithmetic on arrays."""

from __future__ import annotations

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.promotion import Operand, common, of_two

__all__ = [
    "abs", "add", "copysign", "divide", "floor_divide", "multiply", "negative", "nextafter",
    "positive", "reciprocal", "remainder", "sign", "signbit", "subtract",
]  # fmt: skip

abs = cupy.absolute
add = of_two(cupy.add)
copysign = of_two(cupy.copysign)
divide = of_two(cupy.true_divide)
multiply = of_two(cupy.multiply)
negative = cupy.negative
reciprocal = cupy.reciprocal
signbit = cupy.signbit
subtract = of_two(cupy.subtract)

_nextafter = of_two(cupy.nextafter)


def floor_divide(x1: Operand, x2: Operand, /) -> ndarray:
    """Divide and round down; integers divided by 0 give 0."""
    x1, x2, dtype = common(x1, x2)
    return kernels.floor_divide(x1, x2) if dtype.kind == "f" else cupy.floor_divide(x1, x2)


def nextafter(x1: Operand, x2: Operand, /) -> ndarray:
    """Return the next representable number after x1 towards x2."""
    x1, x2, dtype = common(x1, x2)
    return kernels.nextafter(x1, x2) if dtype.char == "f" else _nextafter(x1, x2)


def positive(x: ndarray, /) -> ndarray:
    """Return a copy; CuPy's own refuses booleans."""
    return x.copy()


def remainder(x1: Operand, x2: Operand, /) -> ndarray:
    """Return the remainder, with the divisor's sign. Integers divided by 0 leave 0."""
    x1, x2, dtype = common(x1, x2)
    return kernels.remainder(x1, x2) if dtype.kind == "f" else cupy.remainder(x1, x2)


def sign(x: ndarray, /) -> ndarray:
    """Return the sign: -1, 0 or 1, NaN for NaN, and ``x / abs(x)`` for complex numbers."""
    kind = x.dtype.kind
    if kind == "c":
        return kernels.complex_sign(x)
    return kernels.sign(x) if kind == "f" else cupy.sign(x)
