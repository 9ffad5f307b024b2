"""Trigonometric and hyperbolic functions of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

acos = np.arccos
acosh = np.arccosh
asin = np.arcsin
asinh = np.arcsinh
atan = np.arctan
atan2 = np.arctan2
atanh = np.arctanh
cos = np.cos
cosh = np.cosh
hypot = np.hypot
sin = np.sin
sinh = np.sinh
tan = np.tan


def tanh(x: Array, /) -> Array:
    """Return the hyperbolic tangent; at complex infinities the zero keeps the sign of its part."""
    out = np.tanh(x)
    if x.dtype.kind == "c":
        # C (and so NumPy) gives 0*sin(2b), the standard 0 with the sign of b.
        flat = np.isinf(x.real) & np.isfinite(x.imag)
        out = np.asarray(out)
        out.imag[flat] = np.copysign(0.0, x.imag[flat])
    return out
