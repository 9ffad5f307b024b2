"""Argsort: keys and positions packed into 64-bit integers, which are sorted."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import cl_type, kind_of
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.merging import sort_rows
from portarray.clarray.kernels import kernel_source
from portarray.clarray.strided import Array, empty, new_array

ENOUGH = 1 << 14
"""Elements from which packing pays."""

_PACKED = np.dtype(np.uint64)
_PLACES = np.dtype(np.int64)
_KINDS = {"bool": 0, "unsigned": 0, "signed": 1, "real": 2}


def fits(x: Array) -> bool:
    """Return whether an array is sorted faster packed, and its dtype and size allow it."""
    return (
        x.dtype.itemsize <= 4
        and kind_of(x.dtype) in _KINDS
        and x.size >= ENOUGH
        and x.shape[-1] <= 1 << 32
    )


def sorted_places(x: Array, *, descending: bool) -> Array:
    """Return the indices that sort an array that :func:`fits` along its last axis.

    The sort is stable; NaN comes last, or first where ``descending``.
    """
    x = contiguous(x)
    device = x.device
    packed = empty(x.shape, _PACKED, device)
    group = device.traits.group
    size = (-(-x.size // group) * group,)
    _kernel(device, x.dtype, "pack").launch(
        size, (group,), (x.storage, packed.storage), x.offset, x.size, x.shape[-1], int(descending)
    )
    ordered = sort_rows(packed)
    _kernel(device, x.dtype, "unpack").launch(size, (group,), (ordered.storage,), x.size)
    return new_array(ordered.storage, _PLACES, ordered.shape, ordered.strides, ordered.offset, True)


@cache
def _kernel(device: Device, dtype: np.dtype[Any], name: str) -> Kernel:
    c_type = cl_type(dtype)
    lines = (
        f"#define STORED {c_type.storage}",
        f"#define LOADED(i) {c_type.load}(x, i)",
        f"#define KIND {_KINDS[kind_of(dtype)]}",
        kernel_source("sort_keys"),
    )
    buffers, values = (2, [*[np.int64] * 3, np.int32]) if name == "pack" else (1, [np.int64])
    return device.kernel("\n".join(lines), name, buffers, values)
