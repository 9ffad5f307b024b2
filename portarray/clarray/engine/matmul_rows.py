"""The kernel for products of few rows with a matrix contiguous along the summed axis."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import bfloat16, kind_of
from portarray.clarray.engine.tiles import source
from portarray.clarray.kernels import kernel_source

DType = np.dtype[Any]

FEW = 32
"""Rows up to which products without packing are faster."""
_TOGETHER = (8, 4, 2, 1)
"""Rows that may be computed together, as registers allow."""
_PARTS_EACH = 4
"""Work-items for each unit."""
_PART = 1 << 15
"""The fewest bytes of the matrix for each work-item."""


def has_rows_kernel(dtype: DType) -> bool:
    """Return whether a dtype has a kernel; with 16-bit matrices, the rows must be float32."""
    if dtype.itemsize == 2:
        return kind_of(dtype) == "real"
    return dtype.kind != "c" and dtype.itemsize >= 4


@cache
def rows_kernel(device: Device, dtype: DType, out: DType, rows: int) -> Kernel:
    """Return the kernel of ``kernels/matmul_rows.cl`` for a number of rows."""
    # The fewest passes times reads of each: its rows, and the matrix, which counts as two.
    together = min(
        (count for count in _TOGETHER if count <= rows),
        key=lambda count: -(-rows // count) * (count + 2),
    )
    text = source(device, dtype, out, "widening") + kernel_source("matmul_rows")
    options = (f"-DM={together}", f"-DBF16={int(dtype == bfloat16)}")
    return device.kernel(text, "few_rows", 4, [np.int64] * 20, options)


def columns_per_item(device: Device, dtype: DType, n: int, depth: int, matrices: int) -> int:
    """Return how many columns of the result a work-item computes, equally for all units."""
    units = device.traits.units
    items = -(-_PARTS_EACH * units // matrices)
    parts = max(1, min(items, n * depth * dtype.itemsize // _PART))
    if parts > units:
        parts -= parts % units
    return -(-n // parts)
