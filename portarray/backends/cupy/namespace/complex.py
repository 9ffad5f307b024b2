"""Parts of complex arrays."""

from __future__ import annotations

import cupy
from cupy import ndarray

__all__ = ["conj", "imag", "real"]

conj = cupy.conjugate


def imag(x: ndarray, /) -> ndarray:
    """Return imaginary parts, as a view; zeros for a real array."""
    return x.imag


def real(x: ndarray, /) -> ndarray:
    """Return real parts, as a view; a real array itself."""
    return x.real
