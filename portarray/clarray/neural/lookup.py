"""Rows of a table by their indices."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.arguments import array_of
from portarray.clarray.dtypes import cl_type
from portarray.clarray.engine.copy import contiguous, copy
from portarray.clarray.kernels import kernel_source
from portarray.clarray.neural.checks import integers, matching, within
from portarray.clarray.neural.rows import LONG
from portarray.clarray.strided import Array, empty

_ITEMS = {1: "uchar", 2: "ushort", 4: "uint", 8: "ulong"}
_WORTH = 1 << 13
"""Items that are worth another work-item on a CPU."""


def embedding(indices: Array, weight: Array, /) -> Array:
    """Return rows of a (rows, dim) table of any dtype; the indices are waited for and checked.

    Examples
    --------
    >>> from portarray import clarray as cl
    >>> weight = cl.asarray([[0, 1], [10, 11], [20, 21]])
    >>> cl.neural.embedding(cl.asarray([2, 0, 2]), weight).tolist()
    [[20, 21], [0, 1], [20, 21]]
    """
    array_of(weight, "embedding", "weight")
    integers(indices, "embedding", "indices")
    matching(indices, weight, "embedding", "indices", dtype=False)
    if weight.ndim != 2:
        raise ValueError(f"embedding needs weight of shape (rows, dim), got {weight.shape}")
    rows, dim = weight.shape
    within(indices, rows, "index")
    device = weight.device
    out = empty((*indices.shape, dim), weight.dtype, device)
    if not out.size:
        return out
    indices = contiguous(indices)
    if weight.strides[1] != 1 and dim > 1:
        weight = copy(weight)
    # An element of 16 bytes is two items of 8.
    items = 2 if weight.dtype.itemsize == 16 else 1
    values = indices.size, dim * items, weight.strides[0] * items
    size, group, per_item = _size(indices.size, dim * items, device)
    _kernel(device, weight.dtype.itemsize // items, indices.dtype).launch(
        size,
        group,
        (out.storage, weight.storage, indices.storage),
        weight.offset * items,
        indices.offset,
        values[0],
        per_item,
        *values[1:],
    )
    return out


def _size(count: int, length: int, device: Device) -> tuple[tuple[int], tuple[int], int]:
    """Return the sizes of a launch, and the rows of a work-item."""
    if device.traits.local_memory:
        group = device.traits.group
        return (-(-count * length // group) * group,), (group,), 1
    most = min(32 * device.traits.units, count * length // _WORTH)
    per_item = -(-count // max(most, 1))
    return (-(-count // per_item),), (1,), per_item


@cache
def _kernel(device: Device, itemsize: int, indices: np.dtype[Any]) -> Kernel:
    options = (
        f"-DITEM={_ITEMS[itemsize]}",
        f"-DI={cl_type(indices).storage}",
        *(() if device.traits.local_memory else ("-DLOOPS",)),
    )
    return device.kernel(kernel_source("neural_embedding"), "embedding", 3, (LONG,) * 6, options)
