"""Samplers: how random words become numbers, by a kernel and by array functions.

Both versions of a sampler call the same helpers, so that they give the same numbers: products and
sums are rounded one by one on every device, in kernels too. The kernels are in the module
``fills``, which draws of a few numbers do not import.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from portarray._api.data_type import astype
from portarray._api.manipulation.joining import stack
from portarray._api.searching import where
from portarray._array import dtypes
from portarray._array.array import Array
from portarray._kernel_language.intrinsics import Helper
from portarray.random import quantiles

if TYPE_CHECKING:
    import numpy as np

F32, F64 = dtypes.STANDARD["float32"], dtypes.STANDARD["float64"]
U32, U64 = dtypes.STANDARD["uint32"], dtypes.STANDARD["uint64"]
I64 = dtypes.STANDARD["int64"]

# Constants of kernels as well.
HALF = 0.5
LOW31 = 2**31 - 1
TWO_21, TWO_32 = 2.0**21, 2.0**32
STEP32, STEP53, STEP64 = 2.0**-32, 2.0**-53, 2.0**-64
SECOND = 2**31
"""In a counter's upper word: another 64 bits for the same position."""


class Sampler(NamedTuple):
    """A kind of random numbers, and the dtype that they are made in."""

    kernel: str  # a name of the module fills
    formula: Callable[..., Array]  # of the arrays of words, and the kernel's last parameters
    dtype: np.dtype[Any]
    parts: int = 0  # numbers for each position, along a last axis; 0 for one without the axis
    counters: int = 1  # counters for each position, of which random words are made


def _as(dtype: np.dtype[Any]) -> Callable[[Array], Array]:
    """Return the conversion of arrays to a dtype; in kernels, dtypes are called."""
    return lambda x: astype(x, dtype)


# --- bits ---------------------------------------------------------------------------------------


@Helper
def joined(x0: Any, x1: Any, uint64: Any) -> Any:
    """Return 64 bits, the first word above the second."""
    return (uint64(x0) << 32) | uint64(x1)


WORDS = Sampler("fill_words", lambda x0, x1: stack([x0, x1], axis=-1), U32, parts=2)
FIRST_WORDS = Sampler("fill_first_words", lambda x0, x1: x0, U32)
BITS32 = Sampler("fill_bits32", lambda x0, x1: x0 ^ x1, U32)
BITS64 = Sampler("fill_bits64", lambda x0, x1: joined(x0, x1, _as(U64)), U64)


# --- uniform numbers: u * width + least, at most ``most`` ----------------------------------------


@Helper
def uniform32(x0: Any, x1: Any, shift: Any, step: Any, float32: Any) -> Any:
    """Return multiples of ``step`` in [0, 1)."""
    return float32((x0 ^ x1) >> shift) * step


@Helper
def uniform64(x0: Any, x1: Any, float64: Any) -> Any:
    """Return multiples of 2**-53 in [0, 1)."""
    return (float64(x0) * TWO_21 + float64(x1 >> 11)) * STEP53


@Helper
def within(u: Any, width: Any, least: Any, most: Any) -> Any:
    """Return ``u * width + least``, at most ``most``."""
    x = u * width + least
    return where(most < x, most, x)


def _in_range(u: Any, width: float, least: float, most: float) -> Any:
    return u if (width, least) == (1, 0) else within(u, width, least, most)


UNIFORM32 = Sampler(
    "fill_uniform32",
    lambda x0, x1, shift, step, *bounds: _in_range(
        uniform32(x0, x1, shift, step, _as(F32)), *bounds
    ),
    F32,
)
UNIFORM64 = Sampler(
    "fill_uniform64", lambda x0, x1, *bounds: _in_range(uniform64(x0, x1, _as(F64)), *bounds), F64
)


# --- normal numbers -----------------------------------------------------------------------------
# Quantiles of (x + 1/2) / 2**32, and of twice as many bits in float64, are q from the middle and p
# from the nearer end. Both are made of m, the bits that count from the middle.


@Helper
def normal32(x0: Any, x1: Any, float32: Any) -> Any:
    """Return standard normal numbers in float32."""
    x = x0 ^ x1
    above = x > LOW31
    m = where(above, x, ~x) & LOW31
    q = (float32(m) + HALF) * STEP32
    p = (float32(m ^ LOW31) + HALF) * STEP32
    z = quantiles.normal32(q, p, q * 0)
    return where(above, z, -z)


