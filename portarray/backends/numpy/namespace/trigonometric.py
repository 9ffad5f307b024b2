"""Hyperbolic functions of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.backends.types import Rows

Array = np.ndarray[Any, Any]


def _complex_tanh(x: Array, /) -> Array:
    """Return the hyperbolic tangent; at infinities the zero keeps the imaginary part's sign."""
    out = np.asarray(np.tanh(x))
    # C and NumPy return 0*sin(2b), the standard wants 0 with the sign of b.
    flat = np.isinf(x.real) & np.isfinite(x.imag)
    out.imag[flat] = np.copysign(0.0, x.imag[flat])
    return out


BY_DTYPE: Rows = {"tanh": {"f": np.tanh, "c": _complex_tanh}}
