"""Products of large matrices on processors: register tiles over packed panels.

Blocks of both operands are packed in the order in which the tiles read them, so that each block is
read from memory once and stays in a cache: for blocks of columns, of the summed axis, and of rows
(K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from portarray.clarray.dtypes import kind_of
from portarray.clarray.engine.matmul_tasks import Task, Three, kernel_of
from portarray.clarray.engine.tiles import Tile, tile_of
from portarray.clarray.runtime.device import Device
from portarray.clarray.runtime.pool import Storage
from portarray.clarray.runtime.programs import Kernel

DType = np.dtype[Any]

_SCRATCH = 1 << 22
"""Elements of packed panels at a time: they stay in the last cache."""
_ROWS_AT_ONCE = 4096
_COLUMNS_AT_ONCE = 4096


class _Panels(NamedTuple):
    """One operand of packed products: how it is packed.

    ``step`` is between neighbours, ``step_k`` along the summed axis; ``own`` are the lengths of
    the batch axes without those that only repeat, ``packed`` the strides in packed matrices.
    """

    kernel: Kernel
    storage: Storage
    at: int
    width: int
    step: int
    step_k: int
    batch: Three
    own: Three
    packed: Three

    @property
    def matrices(self) -> int:
        """How many matrices are packed."""
        return math.prod(self.own)


def _panels(
    kernel: Kernel,
    storage: Storage,
    at: int,
    width: int,
    steps: tuple[int, int],
    task: Task,
    batch: Three,
) -> _Panels:
    first, second, third = (
        1 if step == 0 else size for size, step in zip(task.batch, batch, strict=True)
    )
    packed = (
        second * third if batch[0] else 0,
        third if batch[1] else 0,
        1 if batch[2] else 0,
    )
    return _Panels(
        kernel, storage, at, width, steps[0], steps[1], batch, (first, second, third), packed
    )


def _pack(one: _Panels, to: Storage, start: int, count: int, first: int, depth: int) -> None:
    """Pack ``count`` neighbours from ``start`` on, and ``depth`` of their steps from ``first``."""
    one.kernel.launch(
        (-(-count // one.width), -(-depth // 256), one.matrices), (1, 1, 1), (one.storage, to),
        one.at + start * one.step + first * one.step_k, count, depth, one.step, one.step_k,
        one.own[1], one.own[2], *one.batch,
    )  # fmt: skip


def packed_products(device: Device, dtype: DType, out: DType, task: Task) -> None:
    """Launch packed products: for blocks of columns, of the summed axis, and of rows."""
    tile = tile_of(device, dtype)
    for part in _batches(task, tile):
        a = _panels(
            kernel_of(device, dtype, out, "pack_rows", 2, 10),
            part.a, part.a_at, tile.rows, (part.a_m, part.a_k), part, part.a_batch,
        )  # fmt: skip
        b = _panels(
            kernel_of(device, dtype, out, "pack_columns", 2, 10),
            part.b, part.b_at, tile.wide, (part.b_n, part.b_k), part, part.b_batch,
        )  # fmt: skip
        _goto(device, kernel_of(device, dtype, out, "tiles", 3, 17), part, tile, out, a, b)


def _batches(task: Task, tile: Tile) -> Iterator[Task]:
    """Cut products of many matrices into runs of them whose panels stay in the last cache."""
    each = max(task.m, task.n) * min(task.depth, tile.depth) * task.batch[1] * task.batch[2]
    at_once = max(1, _SCRATCH // each)
    for start in range(0, task.batch[0], at_once):
        yield task._replace(
            a_at=task.a_at + start * task.a_batch[0],
            b_at=task.b_at + start * task.b_batch[0],
            c_at=task.c_at + start * task.batch[1] * task.batch[2] * task.m * task.n,
            batch=(min(at_once, task.batch[0] - start), *task.batch[1:]),
        )


def _goto(
    device: Device, kernel: Kernel, task: Task, tile: Tile, out: DType, a: _Panels, b: _Panels
) -> None:
    columns = min(-(-task.n // tile.wide) * tile.wide, _COLUMNS_AT_ONCE // tile.wide * tile.wide)
    rows = min(-(-task.m // tile.rows) * tile.rows, _ROWS_AT_ONCE // tile.rows * tile.rows)
    # Sums that 16 bits hold between two blocks of the summed axis would lose their precision.
    blocks = 1 if out.itemsize == 2 and kind_of(out) == "real" else -(-task.depth // tile.depth)
    depth = -(-task.depth // blocks)
    size = tile.itemsize * depth
    to_a = device.pool.take(rows * a.matrices * size)
    to_b = device.pool.take(columns * b.matrices * size)
    for j in range(0, task.n, columns):
        n = min(columns, task.n - j)
        for k in range(0, task.depth, depth):
            deep = min(depth, task.depth - k)
            _pack(b, to_b, j, n, k, deep)
            for i in range(0, task.m, rows):
                m = min(rows, task.m - i)
                _pack(a, to_a, i, m, k, deep)
                block_m, block_n = _blocks(m, n, task.matrices, tile, device.traits.units)
                kernel.launch(
                    (-(-m // block_m), -(-n // block_n), task.matrices), (1, 1, 1),
                    (to_a, to_b, task.c),
                    task.c_at + i * task.c_m + j, task.c_m, task.m * task.n, m, n, deep,
                    block_m, block_n, int(k > 0), task.batch[1], task.batch[2],
                    *a.packed, *b.packed,
                )  # fmt: skip


def _blocks(m: int, n: int, matrices: int, tile: Tile, units: int) -> tuple[int, int]:
    """Return the sides of the block that one work-item computes: enough of them for all units."""
    rows, columns = tile.block_rows, tile.block_columns
    while -(-m // rows) * -(-n // columns) * matrices < 8 * units:
        if rows > 2 * tile.rows and rows >= columns:
            rows = -(-rows // 2 // tile.rows) * tile.rows
        elif columns > tile.wide:
            columns = -(-columns // 2 // tile.wide) * tile.wide
        else:
            break
    return rows, columns
