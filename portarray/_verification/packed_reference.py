"""Packed weights in float64, one after the other, as the formats' definitions read.

Nothing is shared with :mod:`portarray.kernels.layouts`. The blocks are those of ggml's
``dequantize_row_...`` functions, https://github.com/ggml-org/ggml/blob/master/src/ggml-quants.c,
and of compressed-tensors' ``unpack_from_int32``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

Values = np.ndarray[Any, np.dtype[Any]]

BLOCKS: Mapping[str, tuple[int, int, tuple[int, ...]]] = {
    "Q4_1": (32, 20, (0, 2)),
    "Q8_0": (32, 34, (0,)),
    "Q6_K": (256, 210, (208,)),
    "Q4_0": (32, 18, (0,)),
    "Q4_K": (256, 144, (0, 2)),
    "Q5_0": (32, 22, (0,)),
    "Q5_1": (32, 24, (0, 2)),
    "INT8": (32, 32, ()),
    "INT4": (32, 16, ()),
}
"""Weights and bytes of a block, and where it has float16 numbers."""

INTERLEAVED = 16
"""Rows whose bytes stand side by side, where rows are interleaved."""


def weights(layout: str, data: Values, scales: Values | None) -> Values:
    """Return the weights of a matrix: each is exact here, and rounded to float32 once."""
    block, nbytes, halves = BLOCKS[layout]
    rows, width = data.shape[0], data.shape[1] // nbytes * block
    blocks = data.reshape(rows, -1, nbytes)
    bytes_ = blocks.astype(np.int64)
    floats = [
        np.ascontiguousarray(blocks[:, :, at : at + 2]).view("<f2")[:, :, 0].astype(np.float64)
        for at in halves
    ]
    out = np.empty((rows, width // block, block))
    for j in range(block):
        out[:, :, j] = _weight(layout, j, bytes_, *floats)
    out = out.reshape(rows, width)
    if scales is not None:
        out = out * np.repeat(scales.astype(np.float64), width // scales.shape[1], axis=1)
    return out.astype(np.float32).astype(np.float64)


def _weight(layout: str, j: int, b: Any, d: Any = 1.0, m: Any = 0.0) -> Any:
    """Return the weights at a place of all blocks."""
    if layout == "INT8" or layout == "Q8_0":
        byte = b[:, :, j + (2 if layout == "Q8_0" else 0)]
        return d * np.where(byte > 127, byte - 256, byte)
    if layout == "INT4":
        return (b[:, :, j // 2] >> (4 * (j % 2)) & 15) - 8.0
    if layout == "Q4_K":
        byte = b[:, :, 16 + 32 * (j // 64) + j % 32]
        n, s = j // 32, b[:, :, 4:16]
        if n < 4:
            scale, least = s[:, :, n] & 63, s[:, :, n + 4] & 63
        else:
            scale = (s[:, :, n + 4] & 15) | (s[:, :, n - 4] >> 6 << 4)
            least = (s[:, :, n + 4] >> 4) | (s[:, :, n] >> 6 << 4)
        return d * scale * (byte >> (4 if j % 64 >= 32 else 0) & 15) - m * least
    if layout == "Q6_K":
        half, lane, quarter = j // 128, j % 32, j % 128 // 32
        low = b[:, :, 64 * half + lane + 32 * (quarter % 2)] >> (4 if quarter >= 2 else 0) & 15
        high = b[:, :, 128 + 32 * half + lane] >> (2 * quarter) & 3
        scale = b[:, :, 192 + j // 16]
        return d * np.where(scale > 127, scale - 256, scale) * ((low | high << 4) - 32)
    first = {"Q4_0": 2, "Q4_1": 4, "Q5_0": 6, "Q5_1": 8}[layout]
    q = b[:, :, first + j % 16] >> (4 if j >= 16 else 0) & 15
    if layout[1] == "5":
        q = q | (b[:, :, first - 4 + j // 8] >> (j % 8) & 1) << 4
    return d * (q - {"Q4_0": 8, "Q5_0": 16}.get(layout, 0)) + m
