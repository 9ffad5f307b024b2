"""Packs matrices, on the host."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.kernels.layouts import Field, Layout

Values = np.ndarray[Any, np.dtype[Any]]


def packed(x: Values, layout: Layout, group: int) -> tuple[Values, Values | None]:
    """Return the bytes of a float32 matrix, and its separate scales or None."""
    rows, width = x.shape
    size = group if layout.apart else layout.group
    groups = x.reshape(rows, width // size, size) if width else x.reshape(rows, 0, size)
    levels = 2**layout.bits - 1
    if layout.minimum >= 0:
        least = groups.min(axis=2, initial=np.inf, keepdims=True)
        if layout.parts:  # offsets are not above zero there
            least = np.minimum(least, 0)
        scale = (groups.max(axis=2, initial=-np.inf, keepdims=True).clip(least) - least) / levels
    elif layout.signed:
        least = None
        scale = np.abs(groups).max(axis=2, initial=0, keepdims=True) / 127
    else:
        least = None
        largest = np.abs(groups).argmax(axis=2, keepdims=True)
        scale = np.take_along_axis(groups, largest, axis=2) / -layout.zero
    blocks = np.zeros((rows, width // layout.block, layout.nbytes), np.uint8)
    if layout.parts:
        scale, least = _parts(blocks, layout, scale, least)
    with np.errstate(divide="ignore"):
        inverse = np.where(scale == 0, 0, 1 / scale)
    if layout.signed:
        q = _nearest(groups * inverse).clip(-128, 127).astype(np.int8).view(np.uint8)
    elif least is not None:
        q = np.trunc((groups - least) * inverse + np.float32(0.5)).clip(0, levels)
    else:
        q = np.trunc(groups * inverse + np.float32(layout.zero + 0.5)).clip(0, levels)
    bits = q.astype(np.uint8).reshape(rows, width // layout.block, layout.block)
    _put(blocks, layout.low, bits)
    if layout.high is not None:
        _put(blocks, layout.high, bits >> layout.low.bits)
    data = blocks.reshape(rows, -1)
    if layout.apart:
        return data, np.ascontiguousarray(scale[:, :, 0])
    if not layout.parts:
        _put_half(blocks, layout.scale, scale[:, :, 0])
        if least is not None:
            _put_half(blocks, layout.minimum, least[:, :, 0])
    return data, None


def _nearest(x: Values) -> Values:
    """Round half away from zero, as C does."""
    return np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x)


def _parts(
    blocks: Values, layout: Layout, scale: Values, least: Values | None
) -> tuple[Values, Values | None]:
    """Write the scales within blocks; return the decoded scales and offsets."""
    rows, count = blocks.shape[:2]
    group_scales = scale.reshape(rows, count, layout.block // layout.group)
    at = layout.parts_at
    if layout.parts == "int8":
        whole = _whole(blocks, layout.scale, group_scales, 127)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(whole == 0, 0, np.rint(group_scales / whole)).clip(-128, 127)
        blocks[:, :, at : at + parts.shape[2]] = parts.astype(np.int8).view(np.uint8)
        return (whole * parts).astype(np.float32).reshape(scale.shape), None
    assert least is not None
    encoded = []
    for byte, values in (
        (layout.scale, group_scales),
        (layout.minimum, -least.reshape(group_scales.shape)),
    ):
        whole = _whole(blocks, byte, values, 63)
        with np.errstate(divide="ignore", invalid="ignore"):
            parts = np.where(whole == 0, 0, np.rint(values / whole)).clip(0, 63).astype(np.uint8)
        encoded.append((parts, (whole * parts).astype(np.float32).reshape(scale.shape)))
    (scale_bits, scale), (offset_bits, offset) = encoded
    blocks[:, :, at : at + 4] = scale_bits[:, :, :4] | (scale_bits[:, :, 4:] >> 4 << 6)
    blocks[:, :, at + 4 : at + 8] = offset_bits[:, :, :4] | (offset_bits[:, :, 4:] >> 4 << 6)
    blocks[:, :, at + 8 : at + 12] = (scale_bits[:, :, 4:] & 15) | (
        (offset_bits[:, :, 4:] & 15) << 4
    )
    return scale, -offset


def _whole(blocks: Values, at: int, values: Values, most: int) -> Values:
    """Write and return the float16 unit of the scales."""
    largest = np.abs(values).max(axis=2, initial=0, keepdims=True) / most
    _put_half(blocks, at, largest[:, :, 0])
    stored: Values = largest.astype(np.float16).astype(np.float32)
    return stored


def _put_half(blocks: Values, at: int, values: Values) -> None:
    blocks[:, :, at : at + 2] = values.astype("<f2")[:, :, None].view(np.uint8)


def _put(blocks: Values, field: Field, bits: Values) -> None:
    """Write the low bits of weights to a field."""
    rows, count, weights = bits.shape
    runs = bits.reshape(rows, count, weights // field.span, 8 // field.bits, field.run)
    shifts = np.arange(0, 8, field.bits, dtype=np.uint8)[:, None]
    part = np.bitwise_or.reduce((runs & (2**field.bits - 1)) << shifts, axis=3)
    blocks[:, :, field.at : field.at + weights * field.bits // 8] = part.reshape(rows, count, -1)
