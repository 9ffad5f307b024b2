"""Exponentials, logarithms, powers and roots of arrays."""

from __future__ import annotations

from typing import Any

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.promotion import Operand, common, of_two

__all__ = [
    "exp", "expm1", "log", "log10", "log1p", "log2", "logaddexp", "pow", "sqrt", "square",
]  # fmt: skip

exp = cupy.exp
logaddexp = of_two(cupy.logaddexp)
sqrt = cupy.sqrt
square = cupy.square

_power = of_two(cupy.power)


def expm1(x: ndarray, /) -> ndarray:
    """Return ``exp(x) - 1``, exact near 0."""
    return kernels.expm1(x) if x.dtype.kind == "c" else cupy.expm1(x)


def log(x: ndarray, /) -> ndarray:
    """Return natural logarithms."""
    return kernels.log(x) if x.dtype.kind == "c" else cupy.log(x)


def log10(x: ndarray, /) -> ndarray:
    """Return logarithms to base 10."""
    return kernels.log10(x) if x.dtype.kind == "c" else cupy.log10(x)


def log1p(x: ndarray, /) -> ndarray:
    """Return ``log(1 + x)``, exact near 0."""
    return kernels.log1p(x) if x.dtype.kind == "c" else cupy.log1p(x)


def log2(x: ndarray, /) -> ndarray:
    """Return logarithms to base 2."""
    return kernels.log2(x) if x.dtype.kind == "c" else cupy.log2(x)


def pow(x1: Operand, x2: Operand, /) -> ndarray:
    """Return x1 to the power of x2.

    Raises
    ------
    ValueError
        For integers to a negative power. Looking for one in an array waits for the device.
    """
    x1, x2, dtype = common(x1, x2)
    if dtype.kind == "c":
        return kernels.complex_power(x1, x2)
    if dtype.kind == "i" and _has_negative(x2):
        raise ValueError("integers have no negative powers; convert x1 to a floating-point dtype")
    return _power(x1, x2)


def _has_negative(x: Any) -> bool:
    return bool((x < 0).any() if isinstance(x, ndarray) else x < 0)
