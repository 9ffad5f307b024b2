"""What makes the numbers: a kernel for each kind of draw, and the same of arrays of the words.

A work-item's counter is its position plus ``high`` and ``low``, the 32-bit halves of where the
draw starts; of a ``block``, which is a part of each of an array's rows, the next ``row`` positions
follow after a ``gap``. Products and sums are rounded one by one on every device, kernels included,
so that both ways give the same numbers.
"""

from __future__ import annotations

from typing import Any

import portarray.kernel_language as kl
from portarray._api.data_type import astype
from portarray._api.manipulation.joining import stack
from portarray._api.searching import where
from portarray._array import dtypes
from portarray._array.array import Array
from portarray._kernel_language.decorator import kernel
from portarray.random import quantiles
from portarray.random.threefry import threefry

F32, F64 = dtypes.STANDARD["float32"], dtypes.STANDARD["float64"]
U32, U64 = dtypes.STANDARD["uint32"], dtypes.STANDARD["uint64"]

# Constants of kernels as well.
HALF = 0.5
LOW31 = 2**31 - 1
TWO_21, TWO_32 = 2.0**21, 2.0**32
STEP32, STEP53, STEP64 = 2.0**-32, 2.0**-53, 2.0**-64


@kernel.function
def _words(key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, i: Any) -> Any:
    """Return the two words of a position."""
    start = kl.uint32(low)
    c1 = kl.uint32(i) + start
    if block:
        c1 += kl.uint32(i) // kl.uint32(row) * kl.uint32(gap)
    c0 = kl.uint32(high)
    if c1 < start:
        c0 += kl.uint32(1)
    return threefry(key[0], key[1], c0, c1)


# --- bits ---------------------------------------------------------------------------------------


@kernel(static=("block",))
def fill_words(out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any) -> None:
    """Write both words."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    out[i, 0] = x0
    out[i, 1] = x1


def words(x0: Array, x1: Array) -> Array:
    """Return both words, side by side."""
    return stack([x0, x1], axis=-1)


@kernel(static=("block",))
def fill_bits32(out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any) -> None:
    """Write the exclusive or of the words."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    out[i] = x0 ^ x1


def bits32(x0: Array, x1: Array) -> Array:
    """Return 32 random bits, those of ``jax.random.bits``."""
    return x0 ^ x1


@kernel(static=("block",))
def fill_bits64(out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any) -> None:
    """Write both words as one number."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    out[i] = (kl.uint64(x0) << 32) | kl.uint64(x1)


def bits64(x0: Array, x1: Array) -> Array:
    """Return 64 random bits, those of ``jax.random.bits``."""
    return (astype(x0, U64) << 32) | astype(x1, U64)


# --- uniform numbers ----------------------------------------------------------------------------


@kernel(static=("block", "shift"))
def fill_uniform32(
    out: Any,
    key: Any,
    high: Any,
    low: Any,
    block: Any,
    row: Any,
    gap: Any,
    shift: Any,
    step: Any,
    width: Any,
    least: Any,
    most: Any,
) -> None:
    """Write what :func:`uniform32` returns."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    out[i] = min(kl.float32((x0 ^ x1) >> shift) * step * width + least, most)


def uniform32(
    x0: Array, x1: Array, shift: int, step: float, width: float, least: float, most: float
) -> Array:
    """Return multiples of ``step`` in [0, 1), times ``width`` plus ``least``, up to ``most``."""
    return _within(astype((x0 ^ x1) >> shift, F32) * step, width, least, most)


