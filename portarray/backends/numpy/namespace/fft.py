"""Fourier transforms of NumPy arrays; NumPy 2 keeps single precision."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
_FLOAT64 = np.dtype(np.float64)


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: np.dtype[Any] | None = None, device: Any = None
) -> Array:
    """Return the frequencies of a transform, as np.fft.fftfreq computes them."""
    counts = np.arange(n)
    counts[(n + 1) // 2 :] -= n
    return (counts * (1.0 / (n * d))).astype(dtype or _FLOAT64, copy=False)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: np.dtype[Any] | None = None, device: Any = None
) -> Array:
    """Return the frequencies of a transform of real numbers."""
    return (np.arange(n // 2 + 1) * (1.0 / (n * d))).astype(dtype or _FLOAT64, copy=False)
