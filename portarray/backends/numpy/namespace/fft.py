"""Fourier transforms of NumPy arrays; NumPy 2 keeps single precision."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]


def _frequencies(function: Callable[..., Array]) -> Callable[..., Array]:
    """Return a function of frequencies in any dtype; NumPy returns float64 only."""

    def frequencies(
        n: int, /, *, d: float = 1.0, dtype: np.dtype[Any] | None = None, device: Any = None
    ) -> Array:
        values = function(n, d=d, device=device)
        return values if dtype is None else values.astype(dtype, copy=False)

    return frequencies


fftfreq = _frequencies(np.fft.fftfreq)
rfftfreq = _frequencies(np.fft.rfftfreq)
