"""Functions for user kernels that read the scales of packed matrices."""

from __future__ import annotations

from functools import cache
from typing import Any, NamedTuple

import portarray.kernel_language as kl
from portarray._kernel_language.decorator import kernel
from portarray.kernels.layouts import Layout

__all__ = ["BlockScales", "block_scales"]


class BlockScales(NamedTuple):
    """Two functions of (data, row, lane, start, part), for weights ``scale * q + offset``.

    ``start`` is the first byte of a block, ``part`` numbers its groups. Where rows are interleaved,
    ``row`` is the tile of neighbouring rows and ``lane`` the row in it.
    """

    scale: Any
    offset: Any


@cache
def block_scales(layout: Layout) -> BlockScales:
    """Return the functions of a layout with scales in its blocks."""
    is_interleaved = layout.interleaved > 1
    has_factors, has_pairs = layout.parts == "int8", layout.parts == "six"
    scale_at, minimum_at, parts_at = layout.scale, layout.minimum, layout.parts_at

    @kernel.function
    def byte(data: Any, row: Any, at: Any, lane: Any) -> Any:
        return data[row, at, lane] if is_interleaved else data[row, at]

    @kernel.function
    def half(data: Any, row: Any, at: Any, lane: Any) -> Any:
        low, high = kl.uint16(byte(data, row, at, lane)), kl.uint16(byte(data, row, at + 1, lane))
        return kl.float32(kl.bitcast(low | (high << 8), kl.float16))

    @kernel.function
    def scale(data: Any, row: Any, lane: Any, start: Any, part: Any) -> Any:
        result, at = half(data, row, start + scale_at, lane), start + parts_at + part
        if has_factors:
            result = result * kl.float32(kl.bitcast(byte(data, row, at, lane), kl.int8))
        if has_pairs:  # six bits each: four pairs of bytes, and four whose high bits are above
            if part < 4:
                six = kl.int32(byte(data, row, at, lane)) & 63
            else:
                above = kl.int32(byte(data, row, at - 4, lane))
                six = (kl.int32(byte(data, row, at + 4, lane)) & 15) | (above >> 6 << 4)
            result = result * kl.float32(six)
        return result

    @kernel.function
    def offset(data: Any, row: Any, lane: Any, start: Any, part: Any) -> Any:
        result, at = half(data, row, start + minimum_at, lane), start + parts_at + part
        if has_pairs:
            there = kl.int32(byte(data, row, at + 4, lane))
            if part < 4:
                six = there & 63
            else:
                six = (there >> 4) | (kl.int32(byte(data, row, at, lane)) >> 6 << 4)
            result = -result * kl.float32(six)
        return result

    return BlockScales(scale, offset)
