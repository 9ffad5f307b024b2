"""Compaction: the positions of nonzero elements, and the values at them."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import cl_type
from portarray.clarray.engine.casting import conversion
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.transfer import to_numpy
from portarray.clarray.kernels import kernel_source
from portarray.clarray.strided import Array, empty

DType = np.dtype[Any]

_INDEX = np.dtype(np.int64)
_BOOL = np.dtype(np.bool_)
_GROUP = 256
_SHORTEST = 1 << 14
"""The fewest elements of a chunk: for fewer, another work-item costs more than it saves."""


def compact(mask: Array) -> Array:
    """Return the positions of the elements that are not zero, in C order."""
    return _select(mask, None)


def compress(mask: Array, x: Array) -> Array:
    """Return the elements of an array where another one is not zero, in C order."""
    if mask.shape != x.shape:
        raise ValueError(f"a mask must have the shape of its array, got {mask.shape} for {x.shape}")
    return _select(mask, contiguous(x))


def _select(mask: Array, values: Array | None) -> Array:
    mask = contiguous(mask)
    device, n = mask.device, mask.size
    dtype = _INDEX if values is None else values.dtype
    if n == 0:
        return empty((0,), dtype, device)
    count, fill = _kernels(device, mask.dtype, None if values is None else dtype)
    traits = device.traits
    shortest = _SHORTEST if traits.host_memory else 16 * _GROUP
    chunks = min(-(-n // shortest), 16 * traits.units)
    length = -(-n // chunks)
    chunks = -(-n // length)
    # Each work-item, or each group, has a chunk.
    group = (_GROUP,) if traits.local_memory else (1,)
    size = (chunks * group[0],)
    counts = empty((chunks,), _INDEX, device)
    count.launch(size, group, (counts.storage, mask.storage), mask.offset, n, length)
    out = empty((int(to_numpy(counts).sum()),), dtype, device)
    if out.size:
        source = counts if values is None else values
        fill.launch(
            size,
            group,
            (out.storage, counts.storage, mask.storage, source.storage),
            0,
            mask.offset,
            source.offset,
            n,
            length,
        )
    return out


@cache
def _kernels(device: Device, dtype: DType, values: DType | None) -> tuple[Kernel, Kernel]:
    """Return the kernels that count and that write, for the dtypes of a mask and of values."""
    c_type = cl_type(dtype)
    test = conversion(f"{c_type.load}(x, i)", dtype, _BOOL)
    if values is None:
        out, put = "long", "out[k] = (i)"
    else:
        out, put = cl_type(values).storage, "out[k] = values[i]"
    lines = [
        f"#define IN {c_type.storage}",
        f"#define IS(i) {test if dtype != _BOOL else '(x[i] != 0)'}",
        f"#define OUT {out}",
        f"#define PUT(k, i) {put}",
        f"#define GROUP {_GROUP}" if device.traits.local_memory else "",
        kernel_source("scan_compact"),
    ]
    source = "\n".join(lines)
    return (
        device.kernel(source, "count", 2, [np.int64] * 3),
        device.kernel(source, "fill", 4, [np.int64] * 5),
    )
