"""Fourier transforms of NumPy arrays; NumPy 2 keeps single precision."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def fftfreq(
    n: int, /, *, d: float = 1.0, dtype: np.dtype[Any] | None = None, device: Any = None
) -> Array:
    """Return the frequencies of :func:`fft`, in a dtype: NumPy has float64 only."""
    frequencies = np.fft.fftfreq(n, d=d, device=device)
    return frequencies if dtype is None else frequencies.astype(dtype, copy=False)


def rfftfreq(
    n: int, /, *, d: float = 1.0, dtype: np.dtype[Any] | None = None, device: Any = None
) -> Array:
    """Return the frequencies of :func:`rfft`, in a dtype: NumPy has float64 only."""
    frequencies = np.fft.rfftfreq(n, d=d, device=device)
    return frequencies if dtype is None else frequencies.astype(dtype, copy=False)
