"""Programs that read packed matrices: products with few rows, and rows unpacked.

The lanes of a group read sixteen weights at once, in the order of their bytes.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import portarray.kernel_language as kl
from portarray._kernel_language.decorator import kernel
from portarray._kernel_language.kernel import KernelFunction
from portarray.kernels.block_scales import block_scales
from portarray.kernels.layouts import INTERLEAVED, Field, Layout

__all__ = ["LANES", "Around", "Programs", "filling", "programs"]

LANES = INTERLEAVED


class Around(NamedTuple):
    """The other steps of a product, see :func:`portarray.kernels.fused_linear`."""

    normed: bool = False
    gated: bool = False
    added: bool = False


class Programs(NamedTuple):
    """The kernels of a layout."""

    products: KernelFunction
    """``products(y, x, data, scales, norm, residual, eps)``: work-items take ``rows_each`` rows of
    the matrix and ``together`` rows of x, in an ndrange of (x tiles, matrix tiles, LANES). A group
    has ``beside`` of them along its second axis."""
    unpacked: KernelFunction
    """``unpacked(out, data, scales)``, with an ndrange of (rows, LANES)."""


@cache
def programs(
    layout: Layout, rows_each: int, beside: int, together: int = 1, around: Around | None = None
) -> Programs:
    """Return the kernels of a layout."""
    normed, gated, added = around or Around()
    halves = 2 if gated else 1
    sizes = (halves * rows_each + normed) * together  # squares come behind the sums
    block, nbytes, zero, signed = layout.block, layout.nbytes, layout.zero, layout.signed
    low_at, low_bits, low_run = layout.low
    low_span, low_mask = layout.low.span, 2**low_bits - 1
    has_high = layout.high is not None
    high_at, high_bits, high_run = layout.high or Field(0, 8, 1)
    high_span, high_mask = (layout.high or Field(0, 8, 1)).span, 2**high_bits - 1
    apart, has_minimum, group = layout.apart, layout.minimum >= 0, layout.group
    steps, (scale_of, offset_of) = block // LANES, block_scales(layout)
    # Neighbours in the halves of a byte: a lane takes two neighbours, in two steps.
    split = low_run == 1

    @kernel.function
    def index_in_block(step: Any, lane: Any) -> Any:
        if split:
            return step // 2 * 2 * LANES + 2 * lane + step % 2
        return step * LANES + lane

    @kernel.function
    def weight(data: Any, scales: Any, row: Any, block_index: Any, step: Any, lane: Any) -> Any:
        start = block_index * nbytes
        first = step * LANES
        if split:
            byte = kl.int32(data[row, start + low_at + step // 2 * LANES + lane])
            q = (byte >> (step % 2 * low_bits)) & low_mask
        else:
            inside = first // low_span * low_run + first % low_run
            byte = kl.int32(data[row, start + low_at + inside + lane])
            q = (byte >> (first % low_span // low_run * low_bits)) & low_mask
        if has_high:
            if high_run == 1:
                at = start + high_at + first // 8
                word = kl.int32(data[row, at]) | (kl.int32(data[row, at + 1]) << 8)
                q = q | (((word >> lane) & high_mask) << low_bits)
            else:
                inside = first // high_span * high_run + first % high_run
                byte = kl.int32(data[row, start + high_at + inside + lane])
                more = (byte >> (first % high_span // high_run * high_bits)) & high_mask
                q = q | (more << low_bits)
        if signed:
            q = kl.int32(kl.bitcast(kl.uint8(q), kl.int8))
        value = kl.float32(q - zero)
        if apart:
            size = data.shape[1] // nbytes * block // scales.shape[1]
            return kl.float32(scales[row, (block_index * block + first) // size]) * value
        scale = scale_of(data, row, 0, start, first // group)
        if has_minimum:
            return kl.fma(scale, value, offset_of(data, row, 0, start, first // group))
        return scale * value

    @kernel.function
    def total(shared: Any, here: Any, at: Any) -> Any:
        result = kl.float32(0)
        for k in kl.unroll(range(LANES)):
            result += shared[here, at, k]
        return result

    def products(
        y: Any, x: Any, data: Any, scales: Any, norm: Any, residual: Any, eps: Any
    ) -> None:
        sums = kl.private((halves * rows_each, together), kl.float32)
        squares = kl.private((together,), kl.float32)
        shared = kl.local((beside, sizes, LANES), kl.float32)
        tile, tile_index, lane = kl.index()
        here = kl.local_index(1)
        for t in kl.unroll(range(together)):
            squares[t] = 0.0
            for r in kl.unroll(range(halves * rows_each)):
                sums[r, t] = 0.0
        for n in range(data.shape[1] // nbytes):
            if normed:
                for step in kl.unroll(range(steps)):
                    for t in kl.unroll(range(together)):
                        i = min(tile * together + t, y.shape[0] - 1)
                        value = x[i, n * block + index_in_block(step, lane)]
                        squares[t] = kl.fma(value, value, squares[t])
            for r in kl.unroll(range(halves * rows_each)):
                row = (
                    min(tile_index * rows_each + r % rows_each, y.shape[1] - 1)
                    + r // rows_each * y.shape[1]
                )
                for step in kl.unroll(range(steps)):
                    decoded = weight(data, scales, row, n, step, lane)
                    for t in kl.unroll(range(together)):
                        i = min(tile * together + t, y.shape[0] - 1)
                        j = n * block + index_in_block(step, lane)
                        value = x[i, j]
                        if normed:
                            value = value * norm[j]
                        sums[r, t] = kl.fma(decoded, value, sums[r, t])
        for t in kl.unroll(range(together)):
            for r in kl.unroll(range(halves * rows_each)):
                shared[here, r * together + t, lane] = sums[r, t]
            if normed:
                shared[here, halves * rows_each * together + t, lane] = squares[t]
        kl.barrier()
        j, i = tile_index * rows_each + lane // together, tile * together + lane % together
        if lane < rows_each * together and i < y.shape[0] and j < y.shape[1]:
            result, scale = total(shared, here, lane), kl.float32(1)
            if normed:
                square = total(shared, here, halves * rows_each * together + lane % together)
                scale /= math.sqrt(square / x.shape[1] + eps)
                result = result * scale
            if gated:
                gated_value = scale * total(shared, here, rows_each * together + lane)
                result = result / (1 + math.exp(-result)) * gated_value
            if added:
                result += residual[i, j]
            y[i, j] = result

    def unpacked(out: Any, data: Any, scales: Any) -> None:
        row, lane = kl.index()
        for n in range(data.shape[1] // nbytes):
            for step in kl.unroll(range(steps)):
                value = weight(data, scales, row, n, step, lane)
                out[row, n * block + index_in_block(step, lane)] = value

    functions: Any = products, unpacked
    return Programs(*[filling(function) for function in functions])


def filling(function: Any) -> KernelFunction:
    """Return a kernel that fills its first parameter."""
    filling = KernelFunction(function)
    filling._fills = True
    return filling