@Helper
def normal64(x0: Any, x1: Any, float64: Any) -> Any:
    """Return standard normal numbers in float64."""
    above = x0 > LOW31
    m0 = where(above, x0, ~x0) & LOW31
    m1 = where(above, x1, ~x1)
    q = (float64(m0) * TWO_32 + (float64(m1) + HALF)) * STEP64
    p = (float64(m0 ^ LOW31) * TWO_32 + (float64(~m1) + HALF)) * STEP64
    z = quantiles.normal64(q, p, q * 0)
    return where(above, z, -z)


def _normal(sample: Any, dtype: np.dtype[Any]) -> Sampler:
    def formula(x0: Array, x1: Array, scale: float, loc: float) -> Any:
        z = sample(x0, x1, _as(dtype))
        return z if (scale, loc) == (1, 0) else z * scale + loc

    return Sampler(f"fill_{sample.__name__}", formula, dtype)


NORMAL32, NORMAL64 = _normal(normal32, F32), _normal(normal64, F64)


# --- exponential numbers ------------------------------------------------------------------------


@Helper
def exponential32(x0: Any, x1: Any, float32: Any) -> Any:
    """Return exponential numbers of mean 1 in float32."""
    x = x0 ^ x1
    u = (float32(x) + HALF) * STEP32
    v = (float32(~x) + HALF) * STEP32
    return quantiles.exponential32(u, v, u * 0)


@Helper
def exponential64(x0: Any, x1: Any, float64: Any) -> Any:
    """Return exponential numbers of mean 1 in float64."""
    u = (float64(x0) * TWO_32 + (float64(x1) + HALF)) * STEP64
    v = (float64(~x0) * TWO_32 + (float64(~x1) + HALF)) * STEP64
    return quantiles.exponential64(u, v, u * 0)


def _exponential(sample: Any, dtype: np.dtype[Any]) -> Sampler:
    def formula(x0: Array, x1: Array, scale: float) -> Any:
        x = sample(x0, x1, _as(dtype))
        return x if scale == 1 else x * scale

    return Sampler(f"fill_{sample.__name__}", formula, dtype)


EXPONENTIAL32, EXPONENTIAL64 = _exponential(exponential32, F32), _exponential(exponential64, F64)


# --- integers -----------------------------------------------------------------------------------
# floor(n * x / 2**64) for 64 random bits x, by parts of 16 bits: uint32 is all that every device
# has. A value's probability is off by at most n / 2**64 of itself, 2**-32 for the largest n.


@Helper
def _high(a: Any, n0: Any, n1: Any) -> Any:
    """Return the upper half of the 64 bits of a * n, where n is n1 * 2**16 + n0."""
    a0 = a & 0xFFFF
    a1 = a >> 16
    middle = a1 * n0 + ((a0 * n0) >> 16)
    return a1 * n1 + (middle >> 16) + ((a0 * n1 + (middle & 0xFFFF)) >> 16)


@Helper
def below(x0: Any, x1: Any, n0: Any, n1: Any) -> Any:
    """Return random integers below n1 * 2**16 + n0."""
    low = x0 * (n0 | (n1 << 16))
    carried = low + _high(x1, n0, n1)
    top = _high(x0, n0, n1)
    return where(carried < low, top + 1, top)


@Helper
def below_wide(x0: Any, x1: Any, x2: Any, n0: Any, n1: Any, uint64: Any) -> Any:
    """Return random integers below n1 * 2**32 + n0, of three words."""
    y0, y1, y2 = uint64(x0), uint64(x1), uint64(x2)
    c0 = y1 * n0 + ((y2 * n0) >> 32)
    c1 = y2 * n1 + (c0 & 0xFFFFFFFF)
    d0 = y0 * n0 + (c0 >> 32) + (c1 >> 32)
    d1 = y1 * n1 + (d0 & 0xFFFFFFFF)
    return y0 * n1 + (d0 >> 32) + (d1 >> 32)


INTEGERS = Sampler("fill_integers", below, U32)
INTEGERS64 = INTEGERS._replace(
    formula=lambda *words_and_range: astype(below(*words_and_range), I64), dtype=I64
)
WIDE_INTEGERS = Sampler(
    "fill_wide_integers",
    lambda x0, x1, x2, n0, n1: below_wide(x0, x1, x2, n0, n1, _as(U64)),
    U64,
    counters=2,
)
