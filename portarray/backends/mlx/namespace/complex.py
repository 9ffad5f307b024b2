"""Parts of complex arrays, and complex arrays from parts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import mlx.core as mx

from portarray.backends.mlx import namespace
from portarray.backends.mlx.namespace.promotion import COMPLEX, on_cpu

conj = mx.conj
real = mx.real


def imag(x: mx.array, /) -> mx.array:
    """Return imaginary parts; zeros for a real array."""
    return mx.imag(x) if x.dtype in COMPLEX else mx.zeros_like(x)


def joined(a: mx.array, b: mx.array) -> mx.array:
    """Return ``a + bj`` bit by bit: a sum would lose signs of zeros, and infinities to NaN."""
    return mx.squeeze(mx.view(mx.stack([a, b], -1), mx.complex64), -1)


def by_parts(
    function: Callable[[Any, mx.array, mx.array], tuple[mx.array, ...]], x: mx.array
) -> mx.array:
    """Return what a function of real and imaginary parts makes of a complex array."""
    return joined(*function(namespace, mx.real(x), mx.imag(x)))


def is_plain(x: mx.array) -> bool:
    """Tell whether MLX's complex functions are textbook formulas for this array.

    They are on GPUs, where they overflow, cancel and know no special values
    (mlx/backend/metal/kernels/unary_ops.h); on the CPU they are those of the C++ library.
    """
    return x.dtype in COMPLEX and not on_cpu()