@kernel(static=("block",))
def fill_uniform64(
    out: Any,
    key: Any,
    high: Any,
    low: Any,
    block: Any,
    row: Any,
    gap: Any,
    width: Any,
    least: Any,
    most: Any,
) -> None:
    """Write what :func:`uniform64` returns."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    u = (kl.float64(x0) * TWO_21 + kl.float64(x1 >> 11)) * STEP53
    out[i] = min(u * width + least, most)


def uniform64(x0: Array, x1: Array, width: float, least: float, most: float) -> Array:
    """Return multiples of 2**-53 in [0, 1), times ``width`` plus ``least``, up to ``most``."""
    u = (astype(x0, F64) * TWO_21 + astype(x1 >> 11, F64)) * STEP53
    return _within(u, width, least, most)


def _within(u: Array, width: float, least: float, most: float) -> Array:
    if (width, least) == (1, 0):
        return u
    x = u * width + least
    return where(most < x, most, x)


# --- normal numbers -----------------------------------------------------------------------------
# Quantiles of (x + 1/2) / 2**32, and of twice as many bits in float64, are q from the middle and p
# from the nearer end. Both are made of m, the bits that count from the middle.


@kernel(static=("block",))
def fill_normal32(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, scale: Any, loc: Any
) -> None:
    """Write what :func:`normal32` returns."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    x = x0 ^ x1
    m = (x if x > LOW31 else ~x) & LOW31
    q = (kl.float32(m) + HALF) * STEP32
    p = (kl.float32(m ^ LOW31) + HALF) * STEP32
    z = quantiles.normal32(q, p, kl.float32(0))
    out[i] = (z if x > LOW31 else -z) * scale + loc


def normal32(x0: Array, x1: Array, scale: float, loc: float) -> Array:
    """Return normal numbers."""
    x = x0 ^ x1
    above = x > LOW31
    m = where(above, x, ~x) & LOW31
    q = (astype(m, F32) + HALF) * STEP32
    p = (astype(m ^ LOW31, F32) + HALF) * STEP32
    z = quantiles.normal32(q, p, q * 0)
    return _scaled(where(above, z, -z), scale, loc)


@kernel(static=("block",))
def fill_normal64(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, scale: Any, loc: Any
) -> None:
    """Write what :func:`normal64` returns."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    above = x0 > LOW31
    m0 = (x0 if above else ~x0) & LOW31
    m1 = x1 if above else ~x1
    q = (kl.float64(m0) * TWO_32 + (kl.float64(m1) + HALF)) * STEP64
    p = (kl.float64(m0 ^ LOW31) * TWO_32 + (kl.float64(~m1) + HALF)) * STEP64
    z = quantiles.normal64(q, p, kl.float64(0))
    out[i] = (z if above else -z) * scale + loc


def normal64(x0: Array, x1: Array, scale: float, loc: float) -> Array:
    """Return normal numbers."""
    above = x0 > LOW31
    m0 = where(above, x0, ~x0) & LOW31
    m1 = where(above, x1, ~x1)
    q = (astype(m0, F64) * TWO_32 + (astype(m1, F64) + HALF)) * STEP64
    p = (astype(m0 ^ LOW31, F64) * TWO_32 + (astype(~m1, F64) + HALF)) * STEP64
    z = quantiles.normal64(q, p, q * 0)
    return _scaled(where(above, z, -z), scale, loc)


def _scaled(z: Array, scale: float, loc: float) -> Array:
    return z if (scale, loc) == (1, 0) else z * scale + loc


# --- exponential numbers ------------------------------------------------------------------------


@kernel(static=("block",))
def fill_exponential32(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, scale: Any
) -> None:
    """Write what :func:`exponential32` returns."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    x = x0 ^ x1
    u = (kl.float32(x) + HALF) * STEP32
    v = (kl.float32(~x) + HALF) * STEP32
    out[i] = quantiles.exponential32(u, v, kl.float32(0)) * scale


def exponential32(x0: Array, x1: Array, scale: float) -> Array:
    """Return exponential numbers."""
    x = x0 ^ x1
    u = (astype(x, F32) + HALF) * STEP32
    v = (astype(~x, F32) + HALF) * STEP32
    found: Array = quantiles.exponential32(u, v, u * 0) * scale
    return found


