"""User kernels that read packed matrices: products with few rows, and rows unpacked.

The lanes of a group read sixteen weights at once, in the order of their bytes.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import portarray.kernel_language as kl
from portarray._api.creation.filled import empty
from portarray._api.data_type import astype
from portarray._api.indexing import take
from portarray._api.linear_algebra import matmul, matrix_transpose
from portarray._api.manipulation.joining import concat
from portarray._api.manipulation.shapes import reshape
from portarray._kernel_language.decorator import kernel
from portarray._kernel_language.kernel import KernelFunction
from portarray.kernels.generic.conversion import negative_out_of_bounds
from portarray.kernels.layouts import Field, Layout

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

LANES = 16
FEW = 15
"""Rows up to which each is multiplied directly; more are multiplied by unpacked panels."""
PANEL = 2**21
"""Weights that are unpacked at once."""


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
    scale_at, minimum_at, group = layout.scale, layout.minimum, layout.group
    apart, factors, pairs = layout.apart, layout.parts == "int8", layout.parts == "six"
    has_minimum, parts_at, steps = minimum_at >= 0, layout.parts_at, block // LANES
    # Neighbours in the halves of a byte: a lane takes two neighbours, in two steps.
    split = low_run == 1

    @kernel.function
    def index_in_block(step: Any, lane: Any) -> Any:
        if split:
            return step // 2 * 2 * LANES + 2 * lane + step % 2
        return step * LANES + lane

    @kernel.function
    def half(data: Any, row: Any, at: Any) -> Any:
        bits = kl.uint16(data[row, at]) | (kl.uint16(data[row, at + 1]) << 8)
        return kl.float32(kl.bitcast(bits, kl.float16))

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
        scale = half(data, row, start + scale_at)
        part = start + parts_at + first // group
        if factors:
            scale = scale * kl.float32(kl.bitcast(data[row, part], kl.int8))
        if has_minimum:
            offset = half(data, row, start + minimum_at)
            if pairs:  # six bits each: four pairs of bytes, and four whose high bits are above
                n = first // group
                at = start + parts_at + n
                here, there = kl.int32(data[row, at]), kl.int32(data[row, at + 4])
                if n < 4:
                    first_six, second_six = here & 63, there & 63
                else:
                    above = kl.int32(data[row, at - 4])
                    first_six = (there & 15) | (above >> 6 << 4)
                    second_six = (there >> 4) | (here >> 6 << 4)
                return kl.fma(
                    scale * kl.float32(first_six), value, -offset * kl.float32(second_six)
                )
            return kl.fma(scale, value, offset)
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
    return Programs(*[_filling(function) for function in functions])


def _filling(function: Any) -> KernelFunction:
    """Return a kernel that fills its first parameter."""
    filling = KernelFunction(function)
    filling._fills = True
    return filling


# --- versions of ``packed_generic`` ---------------------------------------------------------------


@cache
def _sizes(device: Device, layout: Layout, rows: int) -> tuple[int, int, int]:
    """Return ``rows_each``, ``beside`` and ``together`` of :class:`Programs`."""
    if rows == 1:
        rows_each = 8 if layout.block == 32 else 4  # all of their weights are written out
        return (rows_each, 1, 1) if device.kind == "cpu" else (1, 8, 1)
    return (4, 1, 4) if device.kind == "cpu" else (2, 8, 4)


def packed_few(
    x: Array,
    data: Array,
    scales: Array | None,
    norm: Array | None = None,
    residual: Array | None = None,
    /,
    *,
    layout: Layout,
    eps: float = 0.0,
    gated: bool = False,
) -> Array:
    """Multiply few rows of float32, with the other steps in the same launch."""
    rows, out = x.shape[0], data.shape[0] // (2 if gated else 1)
    rows_each, beside, together = _sizes(x.device, layout, rows)
    if gated and together > 1:
        rows_each = max(1, rows_each // 2)  # both halves are summed at once
    around = Around(norm is not None, gated, residual is not None)
    result: Array = programs(layout, rows_each, beside, together, around).products(
        empty((rows, out), dtype=np.float32, device=x.device),
        x,
        data,
        *[data if part is None else part for part in (scales, norm, residual)],
        eps,
        ndrange=(-(-rows // together), -(-out // (rows_each * beside)) * beside, LANES),
        group=(1, beside, LANES),
    )
    return result


def packed_linear(
    x: Array, bias: Array | None, data: Array, scales: Array | None, /, *, layout: Layout
) -> Array:
    """Multiply few rows at once, and many by unpacked panels."""
    shape, (out, _) = x.shape, data.shape
    wide = x if x.dtype == np.float32 else astype(x, np.float32)
    if len(shape) != 2:
        wide = reshape(wide, (math.prod(shape[:-1]), shape[-1]))
    if wide.shape[0] <= FEW:
        result = packed_few(wide, data, scales, layout=layout)
    else:
        step = max(1, PANEL // shape[-1])
        parts = []
        for start in range(0, out, step):
            some = data, scales
            if step < out:  # slices are copies in some libraries
                rows = slice(start, start + step)
                some = data[rows, :], None if scales is None else scales[rows, :]
            panel = packed_unpack(*some, layout=layout)
            parts.append(matmul(wide, matrix_transpose(panel)))
        result = parts[0] if len(parts) == 1 else concat(parts, axis=1)
    if bias is not None:
        result = result + astype(bias, np.float32, copy=False)
    if x.dtype != np.float32:
        result = astype(result, x.dtype)
    return result if len(shape) == 2 else reshape(result, (*shape[:-1], out))


def packed_embedding(
    indices: Array, data: Array, scales: Array | None, /, *, layout: Layout
) -> Array:
    """Take rows, and unpack them."""
    valid = negative_out_of_bounds(indices.__array_namespace__(), indices, data.shape[0])
    flat = reshape(valid, (math.prod(indices.shape),))
    some = None if scales is None else take(scales, flat, axis=0)
    rows = packed_unpack(take(data, flat, axis=0), some, layout=layout)
    return reshape(rows, (*indices.shape, rows.shape[1]))


@kernel
def _round(out: Any, x: Any) -> None:
    start = 32 * kl.index()
    largest = kl.float32(0)
    for j in range(32):
        largest = max(largest, abs(kl.float32(x[start + j])))
    inverse = kl.float32(0)
    if largest > 0:
        inverse = 127 / largest
    for j in range(32):
        out[start + j] = round(kl.float32(x[start + j]) * inverse) * (largest / 127)


def packed_rounded(x: Array) -> Array:
    """Round to 8 bits by groups of 32."""
    size = math.prod(x.shape)
    out: Array = empty((size,), dtype=x.dtype, device=x.device)
    return reshape(_round(out, reshape(x, (size,)), ndrange=(size // 32,)), x.shape)


def packed_unpack(data: Array, scales: Array | None, /, *, layout: Layout) -> Array:
    """Unpack rows."""
    rows, width = data.shape[0], data.shape[1] // layout.nbytes * layout.block
    out = empty((rows, width), dtype=np.float32, device=data.device)
    beside = math.gcd(rows, 4)
    result: Array = programs(layout, *_sizes(data.device, layout, 1)).unpacked(
        out, data, data if scales is None else scales, ndrange=(rows, LANES), group=(beside, LANES)
    )
    return result
