"""Kernels that fill an array with random numbers, one for each sampler.

A work-item's counter is its position plus ``high`` and ``low``, the 32-bit halves of the draw's
start. In a ``block``, a part of each row of an array, a ``gap`` follows every ``row`` positions.
"""

from __future__ import annotations

from typing import Any

import portarray.kernel_language as kl
from portarray._kernel_language.decorator import kernel
from portarray._kernel_language.kernel import KernelFunction
from portarray.random.distributions import (
    F32,
    F64,
    SECOND,
    below,
    below_wide,
    exponential32,
    exponential64,
    joined,
    normal32,
    normal64,
    uniform32,
    uniform64,
    within,
)
from portarray.random.threefry import threefry

__all__ = [
    "fill_bits32",
    "fill_bits64",
    "fill_exponential32",
    "fill_exponential64",
    "fill_first_words",
    "fill_integers",
    "fill_normal32",
    "fill_normal64",
    "fill_uniform32",
    "fill_uniform64",
    "fill_wide_integers",
    "fill_words",
]


@kernel.function
def _words(key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any) -> Any:
    """Return the two words of the work-item's position."""
    start = kl.uint32(low)
    c1 = kl.uint32(kl.index()) + start
    if block:
        c1 += kl.uint32(kl.index()) // kl.uint32(row) * kl.uint32(gap)
    c0 = kl.uint32(high)
    if c1 < start:
        c0 += kl.uint32(1)
    return threefry(key[0], key[1], c0, c1)


@kernel(static=("block",))
def fill_words(out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any) -> None:
    """Write both words."""
    out[kl.index(), 0], out[kl.index(), 1] = _words(key, high, low, block, row, gap)


@kernel(static=("block",))
def fill_first_words(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any
) -> None:
    """Write the first words: integers below 2**32."""
    out[kl.index()], _ = _words(key, high, low, block, row, gap)


@kernel(static=("block",))
def fill_bits32(out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any) -> None:
    """Write the bits of ``jax.random.bits``."""
    x0, x1 = _words(key, high, low, block, row, gap)
    out[kl.index()] = x0 ^ x1


@kernel(static=("block",))
def fill_bits64(out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any) -> None:
    """Write the bits of ``jax.random.bits``."""
    x0, x1 = _words(key, high, low, block, row, gap)
    out[kl.index()] = joined(x0, x1, kl.uint64)


@kernel(static=("block", "shift"))
def fill_uniform32(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any,
    shift: Any, step: Any, width: Any, least: Any, most: Any,
) -> None:  # fmt: skip
    """Write uniform numbers."""
    x0, x1 = _words(key, high, low, block, row, gap)
    out[kl.index()] = within(uniform32(x0, x1, shift, step, kl.float32), width, least, most)


@kernel(static=("block",))
def fill_uniform64(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any,
    width: Any, least: Any, most: Any,
) -> None:  # fmt: skip
    """Write uniform numbers."""
    x0, x1 = _words(key, high, low, block, row, gap)
    out[kl.index()] = within(uniform64(x0, x1, kl.float64), width, least, most)


def _normal(sample: Any, scalar: Any) -> KernelFunction:
    @kernel(static=("block",))
    def fill_normal(
        out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any,
        scale: Any, loc: Any,
    ) -> None:  # fmt: skip
        x0, x1 = _words(key, high, low, block, row, gap)
        out[kl.index()] = sample(x0, x1, scalar) * scale + loc

    return fill_normal


fill_normal32, fill_normal64 = _normal(normal32, F32.type), _normal(normal64, F64.type)


def _exponential(sample: Any, scalar: Any) -> KernelFunction:
    @kernel(static=("block",))
    def fill_exponential(
        out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, scale: Any
    ) -> None:
        x0, x1 = _words(key, high, low, block, row, gap)
        out[kl.index()] = sample(x0, x1, scalar) * scale

    return fill_exponential


fill_exponential32 = _exponential(exponential32, F32.type)
fill_exponential64 = _exponential(exponential64, F64.type)


@kernel(static=("block",))
def fill_integers(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, n0: Any, n1: Any
) -> None:
    """Write integers below n1 * 2**16 + n0."""
    x0, x1 = _words(key, high, low, block, row, gap)
    out[kl.index()] = below(x0, x1, kl.uint32(n0), kl.uint32(n1))


@kernel(static=("block",))
def fill_wide_integers(
    out: Any, key: Any, high: Any, low: Any, block: Any, row: Any, gap: Any, n0: Any, n1: Any
) -> None:
    """Write integers below n1 * 2**32 + n0."""
    x0, x1 = _words(key, high, low, block, row, gap)
    x2, _ = _words(key, high | SECOND, low, block, row, gap)
    out[kl.index()] = below_wide(x0, x1, x2, kl.uint64(n0), kl.uint64(n1), kl.uint64)
