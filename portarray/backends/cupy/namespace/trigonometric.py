"""Trigonometric and hyperbolic functions of arrays."""

from __future__ import annotations

import cupy
from cupy import ndarray

from portarray.backends.cupy.namespace import kernels
from portarray.backends.cupy.namespace.promotion import of_two

__all__ = [
    "acos", "acosh", "asin", "asinh", "atan", "atan2", "atanh", "cos", "cosh", "hypot", "sin",
    "sinh", "tan", "tanh",
]  # fmt: skip

acos = cupy.arccos
asin = cupy.arcsin
asinh = cupy.arcsinh
atan = cupy.arctan
atan2 = of_two(cupy.arctan2)
atanh = cupy.arctanh
cos = cupy.cos
cosh = cupy.cosh
hypot = of_two(cupy.hypot)
sin = cupy.sin
sinh = cupy.sinh


def acosh(x: ndarray, /) -> ndarray:
    """Return inverse hyperbolic cosines."""
    return kernels.acosh(x) if x.dtype.kind == "c" else cupy.arccosh(x)


def tan(x: ndarray, /) -> ndarray:
    """Return tangents."""
    return kernels.tan(x) if x.dtype.kind == "c" else cupy.tan(x)


def tanh(x: ndarray, /) -> ndarray:
    """Return hyperbolic tangents."""
    return kernels.tanh(x) if x.dtype.kind == "c" else cupy.tanh(x)
