"""The kernels of matrix products, chosen by size, layout and the device's traits.

- ``each``: a work-item for each element, for what fits no other kernel;
- ``direct``: register tiles without packing, for small products;
- ``few_rows`` and ``bands``: few rows, where memory bandwidth is the limit;
- ``pack_rows``, ``pack_columns`` and ``tiles``: register tiles over packed panels, on CPUs;
- ``squares``: tiles in local memory, on devices that have it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from portarray._opencl.device import Device
from portarray.clarray.engine.copy import cast, contiguous
from portarray.clarray.engine.matmul_packed import packed_products
from portarray.clarray.engine.matmul_rows import FEW, columns_per_item, has_rows_kernel, rows_kernel
from portarray.clarray.engine.matmul_tasks import Task, kernel_of
from portarray.clarray.engine.tiles import tile_of
from portarray.clarray.strided import new_array

DType = np.dtype[Any]

_NARROW = 12
"""Matrices of fewer rows or columns waste most of a register tile."""
_PACKED = 96**3
"""Multiplications from which packing pays."""
_DIRECT = 256**3
"""Multiplications up to which unpacked tiles are faster, if b is contiguous along rows."""
_COPIED = (32**3, 160**3)
"""Multiplications for which b is copied where it is not contiguous along rows: fewer take less
time than the copy, for more it is packed."""
_SHORT = 32
"""Sums of fewer terms are faster with a work-item for each than with vectors along them."""
_SUMS = 2048
"""Sums that a band keeps in cache; ``SUMS`` of ``kernels/matmul.cl``."""
_BANDS_EACH = 4
"""Bands for each unit."""


def launch(device: Device, dtype: DType, out: DType, task: Task, conjugate: bool) -> None:
    """Choose a kernel, and launch it."""
    m, n, depth = task.m, task.n, task.depth
    work = m * n * depth
    narrow = min(m, n) < _NARROW
    if device.traits.local_memory:
        if not (conjugate or narrow) and work >= 32**3:
            _squares(device, dtype, out, task)
            return
    elif has_rows_kernel(dtype):
        tile = tile_of(device, dtype)
        few = min(m, n) <= FEW and max(m, n) * depth >= 32 * _SHORT
        if few and _narrow(device, dtype, out, task):
            return
        dense = dtype.itemsize >= 4 and out == dtype
        if dense and work <= _DIRECT and n >= tile.width and m > 1:
            if task.b_n != 1 and _COPIED[0] <= work * task.matrices and work <= _COPIED[1]:
                task = _with_rows(dtype, task)
            if task.b_n == 1:
                _direct(device, dtype, task)
                return
        if work >= _PACKED:
            packed_products(device, dtype, out, task)
            return
    elif not (conjugate or narrow) and work >= _PACKED:
        packed_products(device, dtype, out, task)
        return
    _launch_each(device, dtype, out, task, conjugate)


def _narrow(device: Device, dtype: DType, out: DType, task: Task) -> bool:
    """Launch a kernel for few rows or columns; return False if the layout has none."""
    if task.m > task.n:
        task = task.transposed()
    dense = dtype.itemsize >= 4 and task.m < _NARROW
    if dense and task.b_n == 1 and task.n >= _SHORT and task.n >= 4 * task.m:
        _bands(device, dtype, out, task)
        return True
    if task.b_k == 1 and task.depth >= _SHORT:
        _few_rows(device, dtype, out, task)
        return True
    return False


def _launch_each(device: Device, dtype: DType, out: DType, task: Task, conjugate: bool) -> None:
    group = device.traits.group
    count = task.m * task.n * task.matrices
    kernel_of(device, dtype, out, "each", 3, 22).launch(
        (-(-count // group) * group,), (group,), (task.a, task.b, task.c),
        task.a_at, task.b_at, task.c_at, count, task.m, task.n, task.depth,
        task.a_m, task.a_k, task.b_k, task.b_n, task.c_m, task.c_n, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch, int(conjugate),
    )  # fmt: skip


def _with_rows(dtype: DType, task: Task) -> Task:
    """Return a task with b contiguous along rows, copied once where it is broadcast."""
    pairs = zip(task.batch, task.b_batch, strict=True)
    shape = (*(size if step else 1 for size, step in pairs), task.depth, task.n)
    strides = (*task.b_batch, task.b_k, task.b_n)
    b = contiguous(new_array(task.b, dtype, shape, strides, task.b_at, False))
    first, second, third = (
        step and new for step, new in zip(task.b_batch, b.strides[:3], strict=True)
    )
    return task._replace(
        b=b.storage, b_at=b.offset, b_k=task.n, b_n=1, b_batch=(first, second, third)
    )


def _direct(device: Device, dtype: DType, task: Task) -> None:
    # Multiplications for each work-item that outweigh its launch.
    worth = 1 << 15
    per_item = max(1, worth // (task.m * task.n * task.depth))
    rows = min(-(-task.m // 4) * 4, max(4, worth // (task.n * task.depth) // 4 * 4))
    kernel_of(device, dtype, dtype, "direct", 3, 21).launch(
        (-(-task.m // rows), -(-task.matrices // per_item)), (1, 1), (task.a, task.b, task.c),
        task.a_at, task.b_at, task.c_at, task.m, task.n, task.depth,
        task.a_m, task.a_k, task.b_k, task.c_m, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch, rows, per_item, task.matrices,
    )  # fmt: skip


def _few_rows(device: Device, dtype: DType, out: DType, task: Task) -> None:
    """Launch products of few rows, b contiguous along the summed axis."""
    halves = dtype.itemsize == 2
    if task.a_k != 1 or halves:  # few rows are cheap to copy
        rows = new_array(
            task.a, dtype, (*task.batch, task.m, task.depth),
            (*task.a_batch, task.a_m, task.a_k), task.a_at, False,
        )  # fmt: skip
        rows = cast(rows, np.dtype(np.float32)) if halves else contiguous(rows)
        a_0, a_1, a_2, a_m, _ = rows.strides
        task = task._replace(
            a=rows.storage, a_at=rows.offset, a_m=a_m, a_k=1, a_batch=(a_0, a_1, a_2)
        )
    per_item = columns_per_item(device, dtype, task.n, task.depth, task.matrices)
    rows_kernel(device, dtype, out, task.m).launch(
        (-(-task.n // per_item), task.matrices), (1, 1), (task.a, task.b, task.b, task.c),
        task.a_at, task.b_at, -1, task.c_at, task.m, task.n, task.depth,
        task.a_m, task.b_n, task.c_m, task.c_n, per_item, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch,
    )  # fmt: skip


def _bands(device: Device, dtype: DType, out: DType, task: Task) -> None:
    # Bands of whole cache lines, as wide as possible with some for each unit: rows of b are read
    # faster in long pieces.
    strips = -(-task.m // 4) * task.matrices
    share = task.n * strips // (_BANDS_EACH * device.traits.units)
    band = min(_SUMS // min(4, task.m), max(64, share // 64 * 64))
    kernel_of(device, dtype, out, "bands", 3, 20).launch(
        (-(-task.n // band), -(-task.m // 4), task.matrices), (1, 1, 1),
        (task.a, task.b, task.c),
        task.a_at, task.b_at, task.c_at, task.m, task.n, task.depth,
        task.a_m, task.a_k, task.b_k, task.c_m, task.c_n, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch, band,
    )  # fmt: skip


def _squares(device: Device, dtype: DType, out: DType, task: Task) -> None:
    side, group = 64, 16  # SIDE and GROUP of kernels/matmul_local.cl
    kernel_of(device, dtype, out, "squares", 3, 20).launch(
        (-(-task.n // side) * group, -(-task.m // side) * group, task.matrices), (group, group, 1),
        (task.a, task.b, task.c),
        task.a_at, task.b_at, task.c_at, task.m, task.n, task.depth,
        task.a_m, task.a_k, task.b_k, task.b_n, task.c_m, task.c_n, task.batch[1], task.batch[2],
        *task.a_batch, *task.b_batch,
    )  # fmt: skip
