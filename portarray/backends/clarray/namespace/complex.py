"""Parts of complex numbers. clarray's own functions."""

from __future__ import annotations

from portarray.clarray.complex import conj, imag, real

__all__ = [
    "conj",
    "imag",
    "real",
]
