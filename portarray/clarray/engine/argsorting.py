"""Places of sorted elements: keys and places packed into one number, and those sorted."""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray.clarray.dtypes import cl_type, kind_of
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.engine.merging import sort_rows
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.programs import Kernel, source_of
from portarray.clarray.strided import Array, empty, new_array

ENOUGH = 1 << 14
"""Elements from which sorting packed numbers is worth its kernels."""

_PACKED = np.dtype(np.uint64)
_PLACES = np.dtype(np.int64)
_KINDS = {"bool": 0, "unsigned": 0, "signed": 1, "real": 2}


def fits(x: Array) -> bool:
    """Tell whether an array's elements and places can be packed, and there are enough of them."""
    return (
        x.dtype.itemsize <= 4
        and kind_of(x.dtype) in _KINDS
        and x.size >= ENOUGH
        and x.shape[-1] <= 1 << 32
    )


def sorted_places(x: Array, *, descending: bool) -> Array:
    """Return the places along the last axis that sort an array that :func:`fits`.

    Equal elements keep their order; NaN comes last, or first where ``descending``.
    """
    x = contiguous(x)
    device = x.device
    packed = empty(x.shape, _PACKED, device)
    group = device.traits.group
    size = (-(-x.size // group) * group,)
    _kernel(device, x.dtype, "pack").launch(
        size,
        (group,),
        (x.storage, packed.storage),
        x.offset,
        x.size,
        x.shape[-1],
        int(descending),
    )
    found = sort_rows(packed)
    _kernel(device, x.dtype, "unpack").launch(size, (group,), (found.storage,), x.size)
    return new_array(found.storage, _PLACES, found.shape, found.strides, found.offset, True)


def _kernel(device: Device, dtype: np.dtype[Any], name: str) -> Kernel:
    key = "sort_keys", dtype.num, name
    found = device.kernels.get(key)
    if found is None:
        own = cl_type(dtype)
        lines = (
            f"#define STORED {own.storage}",
            f"#define LOADED(i) {own.load}(x, i)",
            f"#define KIND {_KINDS[kind_of(dtype)]}",
            source_of("sort_keys"),
        )
        buffers, values = (2, [*[np.int64] * 3, np.int32]) if name == "pack" else (1, [np.int64])
        found = device.kernel("\n".join(lines), name, buffers, values)
        device.kernels[key] = found
    return found
