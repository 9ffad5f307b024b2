"""Parts of complex NumPy arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

conj = np.conj


def real(x: Array, /) -> Array:
    """Return the real parts."""
    return x.real


def imag(x: Array, /) -> Array:
    """Return the imaginary parts; zeros of real numbers."""
    return x.imag
