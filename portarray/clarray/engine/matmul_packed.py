"""Products of large matrices on CPUs: register tiles over packed panels.

Blocks of both operands are packed in the order in which the tiles read them, so that they are read
from memory once and stay in cache; the loops are over blocks of columns, of the summed axis, and of
rows (K. Goto and R. van de Geijn, "Anatomy of high-performance matrix multiplication", 2008).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from portarray._opencl.device import Device
from portarray._opencl.pool import Storage
from portarray._opencl.programs import Kernel
from portarray.clarray.dtypes import computed_dtype
from portarray.clarray.engine.matmul_tasks import Task, Three, kernel_of
from portarray.clarray.engine.tiles import Tile, tile_of

DType = np.dtype[Any]

_SCRATCH = 1 << 22
"""Elements of packed panels at a time, to stay in the last-level cache."""
_BLOCK_ROWS = 4096
_BLOCK_COLUMNS = 4096


class _Panels(NamedTuple):
    """How one operand is packed.

    ``step`` is the stride of rows or columns, ``step_k`` that of the summed axis; ``own`` are the
    batch axes' lengths, 1 for broadcast ones, and ``packed`` their strides in packed matrices.
    """

    kernel: Kernel
    storage: Storage
    at: int
    width: int
    step: int
    step_k: int
    batch: Three
    sizes: Three
    packed: Three

    @property
    def matrices(self) -> int:
        """How many matrices are packed."""
        return math.prod(self.sizes)


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
    packed = (second * third if batch[0] else 0, third if batch[1] else 0, 1 if batch[2] else 0)
    return _Panels(
        kernel, storage, at, width, steps[0], steps[1], batch, (first, second, third), packed
    )


def _pack(panels: _Panels, to: Storage, start: int, count: int, first: int, depth: int) -> None:
    """Pack ``count`` rows or columns from ``start``, ``depth`` terms of each from ``first``."""
    panels.kernel.launch(
        (-(-count // panels.width), -(-depth // 256), panels.matrices), (1, 1, 1),
        (panels.storage, to), panels.at + start * panels.step + first * panels.step_k,
        count, depth, panels.step, panels.step_k,
        panels.sizes[1], panels.sizes[2], *panels.batch,
    )  # fmt: skip


def packed_products(device: Device, dtype: DType, out: DType, task: Task) -> None:
    """Launch packed products."""
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
    """Yield batches of matrices whose panels fit into the last-level cache."""
    footprint = max(task.m, task.n) * min(task.depth, tile.depth) * task.batch[1] * task.batch[2]
    per_batch = max(1, _SCRATCH // footprint)
    for start in range(0, task.batch[0], per_batch):
        yield task._replace(
            a_at=task.a_at + start * task.a_batch[0],
            b_at=task.b_at + start * task.b_batch[0],
            c_at=task.c_at + start * task.batch[1] * task.batch[2] * task.m * task.n,
            batch=(min(per_batch, task.batch[0] - start), *task.batch[1:]),
        )


def _goto(
    device: Device, kernel: Kernel, task: Task, tile: Tile, out: DType, a: _Panels, b: _Panels
) -> None:
    columns = min(-(-task.n // tile.wide) * tile.wide, _BLOCK_COLUMNS // tile.wide * tile.wide)
    rows = min(-(-task.m // tile.rows) * tile.rows, _BLOCK_ROWS // tile.rows * tile.rows)
    # 16-bit results do not hold partial sums precisely, so their summed axis is one block.
    blocks = 1 if computed_dtype(out) != out else -(-task.depth // tile.depth)
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
    """Return the sides of a work-item's block, small enough that all units have some."""
    rows, columns = tile.block_rows, tile.block_columns
    while -(-m // rows) * -(-n // columns) * matrices < 8 * units:
        if rows > 2 * tile.rows and rows >= columns:
            rows = -(-rows // 2 // tile.rows) * tile.rows
        elif columns > tile.wide:
            columns = -(-columns // 2 // tile.wide) * tile.wide
        else:
            break
    return rows, columns
