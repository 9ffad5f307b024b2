"""Parts of complex arrays, and complex arrays from parts."""

from __future__ import annotations

import mlx.core as mx

from portarray.backends.mlx.namespace.promotion import COMPLEX

conj = mx.conj
real = mx.real


def imag(x: mx.array, /) -> mx.array:
    """Return imaginary parts; zeros for a real array."""
    return mx.imag(x) if x.dtype in COMPLEX else mx.zeros_like(x)


def joined(a: mx.array, b: mx.array) -> mx.array:
    """Return ``a + bj`` bit by bit: a sum would lose signs of zeros, and infinities to NaN."""
    return mx.squeeze(mx.view(mx.stack([a, b], -1), mx.complex64), -1)
