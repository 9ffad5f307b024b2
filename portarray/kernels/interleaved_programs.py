"""Programs that read packed matrices with interleaved rows: a work-item has a row of its own.

So nothing is added up across work-items, and a scale is read once for its weights.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import portarray.kernel_language as kl
from portarray._kernel_language.decorator import kernel
from portarray._kernel_language.kernel import KernelFunction
from portarray.kernels.block_scales import block_scales
from portarray.kernels.layouts import Field, Layout
from portarray.kernels.packed_programs import LANES, Around, filling

__all__ = ["Programs", "programs"]


class Programs(NamedTuple):
    """The kernels of a layout."""

    products: KernelFunction
    """``products(y, x, data, norm, residual, eps)``, with an ndrange of (tiles of ``together``
    rows of x, tiles of the matrix, LANES)."""
    unpacked: KernelFunction
    """``unpacked(out, data)`` writes the transpose, with an ndrange of (tiles, LANES)."""


@cache
def programs(
    layout: Layout, together: int = 1, around: Around | None = None, width: int = 1
) -> Programs:
    """Return the kernels of a layout; ``width`` is the number of features that are normed."""
    normed, gated, added = around or Around()
    halves = 2 if gated else 1
    block, nbytes, zero, signed = layout.block, layout.nbytes, layout.zero, layout.signed
    low_at, low_bits, low_run = layout.low
    low_span, low_mask = layout.low.span, 2**low_bits - 1
    has_high = layout.high is not None
    high_at, high_bits, high_run = layout.high or Field(0, 8, 1)
    high_span, high_mask = (layout.high or Field(0, 8, 1)).span, 2**high_bits - 1
    has_minimum, group = layout.minimum >= 0, layout.group
    scale_of, offset_of = block_scales(layout)

    @kernel.function
    def weight(data: Any, tile: Any, lane: Any, start: Any, index: Any) -> Any:
        at = start + low_at + index // low_span * low_run + index % low_run
        q = (kl.int32(data[tile, at, lane]) >> (index % low_span // low_run * low_bits)) & low_mask
        if has_high:
            at = start + high_at + index // high_span * high_run + index % high_run
            shift = index % high_span // high_run * high_bits
            q = q | (((kl.int32(data[tile, at, lane]) >> shift) & high_mask) << low_bits)
        if signed:
            q = kl.int32(kl.bitcast(kl.uint8(q), kl.int8))
        return kl.float32(q - zero)

    def products(y: Any, x: Any, data: Any, norm: Any, residual: Any, eps: Any) -> None:
        sums = kl.private((halves, together), kl.float32)
        parts = kl.private((halves, together, 2), kl.float32)  # shorter chains of additions
        totals = kl.private((together, 2), kl.float32)
        features = kl.local((together, width), kl.float32)
        squares = kl.local((together, LANES), kl.float32)
        x_tile, tile, lane = kl.index()
        tiles = data.shape[0] // halves
        if normed:  # once for the group
            for t in kl.unroll(range(together)):
                square, i = kl.float32(0), min(x_tile * together + t, y.shape[0] - 1)
                for k in range(width // LANES):
                    value = x[i, k * LANES + lane]
                    square = kl.fma(value, value, square)
                    features[t, k * LANES + lane] = value * norm[k * LANES + lane]
                squares[t, lane] = square
            kl.barrier()
        for t in kl.unroll(range(together)):
            for h in kl.unroll(range(halves)):
                sums[h, t] = 0.0
        for n in range(data.shape[1] // nbytes):
            for part in range(block // group):
                for t in kl.unroll(range(together)):
                    for chain in kl.unroll(range(2)):
                        totals[t, chain] = 0.0
                        for h in kl.unroll(range(halves)):
                            parts[h, t, chain] = 0.0
                for k in kl.unroll(range(group)):
                    index = part * group + k
                    for t in kl.unroll(range(together)):
                        if normed:
                            value = features[t, n * block + index]
                        else:
                            value = x[min(x_tile * together + t, y.shape[0] - 1), n * block + index]
                        if has_minimum:
                            totals[t, k % 2] += value
                        for h in kl.unroll(range(halves)):
                            factor = weight(
                                data, tile + h * tiles, lane, n * nbytes, part * group + k
                            )
                            parts[h, t, k % 2] = kl.fma(factor, value, parts[h, t, k % 2])
                for h in kl.unroll(range(halves)):
                    scale = scale_of(data, tile + h * tiles, lane, n * nbytes, part)
                    for t in kl.unroll(range(together)):
                        sums[h, t] = kl.fma(scale, parts[h, t, 0] + parts[h, t, 1], sums[h, t])
                    if has_minimum:
                        offset = offset_of(data, tile + h * tiles, lane, n * nbytes, part)
                        for t in kl.unroll(range(together)):
                            sums[h, t] = kl.fma(offset, totals[t, 0] + totals[t, 1], sums[h, t])
        for t in kl.unroll(range(together)):
            i, j = x_tile * together + t, tile * LANES + lane
            if i < y.shape[0]:
                result, scale = sums[0, t], kl.float32(1)
                if normed:
                    square = kl.float32(0)
                    for k in kl.unroll(range(LANES)):
                        square += squares[t, k]
                    scale /= math.sqrt(square / width + eps)
                    result = result * scale
                if gated:
                    result = result / (1 + math.exp(-result)) * (scale * sums[halves - 1, t])
                if added:
                    result += residual[i, j]
                y[i, j] = result

    def unpacked(out: Any, data: Any) -> None:
        tile, lane = kl.index()
        for n in range(data.shape[1] // nbytes):
            for part in range(block // group):
                scale = scale_of(data, tile, lane, n * nbytes, part)
                if has_minimum:
                    offset = offset_of(data, tile, lane, n * nbytes, part)
                for k in kl.unroll(range(group)):
                    value = weight(data, tile, lane, n * nbytes, part * group + k)
                    value = kl.fma(scale, value, offset) if has_minimum else scale * value
                    out[n * block + part * group + k, tile * LANES + lane] = value

    return Programs(filling(products), filling(unpacked))
