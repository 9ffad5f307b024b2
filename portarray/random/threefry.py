"""Threefry-2x32 with 20 rounds: 64 bits of a key and 64 of a counter to 64 random bits.

J. K. Salmon, M. A. Moraes, R. O. Dror, D. E. Shaw, "Parallel random numbers: as easy as 1, 2, 3",
SC'11; the numbers are those of the authors' Random123 and of ``jax.random``.

The functions are helpers of kernels, and compute with arrays of uint32 when they are called as
plain functions, so that one text says what the numbers are on every device.
"""

from __future__ import annotations

import struct
from functools import lru_cache
from typing import Any

import numpy as np

from portarray._kernel_language.intrinsics import Helper


@Helper
def _rotated(x: Any, count: Any) -> Any:
    """Rotate 32 bits to the left."""
    return (x << count) | (x >> (32 - count))


@Helper
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


@Helper
def threefry(k0: Any, k1: Any, x0: Any, x1: Any) -> Any:
    """Return the two words for a key ``k0, k1`` and a counter ``x0, x1``, all of uint32."""
    k2 = k0 ^ k1 ^ 0x1BD11BDA
    x0, x1 = _mixed(x0 + k0, x1 + k1, 13, 15, 26, 6)
    x0, x1 = _mixed(x0 + k1, x1 + (k2 + 1), 17, 29, 16, 24)
    x0, x1 = _mixed(x0 + k2, x1 + (k0 + 2), 13, 15, 26, 6)
    x0, x1 = _mixed(x0 + k0, x1 + (k1 + 3), 17, 29, 16, 24)
    x0, x1 = _mixed(x0 + k1, x1 + (k2 + 4), 13, 15, 26, 6)
    return x0 + k2, x1 + (k0 + 5)


Words = np.ndarray[Any, np.dtype[np.uint32]]


def threefry_of_few(k0: int, k1: int, high: int, low: int, count: int) -> Words:
    """Return both words for ``count`` counters from ``high, low``, of shape ``(count, 2)``.

    On the host, and the counters are 64 bits apart in one Python integer: for some dozens, 160
    operations on it take a tenth of the time of as many array functions. ``low + count`` must not
    exceed 2**32.
    """
    ones, steps, masks = _lanes(count)
    a, b, c = ones * k0, ones * k1, ones * (k0 ^ k1 ^ 0x1BD11BDA)
    x0, x1 = _even_rounds(ones * high + a, (ones * low + steps + b) & masks, masks)
    x0, x1 = _odd_rounds(x0 + b, (x1 + c + ones) & masks, masks)
    x0, x1 = _even_rounds(x0 + c, (x1 + a + ones * 2) & masks, masks)
    x0, x1 = _odd_rounds(x0 + a, (x1 + b + ones * 3) & masks, masks)
    x0, x1 = _even_rounds(x0 + b, (x1 + c + ones * 4) & masks, masks)
    words = ((x0 + c) & masks) | ((x1 + a + ones * 5) & masks) << 32
    # Not np.frombuffer: torch.compile does not take arrays over bytes.
    numbers = struct.unpack(f"<{2 * count}I", words.to_bytes(8 * count, "little"))
    return np.array(numbers, np.uint32).reshape(count, 2)


# Only x1 is masked to 32 bits, before each rotation: the sums in x0 stay below 2**38. Loops and
# calls for each rotation would double the time.
def _even_rounds(x0: int, x1: int, masks: int) -> tuple[int, int]:
    """Compute four rounds in all lanes, with the rotations of the even rounds of ``threefry``."""
    x0 += x1
    x1 = ((x1 << 13 | x1 >> 19) ^ x0) & masks
    x0 += x1
    x1 = ((x1 << 15 | x1 >> 17) ^ x0) & masks
    x0 += x1
    x1 = ((x1 << 26 | x1 >> 6) ^ x0) & masks
    x0 += x1
    return x0, ((x1 << 6 | x1 >> 26) ^ x0) & masks


def _odd_rounds(x0: int, x1: int, masks: int) -> tuple[int, int]:
    """Compute four rounds in all lanes, with the rotations of the odd rounds of ``threefry``."""
    x0 += x1
    x1 = ((x1 << 17 | x1 >> 15) ^ x0) & masks
    x0 += x1
    x1 = ((x1 << 29 | x1 >> 3) ^ x0) & masks
    x0 += x1
    x1 = ((x1 << 16 | x1 >> 16) ^ x0) & masks
    x0 += x1
    return x0, ((x1 << 24 | x1 >> 8) ^ x0) & masks


@lru_cache(maxsize=64)
def _lanes(count: int) -> tuple[int, int, int]:
    """Return integers with 1 in each lane of 64 bits, with its index, and with 32 bits set."""
    ones = sum(1 << 64 * n for n in range(count))
    return ones, sum(n << 64 * n for n in range(count)), ones * 0xFFFFFFFF
