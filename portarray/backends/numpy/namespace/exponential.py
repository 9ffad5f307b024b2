"""Exponentials and logarithms of NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.backends.composed.exponential import expm1_parts

Array = np.ndarray[Any, Any]

exp = np.exp
log = np.log
log10 = np.log10
log1p = np.log1p
log2 = np.log2
logaddexp = np.logaddexp
pow = np.power
sqrt = np.sqrt
square = np.square


def expm1(x: Array, /) -> Array:
    """Return ``exp(x) - 1``; NumPy's own is wrong at complex infinities and NaN."""
    if x.dtype.kind != "c":
        return np.expm1(x)
    out = np.empty_like(x)
    with np.errstate(all="ignore"):
        out.real, out.imag = expm1_parts(np, x.real, x.imag)
    return out
