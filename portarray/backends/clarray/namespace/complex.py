"""Parts of complex numbers."""

from __future__ import annotations

from portarray.clarray import Array
from portarray.clarray.complex import conj, real
from portarray.clarray.complex import imag as _imag
from portarray.clarray.creation import zeros_like

__all__ = ["conj", "imag", "real"]


def imag(x: Array, /) -> Array:
    """Return imaginary parts, as a view; zeros for a real array."""
    return _imag(x) if x.dtype.kind == "c" else zeros_like(x)
