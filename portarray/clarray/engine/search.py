"""Binary search in sorted arrays, and indices from flat positions."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import cl_type
from portarray.clarray.engine.accumulation import round_up
from portarray.clarray.engine.copy import contiguous
from portarray.clarray.kernels import kernel_source
from portarray.clarray.layout import strides_of
from portarray.clarray.strided import Array, empty

_INDEX = np.dtype(np.int64)


def search(x1: Array, x2: Array, right: bool, sorter: Array | None) -> Array:
    """Return how many elements of a sorted array precede each value; NaN comes last."""
    device = x1.device
    out = empty(x2.shape, _INDEX, device)
    if out.size == 0:
        return out
    x2 = contiguous(x2)
    order = x1 if sorter is None else sorter
    group = device.traits.group
    _search(device, x1.dtype, sorter is not None).launch(
        (round_up(out.size, group),),
        (group,),
        (out.storage, x1.storage, x2.storage, order.storage),
        x1.offset,
        x1.strides[0],
        x1.shape[0],
        x2.offset,
        order.offset,
        order.strides[0],
        out.size,
        int(right),
    )
    return out


@cache
def _search(device: Device, dtype: np.dtype[Any], sorted_by: bool) -> Kernel:
    c_type = cl_type(dtype)
    lines = [
        f"#define IN {c_type.storage}",
        f"#define E {c_type.compute}",
        f"#define LOAD_E(p, i) {c_type.load}(p, i)",
        "#define SORTED" if sorted_by else "",
        kernel_source("search"),
    ]
    return device.kernel("\n".join(lines), "search", 4, [np.int64] * 8)


def unravel(numbers: Array, shape: tuple[int, ...]) -> tuple[Array, ...]:
    """Return the indices along each axis of elements given by flat positions in C order."""
    if len(shape) == 1:
        return (numbers,)
    device, n = numbers.device, numbers.size
    coordinates = tuple([empty((n,), _INDEX, device) for _ in shape])
    if n:
        kernel = device.kernel(kernel_source("search_unravel"), "unravel", 2, [np.int64] * 3)
        group = device.traits.group
        for out, step, size in zip(coordinates, strides_of(shape), shape, strict=True):
            kernel.launch(
                (round_up(n, group),), (group,), (out.storage, numbers.storage), step, size, n
            )
    return coordinates
