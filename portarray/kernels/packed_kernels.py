"""Versions of ``packed_generic`` by user kernels."""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

import portarray.kernel_language as kl
from portarray._api.creation.filled import empty
from portarray._api.data_type import astype
from portarray._api.indexing import take, take_along_axis
from portarray._api.linear_algebra import matmul, matrix_transpose
from portarray._api.manipulation.joining import concat
from portarray._api.manipulation.shapes import reshape, squeeze
from portarray._kernel_language.decorator import kernel
from portarray.kernels import interleaved_programs
from portarray.kernels.generic.conversion import negative_out_of_bounds
from portarray.kernels.layouts import Layout
from portarray.kernels.normalization import rms_norm
from portarray.kernels.packed_programs import LANES, Around, programs

if TYPE_CHECKING:
    from portarray._array.array import Array
    from portarray._devices.device import Device

FEW = 15
"""Rows up to which each is multiplied directly; more are multiplied by unpacked panels."""
PANEL = 2**21
"""Weights that are unpacked at once."""
MOST_FEATURES = 2**13
"""Features that a group norms in local memory."""


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
    if layout.interleaved > 1:
        return _interleaved_few(x, data, norm, residual, layout=layout, eps=eps, gated=gated)
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


def _interleaved_few(
    x: Array,
    data: Array,
    norm: Array | None,
    residual: Array | None,
    *,
    layout: Layout,
    eps: float,
    gated: bool,
) -> Array:
    rows, tiles = x.shape[0], data.shape[0] // (2 if gated else 1)
    together = 1 if rows == 1 else 4
    if norm is not None and together * x.shape[1] > MOST_FEATURES:
        x, norm = rms_norm(x, norm, eps=eps), None
    around = Around(norm is not None, gated, residual is not None)
    width = x.shape[1] if around.normed else 1
    result: Array = interleaved_programs.programs(layout, together, around, width).products(
        empty((rows, tiles * LANES), dtype=np.float32, device=x.device),
        x,
        data,
        *[data if part is None else part for part in (norm, residual)],
        eps,
        ndrange=(-(-rows // together), tiles, LANES),
        group=(1, 1, LANES),
    )
    return result


def packed_linear(
    x: Array, bias: Array | None, data: Array, scales: Array | None, /, *, layout: Layout
) -> Array:
    """Multiply few rows at once, and many by unpacked panels."""
    shape, (out, _) = x.shape, layout.shape(data.shape)
    wide = x if x.dtype == np.float32 else astype(x, np.float32)
    if len(shape) != 2:
        wide = reshape(wide, (math.prod(shape[:-1]), shape[-1]))
    if wide.shape[0] <= FEW:
        result = packed_few(wide, data, scales, layout=layout)
    else:
        step = max(1, PANEL // (shape[-1] * layout.interleaved))
        parts = []
        for start in range(0, data.shape[0], step):
            some = data, scales
            if step < data.shape[0]:  # slices are copies in some libraries
                rows = slice(start, start + step)
                some = data[rows, ...], None if scales is None else scales[rows, :]
            parts.append(matmul(wide, _panel(*some, layout=layout)))
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
    size = data.shape[0] * layout.interleaved
    valid = negative_out_of_bounds(indices.__array_namespace__(), indices, size)
    flat = reshape(valid, (math.prod(indices.shape),))
    some = None if scales is None else take(scales, flat, axis=0)
    if layout.interleaved > 1:
        tiles = take(data, flat // LANES, axis=0)
        lanes = reshape(flat % LANES, (flat.shape[0], 1, 1))
        taken = squeeze(take_along_axis(tiles, lanes, axis=2), axis=2)
        layout = layout._replace(interleaved=1)
    else:
        taken = take(data, flat, axis=0)
    rows = packed_unpack(taken, some, layout=layout)
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
    if layout.interleaved > 1:
        return matrix_transpose(_panel(data, scales, layout=layout))
    rows, width = layout.shape(data.shape)
    out = empty((rows, width), dtype=np.float32, device=data.device)
    beside = math.gcd(rows, 4)
    result: Array = programs(layout, *_sizes(data.device, layout, 1)).unpacked(
        out, data, data if scales is None else scales, ndrange=(rows, LANES), group=(beside, LANES)
    )
    return result


def _panel(data: Array, scales: Array | None, *, layout: Layout) -> Array:
    """Return the transpose of rows."""
    if layout.interleaved == 1:
        return matrix_transpose(packed_unpack(data, scales, layout=layout))
    rows, width = layout.shape(data.shape)
    result: Array = interleaved_programs.programs(layout).unpacked(
        empty((width, rows), dtype=np.float32, device=data.device),
        data,
        ndrange=(data.shape[0], LANES),
        group=(1, LANES),
    )
    return result
