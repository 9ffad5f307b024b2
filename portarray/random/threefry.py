"""Threefry-2x32 with 20 rounds: 64 bits of a key and 64 of a counter to 64 random bits.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC'11; the numbers are those of the authors' Random123 and of ``jax.random``.

The functions are helpers of kernels, and compute with arrays of uint32 when they are called as
plain functions, so that one text says what the numbers are on every device.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

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


_MASK32 = 0xFFFFFFFF
_ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))
Words = np.ndarray[Any, np.dtype[np.uint32]]


def threefry_of_few(k0: int, k1: int, high: int, low: int, count: int) -> tuple[Words, Words]:
    """Return the words for ``count`` counters from ``high, low`` on the host.

    The counters are 64 bits apart in one Python integer: for some dozens, 140 operations on it take
    a tenth of the time of as many array functions. ``low + count`` must not exceed 2**32.
    """
    ones, steps = _lanes(count)
    masks = ones * _MASK32
    keys = k0, k1, k0 ^ k1 ^ 0x1BD11BDA
    x0, x1 = (ones * (high + k0)) & masks, (ones * (low + k1) + steps) & masks
    for turn in range(5):
        for shift in _ROTATIONS[turn % 2]:
            x0 = (x0 + x1) & masks
            x1 = ((x1 << shift | x1 >> 32 - shift) & masks) ^ x0
        x0 = (x0 + ones * keys[(turn + 1) % 3]) & masks
        x1 = (x1 + ones * (keys[(turn + 2) % 3] + turn + 1)) & masks
    first, second = (
        np.frombuffer(x.to_bytes(8 * count, "little"), "<u8").astype(np.uint32) for x in (x0, x1)
    )
    return first, second


@lru_cache(maxsize=64)
def _lanes(count: int) -> tuple[int, int]:
    """Return integers with 1 in each lane of 64 bits, and with its index."""
    return sum(1 << 64 * n for n in range(count)), sum(n << 64 * n for n in range(count))
