"""Products of few rows with a matrix that is dense along the summed axis: how they are launched."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

from portarray.clarray.dtypes import bfloat16, kind_of
from portarray.clarray.engine.tiles import source
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.programs import Kernel, source_of

DType = np.dtype[Any]

FEW = 32
"""Up to so many rows, products without packing are faster."""
_TOGETHER = (8, 4, 2, 1)
"""How many rows may be computed together: more need more registers than there are."""
_PARTS_EACH = 4
"""Work-items for each unit, all with as much of the matrix."""
_PART = 1 << 15
"""Bytes of it that a work-item reads at least: less is not worth launching it."""


def takes(dtype: DType) -> bool:
    """Tell whether there is a kernel for matrices of a dtype: those that vectors load as they lie.

    16-bit floating-point matrices are read as such; their few rows must be float32.
    """
    if dtype.itemsize == 2:
        return kind_of(dtype) == "real"
    return dtype.kind != "c" and dtype.itemsize >= 4


@cache
def rows_kernel(device: Device, dtype: DType, out: DType, rows: int) -> Kernel:
    """Return the kernel of ``kernels/matmul_rows.cl`` for a number of rows."""
    # What is read of the rows, once more for each that is computed twice, and of the matrix.
    together = min(
        (one for one in _TOGETHER if one <= rows), key=lambda one: -(-rows // one) * (one + 2)
    )
    text = source(device, dtype, out, "widening") + source_of("matmul_rows")
    options = (f"-DM={together}", f"-DBF16={int(dtype == bfloat16)}")
    return device.kernel(text, "few_rows", 4, [np.int64] * 20, options)


def columns_each(device: Device, dtype: DType, n: int, depth: int, matrices: int) -> int:
    """Return how many columns of a result a work-item computes, so that units get equal parts."""
    units = device.traits.units
    wanted = -(-_PARTS_EACH * units // matrices)
    parts = max(1, min(wanted, n * depth * dtype.itemsize // _PART))
    if parts > units:
        parts -= parts % units
    return -(-n // parts)
