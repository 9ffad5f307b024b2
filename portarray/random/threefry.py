"""Threefry-2x32 with 20 rounds: 64 bits of a key and 64 of a counter to 64 random bits.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC'11; the numbers are those of the authors' Random123 and of ``jax.random``.

The functions are helpers of kernels, and compute with arrays of uint32 when they are called as
plain functions, so that one text says what the numbers are on every device.
"""

from __future__ import annotations

from typing import Any

from portarray._kernel_language.decorator import kernel


@kernel.function
def _rotated(x: Any, count: Any) -> Any:
    """Rotate 32 bits to the left."""
    return (x << count) | (x >> (32 - count))


@kernel.function
def _mixed(x0: Any, x1: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    """Compute four rounds with their rotations."""
    x0 = x0 + x1
    x1 = _rotated(x1, a) ^ x0
    x0 = x0 + x1
    x1 = _rotated(x1, b) ^ x0
    x0 = x0 + x1
    x1 = _rotated(x1, c) ^ x0
    x0 = x0 + x1
    x1 = _rotated(x1, d) ^ x0
    return x0, x1


@kernel.function
def threefry(k0: Any, k1: Any, x0: Any, x1: Any) -> Any:
    """Return the two words for a key ``k0, k1`` and a counter ``x0, x1``, all of uint32."""
    k2 = k0 ^ k1 ^ 0x1BD11BDA
    x0, x1 = _mixed(x0 + k0, x1 + k1, 13, 15, 26, 6)
    x0, x1 = _mixed(x0 + k1, x1 + (k2 + 1), 17, 29, 16, 24)
    x0, x1 = _mixed(x0 + k2, x1 + (k0 + 2), 13, 15, 26, 6)
    x0, x1 = _mixed(x0 + k0, x1 + (k1 + 3), 17, 29, 16, 24)
    x0, x1 = _mixed(x0 + k1, x1 + (k2 + 4), 13, 15, 26, 6)
    return x0 + k2, x1 + (k0 + 5)
