"""Packed matrices in the standard's names; see :mod:`portarray.kernels.layouts`.

Like :mod:`portarray.kernels.generic`. Matrices are unpacked some rows at a time, to bound scratch
memory.
"""

from __future__ import annotations

import math
from typing import Any

from portarray.kernels.generic.conversion import as_dtype, device_of, negative_out_of_bounds
from portarray.kernels.layouts import Field, Layout

PANEL = 2**20
"""Weights that are unpacked at once."""


def packed_linear(xp: Any, x: Any, bias: Any, data: Any, scales: Any, /, *, layout: Layout) -> Any:
    """Multiply by a packed matrix of shape (out, in), transposed, and add a bias."""
    rows = _wide(xp, xp.reshape(x, (math.prod(x.shape[:-1]), x.shape[-1])))
    data, layout = _by_row(xp, data, layout)
    step = max(1, PANEL // max(1, x.shape[-1]))
    parts = []
    for start in range(0, max(1, data.shape[0]), step):
        some = None if scales is None else scales[start : start + step, :]
        panel = unpack(xp, data[start : start + step, :], some, layout=layout)
        parts.append(xp.matmul(rows, xp.matrix_transpose(as_dtype(xp, panel, rows.dtype))))
    out = parts[0] if len(parts) == 1 else xp.concat(parts, axis=1)
    if bias is not None:
        out = out + as_dtype(xp, bias, out.dtype)
    return xp.reshape(as_dtype(xp, out, x.dtype), (*x.shape[:-1], data.shape[0]))


def packed_embedding(xp: Any, indices: Any, data: Any, scales: Any, /, *, layout: Layout) -> Any:
    """Take rows of a packed table, in float32."""
    data, layout = _by_row(xp, data, layout)
    flat = xp.reshape(
        negative_out_of_bounds(xp, indices, data.shape[0]), (math.prod(indices.shape),)
    )
    some = None if scales is None else xp.take(scales, flat, axis=0)
    rows = unpack(xp, xp.take(data, flat, axis=0), some, layout=layout)
    return xp.reshape(rows, (*indices.shape, rows.shape[1]))


def rounded(xp: Any, x: Any, /) -> Any:
    """Round to multiples of a 127th of the largest of each 32 neighbours."""
    groups = xp.reshape(_wide(xp, x), (math.prod(x.shape) // 32, 32))
    largest = xp.max(xp.abs(groups), axis=1, keepdims=True)
    zero = largest == 0
    inverse = 127 / xp.where(zero, xp.ones_like(largest), largest)
    return xp.reshape(as_dtype(xp, xp.round(groups * inverse) * (largest / 127), x.dtype), x.shape)


def unpack(xp: Any, data: Any, scales: Any, /, *, layout: Layout) -> Any:
    """Return the weights of packed rows in float32."""
    data, layout = _by_row(xp, data, layout)
    rows, blocks_per_row = data.shape[0], data.shape[1] // layout.nbytes
    blocks = xp.reshape(data, (rows, blocks_per_row, layout.nbytes))
    bits = _field(xp, blocks, layout.low, layout.block)
    if layout.high is not None:
        bits = bits | (_field(xp, blocks, layout.high, layout.block) << layout.low.bits)
    q = as_dtype(xp, bits, xp.float32)
    if layout.signed:
        q = _signed(xp, q)
    if layout.zero:
        q = q - float(layout.zero)
    scale, offset = _scales(xp, blocks, scales, layout)
    groups = math.prod(scale.shape[1:-1])
    shape = (rows, groups, blocks_per_row * layout.block // max(1, groups))
    out = xp.reshape(q, shape) * xp.reshape(scale, (rows, groups, 1))
    if offset is not None:
        out = out + xp.reshape(offset, (rows, groups, 1))
    return xp.reshape(out, (rows, blocks_per_row * layout.block))


def _by_row(xp: Any, data: Any, layout: Layout) -> tuple[Any, Layout]:
    """Return bytes of shape (out, bytes of a row), and their layout."""
    if layout.interleaved == 1:
        return data, layout
    tiles, nbytes, rows = data.shape
    by_row = xp.reshape(xp.permute_dims(data, (0, 2, 1)), (tiles * rows, nbytes))
    return by_row, layout._replace(interleaved=1)


def _scales(xp: Any, blocks: Any, scales: Any, layout: Layout) -> tuple[Any, Any]:
    """Return the scales of groups, (rows, ..., 1), and their offsets or None."""
    if layout.apart:
        return xp.expand_dims(as_dtype(xp, scales, xp.float32), axis=2), None
    scale = _half(xp, blocks, layout.scale)
    offset: Any = None
    if layout.minimum >= 0:
        offset = _half(xp, blocks, layout.minimum)
    at = layout.parts_at
    if layout.parts == "int8":
        parts = blocks[:, :, at : at + layout.block // layout.group]
        scale = scale * _signed(xp, as_dtype(xp, parts, xp.float32))
    elif layout.parts == "six":  # six bits in a byte, or four and two above those of another
        first, second, both = (blocks[:, :, at + n : at + n + 4] for n in (0, 4, 8))
        first_factors = xp.concat([first & 63, (both & 15) | (first >> 6 << 4)], axis=2)
        second_factors = xp.concat([second & 63, (both >> 4) | (second >> 6 << 4)], axis=2)
        scale = scale * as_dtype(xp, first_factors, xp.float32)
        offset = offset * -as_dtype(xp, second_factors, xp.float32)
    return xp.expand_dims(scale, axis=3), None if offset is None else xp.expand_dims(offset, axis=3)


def _field(xp: Any, blocks: Any, field: Field, weights: int) -> Any:
    """Return the bits of a field, (rows, blocks, weights)."""
    part = blocks[:, :, field.at : field.at + weights * field.bits // 8]
    if field.bits == 8:
        return part
    rows, count, _ = blocks.shape
    runs = xp.reshape(part, (rows, count, weights // field.span, 1, field.run))
    shifts = [[n] for n in range(0, 8, field.bits)]
    above = xp.asarray(shifts, dtype=xp.uint8, device=device_of(blocks))
    return xp.reshape((runs >> above) & (2**field.bits - 1), (rows, count, weights))


def _half(xp: Any, blocks: Any, at: int) -> Any:
    """Return the float16 at a byte of each block, (rows, blocks, 1), in float32."""
    low = xp.astype(blocks[:, :, at : at + 1], xp.int32)
    high = xp.astype(blocks[:, :, at + 1 : at + 2], xp.int32)
    exponent = (high >> 2) & 31
    fraction = low + 256 * (high & 3)
    fraction = xp.where(exponent > 0, fraction + 1024, fraction)
    powers = [*(2.0 ** (max(n, 1) - 25) for n in range(31)), math.inf]
    table = xp.asarray(powers, dtype=xp.float32, device=device_of(blocks))
    power = xp.take(table, xp.reshape(exponent, (math.prod(exponent.shape),)), axis=0)
    value = as_dtype(xp, fraction, xp.float32) * xp.reshape(power, exponent.shape)
    return xp.where(high > 127, -value, value)


def _signed(xp: Any, x: Any) -> Any:
    """Reinterpret bytes as signed."""
    return xp.where(x > 127, x - 256, x)


def _wide(xp: Any, x: Any) -> Any:
    return x if x.dtype == getattr(xp, "float64", xp.float32) else as_dtype(xp, x, xp.float32)