@kernel(static=("block",))
def fill_exponential64(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, scale: Any
) -> None:
    """Write what :func:`exponential64` returns."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    u = (kl.float64(x0) * TWO_32 + (kl.float64(x1) + HALF)) * STEP64
    v = (kl.float64(~x0) * TWO_32 + (kl.float64(~x1) + HALF)) * STEP64
    out[i] = quantiles.exponential64(u, v, kl.float64(0)) * scale


def exponential64(x0: Array, x1: Array, scale: float) -> Array:
    """Return exponential numbers."""
    u = (astype(x0, F64) * TWO_32 + (astype(x1, F64) + HALF)) * STEP64
    v = (astype(~x0, F64) * TWO_32 + (astype(~x1, F64) + HALF)) * STEP64
    found: Array = quantiles.exponential64(u, v, u * 0) * scale
    return found


# --- integers -----------------------------------------------------------------------------------
# floor(n * x / 2**64) for 64 random bits x, by parts of 16 bits: uint32 is all that every device
# has. A value's probability is off by at most n / 2**64 of itself, 2**-32 for the largest n.


@kernel.function
def _high(a: Any, n0: Any, n1: Any) -> Any:
    """Return the upper half of the 64 bits of a * n, where n is n1 * 2**16 + n0."""
    a0 = a & 0xFFFF
    a1 = a >> 16
    middle = a1 * n0 + ((a0 * n0) >> 16)
    return a1 * n1 + (middle >> 16) + ((a0 * n1 + (middle & 0xFFFF)) >> 16)


@kernel.function
def _below(x0: Any, x1: Any, n0: Any, n1: Any) -> Any:
    """Return a random integer below n."""
    low = x0 * (n0 | (n1 << 16))
    rest = low + _high(x1, n0, n1)
    top = _high(x0, n0, n1)
    return where(rest < low, top + 1, top)


@kernel(static=("block",))
def fill_integers(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, n0: Any, n1: Any
) -> None:
    """Write what :func:`integers` returns."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    out[i] = _below(x0, x1, kl.uint32(n0), kl.uint32(n1))


def integers(x0: Array, x1: Array, n0: Array | int, n1: Array | int) -> Array:
    """Return integers below n1 * 2**16 + n0."""
    found: Array = _below(x0, x1, n0, n1)
    return found


def first_words(x0: Array, x1: Array) -> Array:
    """Return the first words: integers below 2**32."""
    return x0


@kernel(static=("block",))
def fill_first_words(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any
) -> None:
    """Write the first words."""
    i = kl.index()
    out[i], _ = _words(key, high, low, block, row, gap, i)


@kernel.function
def _below_wide(x0: Any, x1: Any, x2: Any, n0: Any, n1: Any) -> Any:
    """Return a random integer below n1 * 2**32 + n0, of three words and all in uint64."""
    c0 = x1 * n0 + ((x2 * n0) >> 32)
    c1 = x2 * n1 + (c0 & 0xFFFFFFFF)
    d0 = x0 * n0 + (c0 >> 32) + (c1 >> 32)
    d1 = x1 * n1 + (d0 & 0xFFFFFFFF)
    return x0 * n1 + (d0 >> 32) + (d1 >> 32)


SECOND = 2**31
"""In a counter's upper word: another 64 bits for the same position."""


@kernel(static=("block",))
def fill_wide_integers(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, n0: Any, n1: Any
) -> None:
    """Write what :func:`wide_integers` returns."""
    i = kl.index()
    x0, x1 = _words(key, high, low, block, row, gap, i)
    x2, _ = _words(key, high | SECOND, low, block, row, gap, i)
    n0, n1 = kl.uint64(n0), kl.uint64(n1)
    out[i] = _below_wide(kl.uint64(x0), kl.uint64(x1), kl.uint64(x2), n0, n1)


def wide_integers(x0: Array, x1: Array, x2: Array, n0: Array | int, n1: Array | int) -> Array:
    """Return integers below n1 * 2**32 + n0."""
    found: Array = _below_wide(astype(x0, U64), astype(x1, U64), astype(x2, U64), n0, n1)
    return found
