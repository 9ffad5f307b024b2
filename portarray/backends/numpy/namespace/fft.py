"""Fourier transforms of NumPy arrays; NumPy 2 keeps single precision."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from portarray.backends.common.silence import silently

Array = np.ndarray[Any, Any]
DType = np.dtype[Any]
_FLOAT64 = np.dtype(np.float64)


def fftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None) -> Array:
    """Return the frequencies of a transform, as np.fft.fftfreq computes them."""
    counts = np.arange(n)
    counts[(n + 1) // 2 :] -= n
    return _frequencies(counts, n, d, dtype or _FLOAT64)


def rfftfreq(n: int, /, *, d: float = 1.0, dtype: DType | None = None, device: Any = None) -> Array:
    """Return the frequencies of a transform of real numbers."""
    return _frequencies(np.arange(n // 2 + 1), n, d, dtype or _FLOAT64)


def _frequencies(counts: Array, n: int, d: float, dtype: DType) -> Array:
    step = 1.0 / (n * d)
    if dtype == _FLOAT64 and math.isfinite(step * n):
        frequencies: Array = counts * step
        return frequencies
    wide: Array = silently(np.multiply, counts, step)
    rounded: Array = silently(wide.astype, dtype, copy=False)
    return rounded
